"""Finding the compiled library of a module.

A module `x.py` may have an `x.cpp` beside it, which the install compiles where there is a compiler, once for each kind
of processor (`setup.py`): to `_x_avx512.….so` and `_x_avx2.….so`. A library has plain C functions on arrays of floats:
nothing of it depends on the versions of Python or PyTorch. `FSGC_NATIVE=0` in the environment does without them, and
`FSGC_NATIVE=avx2` takes those for AVX2 on a processor that has AVX-512, too.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from torch import Tensor

from fsgc.errors import FsgcError

SWITCH = "FSGC_NATIVE"
PROCESSORS = ("avx512", "avx2")
"""The kinds of processors that there are libraries for, the fastest first."""


def library(module_file: str) -> ctypes.CDLL | None:
    """The library compiled from the C++ file beside a module, the fastest that this processor can run.

    None if there is none, or if it is not wanted.
    """
    return _found(module_file)[0]


@cache
def _found(module_file: str) -> tuple[ctypes.CDLL | None, str]:
    """The library, and the kind of processor that it is for."""
    module = Path(module_file)
    for processor in _wanted():
        for suffix in EXTENSION_SUFFIXES:
            path = module.with_name(f"_{module.stem}_{processor}{suffix}")
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
    return ctypes.c_void_p(tensor.data_ptr())
