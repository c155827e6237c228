"""The tables read column by column: who is best, who cannot be told from it, where the paper says otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fsgc.report.accuracy import signed
from fsgc.report.comparison import Comparisons, PairingError
from fsgc.report.provenance import dataset_title
from fsgc.report.table import MISSING, Heading, Row, Table, Value

TRAINED, UNTRAINED = "pn", "untrained"
NOTES = (
    (
        "Best: the highest accuracy of the column, and of how many rows. Not separated: rows as good as it, and rows "
        "that the paired test over graphs and seeds does not separate from it, at the 5 % level with Holm's "
        "correction over the column."
    ),
    (
        "Unlike the paper: rows whose accuracy differs from the paper's by more than their own ±, with the difference; "
        f"{MISSING} where the paper has no accuracies that ours can be compared with."
    ),
    (
        "Learned: PN minus the same network at its initial weights, with its 95 % interval over graphs and seeds; an "
        "interval that includes zero means that training has not been shown to help."
    ),
)
SCHEMA = {
    "dataset": pl.String,
    "shots": pl.Int64,
    "best": pl.String,
    "accuracy": pl.Float64,
    "rows": pl.Int64,
    "ties": pl.String,
    "unlike_the_paper": pl.String,
    "learned": pl.Float64,
    "learned_low": pl.Float64,
    "learned_high": pl.Float64,
}


def columns_table(tables: Sequence[Table], comparisons: Comparisons) -> Table | None:
    """What every column of some tables of accuracies says; `None` if there is nothing in them.

    Args:
        tables: as `accuracy_table` makes them.
        comparisons: of the results that they show.
    """
    filled = [table.frame.drop_nulls("accuracy") for table in tables]
    records = [
        _record(key, column, comparisons)
        for frame in filled
        for key, column in frame.group_by(["dataset", "shots"], maintain_order=True)
    ]
    if not records:
        return None
    rows = tuple(Row(f"{dataset_title(str(r['dataset']))}, {r['shots']}-shot", _values(r)) for r in records)
    lists = (Heading(text, is_text=True) for text in ("best", "not separated", "unlike the paper"))
    headings = (*lists, Heading("learned"))
    frame = pl.DataFrame(records, schema=SCHEMA)
    return Table("columns", "The tables column by column", "Column", headings, rows, frame, NOTES)


def _record(key: Sequence[object], column: pl.DataFrame, comparisons: Comparisons) -> dict[str, object]:
    best = column.sort("accuracy", descending=True, maintain_order=True).row(0, named=True)
    as_good = pl.col("tie") | (pl.col("accuracy") == best["accuracy"])
    tied = column.filter(as_good & (pl.col("row") != best["row"]))["row"]
    compared = column.drop_nulls("difference")
    other = compared.filter(pl.col("difference").abs() > pl.col("interval"))
    dataset, shots = str(key[0]), int(str(key[1]))
    learned = _learned(dataset, shots, set(column["model"]), comparisons)
    return {
        "dataset": dataset,
        "shots": shots,
        "best": best["row"],
        "accuracy": best["accuracy"],
        "rows": len(column),
        "ties": "; ".join(tied),
        "unlike_the_paper": "; ".join(
            f"{row} {signed(difference)}" for row, difference in other.select("row", "difference").iter_rows()
        )
        if len(compared)
        else None,
        **dict(zip(("learned", "learned_low", "learned_high"), learned, strict=True)),
    }


def _learned(
    dataset: str, shots: int, models: set[str | None], comparisons: Comparisons
) -> tuple[float | None, float | None, float | None]:
    """What training adds to the untrained network, in points, with its interval; nothing where one of them is not."""
    if not {TRAINED, UNTRAINED} <= models:
        return None, None, None
    try:
        found = comparisons.column(dataset, shots).compare(TRAINED, UNTRAINED).interval
    except PairingError:
        return None, None, None
    return 100 * found.mean, 100 * found.low, 100 * found.high


def _values(record: dict[str, object]) -> tuple[Value, ...]:
    best = Value(f"{record['best']} {record['accuracy']:.2f} (of {record['rows']})")
    lists = [_listed(record[name]) for name in ("ties", "unlike_the_paper")]
    learned, low, high = (record[name] for name in ("learned", "learned_low", "learned_high"))
    if not (isinstance(learned, float) and isinstance(low, float) and isinstance(high, float)):
        return best, *lists, Value(MISSING, is_gap=True)
    text = f"{signed(learned)} ({signed(low)} to {signed(high)})"
    return best, *lists, Value(text, number=learned)


def _listed(rows: object) -> Value:
    """Rows in a list; `None` where there was nothing to compare."""
    return Value(MISSING, is_gap=True) if rows is None else Value(str(rows) or "none")
