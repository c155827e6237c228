"""Finding the compiled library of a module.

A module `x.py` may have an `x.cpp` beside it, which the install compiles to `_x.….so` where there is a compiler
(`setup.py`) and leaves out where there is none. A library has plain C functions on arrays of floats:
nothing of it depends on the versions of Python or PyTorch. `FSGC_NATIVE=0` in the environment does without them.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from torch import Tensor

SWITCH = "FSGC_NATIVE"


@cache
def library(module_file: str) -> ctypes.CDLL | None:
    """The library compiled from the C++ file beside a module.

    None if it is not there, not wanted, or says that PyTorch is faster on this processor.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    module = Path(module_file)
    for suffix in EXTENSION_SUFFIXES:
        path = module.with_name(f"_{module.stem}{suffix}")
        if path.exists():
            try:
                found = ctypes.CDLL(str(path))
            except OSError:  # made for another machine
                return None
            if hasattr(found, "fsgc_is_fast") and not found.fsgc_is_fast():
                return None
            return found
    return None


def functions(module_file: str) -> ctypes.CDLL:
    """The compiled library of a module that has asked before whether there is one."""
    found = library(module_file)
    assert found is not None
    return found


def at_hand() -> list[str]:
    """The modules of the package that have compiled code on this machine."""
    sources = Path(__file__).parents[1].rglob("*.cpp")
    return sorted(path.stem for path in sources if library(str(path.with_suffix(".py"))) is not None)


def address(tensor: Tensor | None) -> ctypes.c_void_p:
    """Where the numbers of a contiguous tensor on the CPU lie; nowhere for None."""
    if tensor is None:
        return ctypes.c_void_p()
    assert tensor.is_contiguous(), "compiled code takes contiguous arrays"
    assert tensor.device.type == "cpu", "compiled code takes arrays of the host"
    return ctypes.c_void_p(tensor.data_ptr())
