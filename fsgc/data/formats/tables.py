"""CSV files as tables of strings, with errors that name the line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fsgc.data.text import read_text
from fsgc.errors import DataFormatError

_DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class CsvTable:
    """A file and its rows.

    Attributes:
        file: where it is.
        rows: all columns as strings; their names in lower case.
    """

    file: Path
    rows: pl.DataFrame

    def column(self, *names: str) -> str | None:
        """The first of these columns that is there."""
        return next((name for name in names if name in self.rows.columns), None)

    def filled(self, column: str) -> pl.Series:
        """A column in which nothing may be missing."""
        values = self.rows[column].str.strip_chars()
        missing = (values.is_null() | (values == "")).arg_true()
        if len(missing):
            raise self.refuse(f"nothing in the column {column!r}", int(missing[0]))
        return values

    def blank_or_filled(self, column: str) -> list[str | None]:
        """A column in which something may be missing."""
        return [value.strip() or None if value is not None else None for value in self.rows[column].to_list()]

    def refuse(self, message: str, row: int) -> DataFormatError:
        """The error for a row, counted from 0."""
        return DataFormatError(message, file=self.file, line=self._line(row))

    def _line(self, row: int) -> int:
        """The line on which a row begins; slow where a quoted field may span lines, and only needed for an error."""
        text = read_text(self.file)
        if '"' not in text:
            return row + 2
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
        before = 0
        for number, _ in enumerate(reader):
            if number == row + 1:
                break
            before = reader.line_num
        return before + 1


def header_of(file: Path) -> list[str]:
    """The names of the columns, in lower case; empty for a file without a first line."""
    first = read_text(file).lstrip("\ufeff").split("\n", 1)[0]
    return [name.strip().strip('"').lower() for name in first.strip("\r").split(_delimiter(first))]


def read_table(file: Path, wanted: Sequence[str] = ()) -> CsvTable:
    """Read a CSV file with a header; fields are separated by commas, semicolons or tabs.

    Args:
        file: the file.
        wanted: columns that must be there.
    """
    text = read_text(file).lstrip("\ufeff")
    delimiter = _delimiter(text)
    try:
        rows = pl.read_csv(text.encode(), separator=delimiter, infer_schema=False)
    except Exception as error:  # polars raises many types for a malformed file
        raise _unreadable(file, text, delimiter, error) from error
    names = [name.strip().lower() for name in rows.columns]
    if len(set(names)) < len(names) or any("_duplicated_" in name for name in names):
        raise DataFormatError("two columns have the same name", file=file, line=1)
    missing = [name for name in wanted if name not in names]
    if missing:
        raise DataFormatError(
            f"there is no column {missing[0]!r}; found {', '.join(map(repr, names))}", file=file, line=1
        )
    rows.columns = names
    return CsvTable(file, rows)


def _delimiter(text: str) -> str:
    first = text.split("\n", 1)[0]
    return max(_DELIMITERS, key=first.count)


def _unreadable(file: Path, text: str, delimiter: str, error: Exception) -> DataFormatError:
    """Find the first line with another number of fields than the header; slow, since it is the last thing to happen."""
    if not text.strip():
        return DataFormatError("the file is empty; expected a line with the names of the columns", file=file, line=1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        width = len(next(reader))
        for row in reader:
            if len(row) > width:
                return DataFormatError(
                    f"{len(row)} fields, but the header has {width}", file=file, line=reader.line_num
                )
    except csv.Error as damage:
        return DataFormatError(f"cannot be read as CSV: {damage}", file=file, line=reader.line_num)
    return DataFormatError(f"cannot be read as CSV: {str(error).splitlines()[0]}", file=file)
