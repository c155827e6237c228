"""Finding the compiled library of a module.

A module `x.py` may have an `x.cpp` beside it, which the install compiles where there is a compiler, once for each kind
of processor (`setup.py`): to `_x_avx512_….so` and `_x_avx2_….so`, with a digest of the source in the name, so that none
but that of the source at hand is taken. A library has plain C functions on arrays of floats:
nothing of it depends on the versions of Python or PyTorch. `FSGC_NATIVE=0` in the environment does without them, and
`FSGC_NATIVE=avx2` takes those for AVX2 on a processor that has AVX-512, too.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import torch
from torch import Tensor

from fsgc.errors import FsgcError
from fsgc.native.sources import library_name

SWITCH = "FSGC_NATIVE"
PROCESSORS = ("avx512", "avx2")
"""The kinds of processors that there are libraries for, the fastest first."""
TYPES = (torch.float32, torch.int64, torch.int32, torch.uint8, torch.bool)
"""What arrays may hold; numbers of other precision would be read as if they were of this one."""


def library(module_file: str) -> ctypes.CDLL | None:
    """The library compiled from the C++ file beside a module, the fastest that this processor can run.

    None if there is none, or if it is not wanted.
    """
    return _found(module_file)[0]


@cache
def _found(module_file: str) -> tuple[ctypes.CDLL | None, str]:
    """The library, and the kind of processor that it is for."""
    source = Path(module_file).with_suffix(".cpp")
    for processor in _wanted() if source.exists() else ():
        for suffix in EXTENSION_SUFFIXES:
            path = source.with_name(library_name(source, processor) + suffix)
            try:
                found = ctypes.CDLL(str(path))
            except OSError:  # not there, or made for another machine
                continue
            if found.fsgc_runs_here():
                return found, processor
    return None, ""


def _wanted() -> tuple[str, ...]:
    """The kinds of processors whose libraries may be used."""
    value = os.environ.get(SWITCH) or "1"
    if value in PROCESSORS:
        return (value,)
    if value in ("0", "1"):
        return PROCESSORS if value == "1" else ()
    raise FsgcError(f"the environment variable {SWITCH} must be 0, 1, {' or '.join(PROCESSORS)}, got {value!r}")


def functions(module_file: str) -> ctypes.CDLL:
    """The compiled library of a module that has asked before whether there is one."""
    found = library(module_file)
    assert found is not None
    return found


def at_hand() -> list[str]:
    """The modules of the package that have compiled code on this machine, each with the kind of processor."""
    sources = sorted(Path(__file__).parents[1].rglob("*.cpp"), key=lambda path: path.stem)
    found = ((path.stem, *_found(str(path.with_suffix(".py")))) for path in sources)
    return [f"{name} ({processor})" for name, compiled, processor in found if compiled is not None]


def address(tensor: Tensor | None) -> ctypes.c_void_p:
    """Where the numbers of a contiguous tensor on the CPU lie; nowhere for None."""
    if tensor is None:
        return ctypes.c_void_p()
    assert tensor.is_contiguous(), "compiled code takes contiguous arrays"
    assert tensor.device.type == "cpu", "compiled code takes arrays of the host"
    assert tensor.dtype in TYPES, f"compiled code takes no arrays of {tensor.dtype}"
    return ctypes.c_void_p(tensor.data_ptr())
