"""What was chosen when test accuracies were known: a table of the entries in `choices.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from fsgc.errors import CatalogError
from fsgc.report.table import Heading, Row, Table, Value

CHOICES_FILE = Path(__file__).with_name("choices.toml")
TITLE = "Choices made with test accuracies known"
NOTES = (
    (
        "Everything else was chosen on validation episodes: the epoch, early stopping, every setting that is searched. "
        "Novel classes are not touched before the final evaluation."
    ),
    "Known then: test accuracies, in per cent, that had been seen when the choice was made.",
)


@dataclass(frozen=True)
class Choice:
    """A choice that a test accuracy may have had a part in.

    Attributes:
        group: the part of the table.
        what: was chosen.
        where: it applies.
        known: the accuracies that had been seen.
        why: it was chosen, if not for them.
    """

    group: str
    what: str
    where: str
    known: str
    why: str


def load_choices(path: Path = CHOICES_FILE) -> tuple[Choice, ...]:
    """Read the entries."""
    try:
        return tuple(Choice(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["choices"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CatalogError(f"{path} is malformed: {error}") from error


def choices_table(choices: tuple[Choice, ...]) -> Table:
    """The entries as a table."""
    rows = tuple(
        Row(each.what, (Value(each.where), Value(each.known), Value(each.why)), each.group) for each in choices
    )
    headings = tuple(Heading(text, is_text=True) for text in ("where", "known then", "why"))
    frame = pl.DataFrame([asdict(each) for each in choices])
    return Table("choices", TITLE, "What", headings, rows, frame, NOTES)
