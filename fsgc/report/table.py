"""A table before it is written in any language: columns, rows, values with their marks, and what stands below."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

MISSING = "—"


@dataclass(frozen=True)
class Value:
    """One value of a table.

    Attributes:
        text: the value, or a word for why there is none.
        interval: half its 95 % interval over graphs and seeds.
        paper: the paper's value.
        difference: ours minus the paper's.
        best: whether it is the best of a column without gaps.
        best_of: for the best of a column with gaps, of how many, e.g. "best of 3 of 14".
        tie: whether the paired test cannot separate it from the best.
        stale: whether it was computed with other code or settings than the current ones.
        name: of the result it shows, e.g. `triangles-5shot-pn`; empty for plain text.
        number: what to sort by; `None` goes last.
        is_gap: whether `text` stands for a missing value.
    """

    text: str
    interval: str = ""
    paper: str = ""
    difference: str = ""
    best: bool = False
    best_of: str = ""
    tie: bool = False
    stale: bool = False
    name: str = ""
    number: float | None = None
    is_gap: bool = False


@dataclass(frozen=True)
class Heading:
    """The head of a column; neighbours with the same `over` stand below one common head.

    Attributes:
        text: the head.
        over: the common head.
        is_text: whether the column holds words, which begin at the left and run over several lines.
    """

    text: str
    over: str = ""
    is_text: bool = False


@dataclass(frozen=True)
class Row:
    """A row; a new `group` begins a new part of the table."""

    title: str
    values: tuple[Value, ...]
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        key: names its files.
        title: its heading.
        label: head of the first column.
        headings: heads of the others.
        rows: one value per heading each.
        frame: the same as data, a row per value.
        notes: what stands below.
        hint: for an empty table, what to run; empty otherwise.
    """

    key: str
    title: str
    label: str
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    hint: str = ""


def plain(number: float | int | None, digits: int = 0) -> Value:
    """A number without interval; a missing one is a gap."""
    if number is None:
        return Value(MISSING, is_gap=True)
    return Value(f"{number:,.{digits}f}", number=float(number))
