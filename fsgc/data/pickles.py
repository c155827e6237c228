"""Reading a pickle from a stranger.

A pickle is a program. This reader runs only those that build containers, numbers, strings and NumPy arrays of
numbers: every operation is looked at before any is run, every global but NumPy's constructors is refused, and those
are answered by stand-ins of ours, so that not even NumPy's own code is called with hostile arguments.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fsgc.data.pickle_inspection import inspect
from fsgc.data.text import read_bytes
from fsgc.errors import DataFormatError

_NUMBER_TYPES = re.compile(r"[biuf](1|2|4|8)")


class _Dtype:
    """Stands in for `numpy.dtype`: remembers the code and byte order of a plain number type."""

    def __init__(self, code: str = "", *_: object) -> None:
        self.code = code
        self.order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def resolve(self) -> np.dtype[Any]:
        if not _NUMBER_TYPES.fullmatch(self.code):
            raise ValueError(f"an array of {self.code!r} is not an array of numbers")
        return np.dtype((self.order if self.order in (">", "<") else "=") + self.code)


class _Array:
    """Stands in for `numpy.ndarray`: keeps shape, type and bytes until the whole pickle has been read."""

    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def resolve(self) -> np.ndarray[Any, np.dtype[Any]]:
        _, shape, dtype, fortran, data = self.state
        flat = np.frombuffer(data, dtype=dtype.resolve())
        if math.prod(shape) != len(flat) or max(shape, default=1) > max(1, len(flat)):
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


def load_pickle(file: Path) -> Any:
    """Read a pickle of containers, numbers, strings and NumPy arrays of numbers; refuse any other.

    The top-level object may be an array; arrays nested in containers are refused.
    """
    data = read_bytes(file)
    try:
        inspect(data)
        value = _Unpickler(io.BytesIO(data)).load()
        return value.resolve() if isinstance(value, _Array) else value
    except Exception as error:  # a hostile pickle can make the reader raise nearly anything
        raise DataFormatError(f"not a pickle that can be trusted: {error}", file=file) from error
