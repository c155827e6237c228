"""Text files of numbers, read whole and vectorised, with errors that name the line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from fsgc.errors import DataFormatError

_NEWLINE, _BLANK, _COMMA, _MINUS, _ZERO = b"\n ,-0"
_MAX_DIGITS = 18  # what int64 holds for certain


def read_bytes(file: Path) -> bytes:
    """The bytes of a raw file; a missing one is an error that says what to do."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise DataFormatError(
            f"the raw file cannot be read ({error.strerror}); run the download again", file=file
        ) from error


def read_text(file: Path) -> str:
    """The text of a raw UTF-8 file; bytes that are not UTF-8 are an error with their line."""
    data = read_bytes(file)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFormatError(f"byte {data[error.start]:#04x} is not UTF-8", file=file, line=line) from error


@dataclass(frozen=True)
class IntegerLines:
    """All integers of a text file and where its lines begin.

    Attributes:
        file: the file, for error messages.
        values: int64 `[T]`, the integers in reading order.
        line_ptr: int64 `[L+1]`; line `l` (from 0) holds `values[line_ptr[l]:line_ptr[l+1]]`.
    """

    file: Path
    values: npt.NDArray[np.int64]
    line_ptr: npt.NDArray[np.int64]

    @property
    def tokens_per_line(self) -> npt.NDArray[np.int64]:
        """How many integers each line holds, `[L]`."""
        return np.diff(self.line_ptr)

    def table(self, columns: int) -> npt.NDArray[np.int64]:
        """The values as `[L, columns]`; a line with another number of integers is an error."""
        odd = np.flatnonzero(self.tokens_per_line != columns)
        if len(odd):
            found = int(self.tokens_per_line[odd[0]])
            raise DataFormatError(f"expected {columns} integer(s), found {found}", file=self.file, line=int(odd[0]) + 1)
        return self.values.reshape(-1, columns)


def read_integers(file: Path) -> IntegerLines:
    """Read a file of integers separated by blanks or commas; empty lines at its end do not count."""
    data = read_bytes(file).rstrip()
    text = np.frombuffer(data, dtype=np.uint8)
    in_token = (text > _BLANK) & (text != _COMMA)
    padded = np.concatenate([[False], in_token, [False]])
    borders = np.flatnonzero(padded[1:] != padded[:-1])
    starts, ends = np.ascontiguousarray(borders[0::2]), np.ascontiguousarray(borders[1::2])
    newlines = np.flatnonzero(text == _NEWLINE)

    digit = text - np.uint8(_ZERO)  # wraps around for bytes below "0", which then exceed 9 as well
    negative = text[starts] == _MINUS
    length = ends - starts - negative
    is_clean = np.count_nonzero(digit < 10) + np.count_nonzero(negative) == np.count_nonzero(in_token)
    if not is_clean or length.min(initial=1) < 1 or length.max(initial=1) > _MAX_DIGITS:
        raise _first_misfit(data, starts, ends, file)
    if not set(np.unique(text[text < _BLANK]).tolist()) <= set(b"\t\n\r"):
        raise DataFormatError("a control character that is neither tab nor end of line", file=file)

    values = digit[ends - 1].astype(np.int64)
    longer = np.flatnonzero(length > 1)
    for place in range(1, int(length.max(initial=1))):
        values[longer] += digit[ends[longer] - 1 - place] * np.int64(10**place)
        longer = longer[length[longer] > place + 1]
    values[negative] *= -1
    line_start = np.concatenate([[0], newlines + 1, [len(text) + 1]]) if len(text) else np.zeros(1, np.int64)
    return IntegerLines(file, values, np.searchsorted(starts, line_start).astype(np.int64))


def _first_misfit(
    data: bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], file: Path
) -> DataFormatError:
    """The error for the first token that is no integer; slow, since it is the last thing to happen."""
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        token = data[start:end]
        digits = token.removeprefix(b"-")
        if not digits.isdigit() or len(digits) > _MAX_DIGITS:
            break
    shown = token[:40].decode("utf-8", errors="backslashreplace")
    line = data.count(b"\n", 0, start) + 1
    return DataFormatError(f"{shown!r} is not an integer of at most {_MAX_DIGITS} digits", file=file, line=line)


def read_floats(file: Path) -> npt.NDArray[np.float64]:
    """Read comma-separated numbers that float32 can hold, the same count on every line, as `[L, columns]`."""
    lines = pl.Series(read_text(file).rstrip().split("\n"), dtype=pl.String)
    fields = lines.str.split(",")
    columns = fields.list.len().to_numpy()
    odd = np.flatnonzero(columns != columns[0])
    if len(odd):
        raise DataFormatError(
            f"expected {columns[0]} numbers as on line 1, found {columns[odd[0]]}",
            file=file,
            line=int(odd[0]) + 1,
        )
    texts = fields.explode(empty_as_null=True, keep_nulls=True).str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    unfit = np.flatnonzero(~(np.abs(numbers) <= np.finfo(np.float32).max))  # a NaN compares as false
    if len(unfit):
        raise DataFormatError(
            f"{(texts[int(unfit[0])] or '')[:40]!r} is not a finite number",
            file=file,
            line=int(unfit[0] // columns[0]) + 1,
        )
    return numbers.reshape(len(lines), -1)
