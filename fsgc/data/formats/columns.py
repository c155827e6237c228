"""What the columns of a table of nodes mean, by one rule for all formats.

The column `label` is the node's label. Of the others, numbers are attributes; text is the label if there is only one
such column and none is named `label`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from fsgc.data.formats.raw import Floats
from fsgc.errors import DataFormatError

LABEL = "label"
_LARGEST = float(np.finfo(np.float32).max)

Refuse = Callable[[str, int], DataFormatError]
"""A message and a node (its place among all) to the error that says where the node is."""


class NodeColumns(NamedTuple):
    """Labels and attributes of `V` nodes.

    Attributes:
        label: strings `[V]`, or None.
        attr: float64 `[V, A]`.
        names: of the `A` attributes.
    """

    label: pl.Series | None
    attr: Floats
    names: tuple[str, ...]


def why_no_text(text: str) -> str:
    """Why a string can be neither written nor printed, though Python and JSON allow it; empty for all others."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = text[error.start].encode("unicode_escape").decode()
        return f"{text[:60]!r} has {shown}, half of a surrogate pair, which UTF-8 cannot write; take it out"
    return ""


def label_text(value: Any) -> str:
    """A node's label as a string: strings as they are, numbers and tuples as Python writes them.

    Raises:
        TypeError: a value of that type cannot be a label.
        ValueError: it is a string that cannot be written.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        if reason := why_no_text(value):
            raise ValueError(reason)
        return value
    if isinstance(value, tuple):
        return f"({', '.join(map(label_text, value))})"
    if value is None or isinstance(value, bool | int | float | bytes):
        return str(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be a node's label; use a string or a number")


def sorted_out(text: Mapping[str, pl.Series], numbers: Mapping[str, Floats], nodes: int) -> NodeColumns:
    """Apply the rule of this module to columns of text `[V]` and of numbers `[V]` or `[V, a]`."""
    if LABEL not in text and len(text) > 1:
        raise DataFormatError(
            f"the nodes have several columns of text ({', '.join(text)}); name the one that is their label 'label'"
        )
    label = text.get(LABEL, next(iter(text.values()), None))
    wide = {name: column.reshape(nodes, -1) for name, column in numbers.items()}
    names = [
        name if column.shape[1] == 1 else f"{name}[{place}]"
        for name, column in wide.items()
        for place in range(column.shape[1])
    ]
    return NodeColumns(label, np.concatenate([np.zeros((nodes, 0)), *wide.values()], axis=1), tuple(names))


def from_text(table: pl.DataFrame, refuse: Refuse) -> NodeColumns:
    """Columns of strings, as a CSV file has them: a column is of numbers if its first value is one."""
    text: dict[str, pl.Series] = {}
    numbers: dict[str, Floats] = {}
    for name in table.columns:
        column = table[name]
        if name == LABEL or len(column) == 0:
            text |= {name: column.fill_null("")} if name == LABEL else {}
            continue
        values = column.str.strip_chars().cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        fits = np.abs(values) <= _LARGEST  # a NaN compares as false
        if not fits.any():
            text[name] = column.fill_null("")
        elif not fits.all():
            node = int(np.flatnonzero(~fits)[0])
            raise refuse(f"{name}: {(column[node] or '')[:40]!r} is not a finite number", node)
        else:
            numbers[name] = values
    return sorted_out(text, numbers, len(table))


def from_values(nodes: Sequence[Mapping[str, Any]], refuse: Refuse) -> NodeColumns:
    """What each node says of itself: strings, numbers, or lists of numbers; every node must say the same things."""
    text: dict[str, pl.Series] = {}
    numbers: dict[str, Floats] = {}
    for name in dict.fromkeys(name for node in nodes for name in node):
        for place, node in enumerate(nodes):
            if name not in node:
                raise refuse(f"the node has no {name!r}, though others have", place)
        if isinstance(name, str) and (reason := why_no_text(name)):
            raise refuse(f"the name of an attribute: {reason}", 0)
        values = [node[name] for node in nodes]
        if name == LABEL or isinstance(values[0], str | tuple):
            text[name] = _texts(name, values, refuse)
        else:
            numbers[name] = _numbers(name, values, refuse)
    return sorted_out(text, numbers, len(nodes))


def _texts(name: str, values: list[Any], refuse: Refuse) -> pl.Series:
    texts = []
    for place, value in enumerate(values):
        try:
            texts.append(label_text(value))
        except (TypeError, ValueError) as error:
            raise refuse(f"{name}: {error}", place) from error
    return pl.Series(name, texts, dtype=pl.String)


def _numbers(name: str, values: list[Any], refuse: Refuse) -> Floats:
    rows: list[Floats] = []
    for place, value in enumerate(values):
        try:
            row = np.asarray(value, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            raise refuse(f"{name}: {str(value)[:40]!r} is neither a number nor a list of numbers", place) from None
        if isinstance(value, str) or not (np.abs(row) <= _LARGEST).all():
            raise refuse(f"{name}: {str(value)[:40]!r} is not a finite number", place)
        if rows and len(row) != len(rows[0]):
            raise refuse(f"{name}: {len(row)} numbers, though others have {len(rows[0])}", place)
        rows.append(row)
    return np.stack(rows) if rows else np.zeros((0, 1))
