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
    """Mark the columns of a table, each by itself; see `mark_column`."""
    return [mark_column(column, p_value, level) for column, p_value in zip(columns, p_values, strict=True)]


def mark_column(column: Mapping[str, float | None], p_value: PairP, level: float = SIGNIFICANCE) -> ColumnMarks:
    """Mark a column.

    Every row is tested against the best; with so many tests some would separate rows by chance alone, so their p-values
    are corrected together (Holm). A column answers one question, so it is one family of tests: corrected over a whole
    table, the t-quantiles of three seeds are so large that 63 % was "not separated" from 100 %.

    Args:
        column: row -> accuracy, `None` where it was not computed.
        p_value: the test of two rows, such as `lambda a, b: panel.compare(a, b).p`.
        level: rows with a corrected p of at least this are tied.
    """
    present = {row: accuracy for row, accuracy in column.items() if accuracy is not None}
    best = [row for row, accuracy in present.items() if accuracy == max(present.values())] if len(present) > 1 else []
    rest = [row for row in present if row not in best] if best else []
    corrected = holm([p_value(best[0], row) for row in rest])
    return ColumnMarks(
        best=frozenset(best),
        tied=frozenset(row for row, p in zip(rest, corrected, strict=True) if p >= level),
        present=len(present),
        rows=len(column),
    )
