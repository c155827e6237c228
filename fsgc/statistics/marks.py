"""Which accuracies of a table are best, and which are tied with the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fsgc.statistics.paired import SIGNIFICANCE, holm

PairP = Callable[[str, str], float]  # of two rows, the p-value of the test that they do not differ


@dataclass(frozen=True)
class ColumnMarks:
    """The marks of a column.

    Attributes:
        best: the rows with the highest accuracy; none where fewer than two rows have one.
        tied: the rows that the test does not separate from the best.
        present: how many rows have an accuracy.
        rows: how many there are.
    """

    best: frozenset[str]
    tied: frozenset[str]
    present: int
    rows: int

    @property
    def is_bold(self) -> bool:
        """Whether the best may be set in bold: a method that was not run may be better."""
        return bool(self.best) and self.present == self.rows

    @property
    def note(self) -> str:
        """What to say in place of bold where rows are missing, such as "best of 3 of 7"; else empty."""
        return f"best of {self.present} of {self.rows}" if self.best and not self.is_bold else ""


def mark_table(
    columns: Sequence[Mapping[str, float | None]], p_values: Sequence[PairP], level: float = SIGNIFICANCE
) -> list[ColumnMarks]:
    """Mark the columns of a table.

    Every row is tested against the best of its column; with so many tests some would separate rows by chance alone, so
    the p-values of the whole table are corrected together (Holm).

    Args:
        columns: for each column row -> accuracy, `None` where it was not computed.
        p_values: for each column the test of two of its rows, such as `lambda a, b: panel.compare(a, b).p`.
        level: rows with a corrected p of at least this are tied.
    """
    best: list[frozenset[str]] = []
    tests: list[tuple[int, str]] = []
    found: list[float] = []
    for place, (column, p_value) in enumerate(zip(columns, p_values, strict=True)):
        present = {row: accuracy for row, accuracy in column.items() if accuracy is not None}
        top = [row for row, accuracy in present.items() if accuracy == max(present.values())]
        best.append(frozenset(top if len(present) > 1 else ()))
        if best[-1]:
            rest = [row for row in present if row not in best[-1]]
            tests += [(place, row) for row in rest]
            found += [p_value(top[0], row) for row in rest]
    tied = {test for test, p in zip(tests, holm(found), strict=True) if p >= level}
    return [
        ColumnMarks(
            best=best[place],
            tied=frozenset(row for where, row in tied if where == place),
            present=sum(accuracy is not None for accuracy in column.values()),
            rows=len(column),
        )
        for place, column in enumerate(columns)
    ]
