"""An accuracy in a table: ours with its interval, beside it the paper's, the best of each column, ties marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from fsgc.methods.registry import METHODS
from fsgc.report.comparison import Comparisons, PairingError
from fsgc.report.paper import Paper, PaperRow
from fsgc.report.provenance import RUN_ALL, dataset_title, origin_notes, protocol_notes, seed_notes
from fsgc.report.results import Results
from fsgc.report.table import MISSING, Heading, Row, Table, Value
from fsgc.statistics.intervals import Interval
from fsgc.statistics.marks import ColumnMarks, PairP, mark_table
from fsgc.statistics.paired import SIGNIFICANCE
from fsgc.statistics.panel import Panel
from fsgc.tables.status import State

SCHEMA = {
    "row": pl.String,
    "model": pl.String,
    "dataset": pl.String,
    "shots": pl.Int64,
    "state": pl.String,
    "accuracy": pl.Float64,
    "interval": pl.Float64,
    "interval_episodes": pl.Float64,
    "interval_graphs": pl.Float64,
    "interval_seeds": pl.Float64,
    "interval_classes": pl.Float64,
    "seeds": pl.Int64,
    "seeds_from": pl.String,
    "paper": pl.Float64,
    "difference": pl.Float64,
    "best": pl.Boolean,
    "best_of": pl.String,
    "tie": pl.Boolean,
    "transductive": pl.Boolean,
    "reason": pl.String,
}
LEGEND = (
    "Accuracy in per cent, macro over classes, ± half its 95 % interval over graphs and seeds together; in brackets "
    "the paper's accuracy and ours minus it. Bold: the best of a column without gaps; otherwise the best so far is "
    'called "best of n of m". ≈: not separated from the best by the paired test over graphs and seeds '
    f"(level {100 * SIGNIFICANCE:.0f} %, Holm's correction over the column)."
)
UNMARKED = ColumnMarks(frozenset(), frozenset(), 0, 0)
STALE_NOTE = "†: stale, computed with other code or settings than the current ones."


def method_title(variant: str, paper: Paper) -> str:
    """A method's name in tables, with its node inputs where they are not the dataset's own."""
    model, _, features = variant.partition("-")
    row = paper.row_of(model)
    title = row.title if row else METHODS[model].title if model in METHODS else model
    return f"{title}, {features}" if features else title


@dataclass(frozen=True)
class Marks:
    """Which accuracies of a table are best, or tied with the best.

    Attributes:
        columns: dataset and shots -> the marks of the column.
        notes: columns in which nothing can be marked, and why.
    """

    columns: Mapping[tuple[str, int], ColumnMarks]
    notes: tuple[str, ...]


def mark(
    variants: Sequence[str], columns: Sequence[tuple[str, int]], results: Results, comparisons: Comparisons
) -> Marks:
    """Mark the columns of a table whose results can be compared; see `fsgc.statistics.marks`."""
    usable: list[tuple[str, int]] = []
    tests: list[PairP] = []
    notes: list[str] = []
    for column in columns:
        try:
            panel = comparisons.column(*column).panel if results.column(*column) else None
        except PairingError as error:
            notes.append(f"Nothing is marked in a column whose results cannot be paired: {error}.")
            continue
        if panel:
            usable.append(column)
            tests.append(partial(_p_value, panel))
    accuracies = [
        {name: result.mean if (result := results.result(*column, name)) else None for name in variants}
        for column in usable
    ]
    return Marks(dict(zip(usable, mark_table(accuracies, tests), strict=True)), tuple(notes))


def _p_value(panel: Panel, first: str, second: str) -> float:
    return panel.compare(first, second).p


def filled(
    key: str,
    title: str,
    rows: Sequence[PaperRow],
    columns: Sequence[tuple[str, int]],
    results: Results,
    paper: Paper,
    comparisons: Comparisons,
) -> Table:
    """A table of some rows and columns, filled with what there is."""
    models = [row.model for row in rows]
    found = [[s for m in models if m and (s := results.result(*column, m))] for column in columns]
    marks = mark([model for model in models if model], columns, results, comparisons)
    records = [_record(row, *column, results, paper, comparisons, marks) for row in rows for column in columns]
    frame = pl.DataFrame([{name: record[name] for name in SCHEMA} for record in records], schema=SCHEMA)
    transductive = {record["model"] for record in records if record["transductive"]}
    width = len(columns)
    table_rows = tuple(
        Row(
            row.title + (" (t)" if row.model in transductive else ""),
            tuple(_value(record) for record in records[place * width : (place + 1) * width]),
            row.group,
        )
        for place, row in enumerate(rows)
    )
    flat = [result for column in found for result in column]
    notes = [LEGEND] if flat else []
    if transductive:
        notes.append("(t): transductive, a query's prediction depends on the other queries of its episode.")
    if any(result.stale for result in flat):
        notes.append(STALE_NOTE)
    gaps = sorted({str(record["reason"]) for record in records if record["reason"]})
    notes += paper.remarks_on(rows, (dataset for dataset, _ in columns))
    seeds = {
        row.title: [len(result.seeds) for column in columns if (result := results.result(*column, row.model))]
        for row in rows
        if row.model
    }
    notes += [*marks.notes, *gaps, *protocol_notes(flat), *seed_notes(seeds), *origin_notes(flat)]
    hint = "" if flat else f"No cell of this table is computed yet. Run: {RUN_ALL}"
    headings = tuple(Heading(f"{shots}-shot", dataset_title(dataset)) for dataset, shots in columns)
    return Table(key, title, "Model", headings, table_rows, frame, tuple(notes), hint)


def _record(
    row: PaperRow, dataset: str, shots: int, results: Results, paper: Paper, comparisons: Comparisons, marks: Marks
) -> dict[str, object]:
    """One entry as data; accuracies in per cent."""
    result = results.result(dataset, shots, row.model) if row.model else None
    gap = results.gap(dataset, shots, row.model) if row.model else None
    theirs = row.accuracy(dataset, shots)
    record: dict[str, object] = dict.fromkeys(SCHEMA)
    record |= {"row": row.title, "model": row.model or None, "dataset": dataset, "shots": shots, "paper": theirs}
    record["listed"] = result is not None or gap is not None
    record |= {"state": "missing" if row.model else "published", "best": False, "tie": False, "transductive": False}
    if gap:
        record["state"] = gap.state.value
        if gap.state is not State.MISSING:
            record["reason"] = f"{row.title} on {dataset_title(dataset)}, {shots}-shot, {gap}."
    if result:
        mean, intervals = 100 * result.mean, comparisons.intervals(result)
        marked = marks.columns.get((dataset, shots), UNMARKED)
        is_best = row.model in marked.best
        record |= {
            "state": "stale" if result.stale else "current",
            "accuracy": mean,
            "interval": _half(intervals.default),
            **{
                f"interval_{name}": _half(getattr(intervals, name))
                for name in ("episodes", "graphs", "seeds", "classes")
            },
            "seeds": len(result.seeds),
            "seeds_from": intervals.seeds_from.value,
            "difference": None if theirs is None or not paper.is_comparable(row, dataset) else mean - theirs,
            "best": is_best and marked.is_bold,
            "best_of": (is_best and marked.note) or None,
            "tie": row.model in marked.tied,
            "transductive": result.transductive,
        }
    return record


def _half(interval: Interval | None) -> float | None:
    return None if interval is None else 50 * (interval.high - interval.low)


def _value(record: dict[str, object]) -> Value:
    theirs, ours, difference = (record[name] for name in ("paper", "accuracy", "difference"))
    paper = f"{theirs:.2f}".removesuffix("0") if isinstance(theirs, float) else ""
    name = f"{record['dataset']}-{record['shots']}shot-{record['model']}"
    if not isinstance(ours, float):
        text = MISSING if record["reason"] is None else str(record["state"])
        return Value(text, paper=paper, name=name if record["listed"] else "", is_gap=True)
    return Value(
        text=f"{ours:.2f}",
        interval=f"{record['interval']:.2f}",
        paper=paper,
        difference=signed(difference) if isinstance(difference, float) else "",
        best=bool(record["best"]),
        best_of=str(record["best_of"] or ""),
        tie=bool(record["tie"]),
        stale=record["state"] == "stale",
        name=name,
        number=ours,
    )


def signed(number: float, digits: int = 1) -> str:
    """A difference with its sign, and without one where it rounds to zero."""
    rounded = round(number, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"
