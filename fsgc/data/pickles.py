"""Reading a pickle from a stranger.

A pickle is a program. This reader runs only those that build containers, numbers, strings and NumPy arrays of
numbers: every operation is looked at before any is run, every global but NumPy's constructors is refused, and those
are answered by stand-ins of ours, so that not even NumPy's own code is called with hostile arguments.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fsgc.data.text import read_bytes
from fsgc.errors import DataFormatError

_REFUSED_OPERATIONS = {
    "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "BYTEARRAY8", "NEXT_BUFFER",
    "READONLY_BUFFER",
}  # fmt: skip
_MEMO_OPERATIONS = {"PUT", "BINPUT", "LONG_BINPUT"}
_NUMBER_KINDS = {"b", "i", "u", "f"}


class _Dtype:
    """Stands in for `numpy.dtype`: remembers the code and byte order of a plain number type."""

    def __init__(self, code: str = "", *_: object) -> None:
        self.code = code
        self.order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def resolve(self) -> np.dtype[Any]:
        dtype = np.dtype(self.code)
        if self.order in (">", "<"):
            dtype = np.dtype(self.order + dtype.str[1:])
        if dtype.kind not in _NUMBER_KINDS:
            raise ValueError(f"an array of {dtype} is not an array of numbers")
        return dtype


class _Array:
    """Stands in for `numpy.ndarray`: keeps shape, type and bytes until the whole pickle has been read."""

    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def resolve(self) -> np.ndarray[Any, np.dtype[Any]]:
        _, shape, dtype, fortran, data = self.state
        flat = np.frombuffer(data, dtype=dtype.resolve())
        if math.prod(shape) != len(flat):
            raise ValueError(f"{len(flat)} numbers do not fill an array of shape {shape}")
        return flat.reshape(shape, order="F" if fortran else "C")


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _scalar(dtype: _Dtype, data: bytes) -> int | float:
    number: int | float = np.frombuffer(data, dtype=dtype.resolve(), count=1)[0].item()
    return number


def _encode(text: str, encoding: str) -> bytes:
    """Stands in for `_codecs.encode`, which protocols below 3 use to hold bytes."""
    if encoding != "latin1":
        raise ValueError(f"encoding {encoding!r}")
    return text.encode("latin1")


class _Unpickler(pickle.Unpickler):
    STAND_INS: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Dtype,
        ("_codecs", "encode"): _encode,
        **{
            (f"numpy.{core}.multiarray", name): function
            for core in ("core", "_core")
            for name, function in (("_reconstruct", _reconstruct), ("scalar", _scalar))
        },
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for '{module}.{name}', which is not admitted") from None


def _inspect(data: bytes) -> None:
    """Walk through the program without running it; refuse what could call code or exhaust memory."""
    for count, (operation, argument, position) in enumerate(pickletools.genops(data)):
        if operation.name in _REFUSED_OPERATIONS:
            raise pickle.UnpicklingError(f"operation {operation.name} at byte {position} is not admitted")
        if operation.name in _MEMO_OPERATIONS and (argument is None or argument > count):
            # The C reader allocates its memo up to the largest index named.
            raise pickle.UnpicklingError(f"memo index {argument} at byte {position} is out of order")


def load_pickle(file: Path) -> Any:
    """Read a pickle of containers, numbers, strings and NumPy arrays of numbers; refuse any other.

    The top-level object may be an array; arrays nested in containers are refused.
    """
    data = read_bytes(file)
    try:
        _inspect(data)
        value = _Unpickler(io.BytesIO(data)).load()
        return value.resolve() if isinstance(value, _Array) else value
    except Exception as error:  # a hostile pickle can make the reader raise nearly anything
        raise DataFormatError(f"not a pickle that can be trusted: {error}", file=file) from error
