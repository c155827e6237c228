"""The table of what training and testing take: measured with nothing else running, else as the cells recorded it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fsgc.report.accuracy import method_title
from fsgc.report.metrics import Training
from fsgc.report.paper import Paper
from fsgc.report.provenance import RUN_ALL, commit_in_words, dataset_title, origin_notes
from fsgc.report.results import Result, ResultKey, Results
from fsgc.report.table import MISSING, Heading, Row, Table, Value, plain
from fsgc.tables.efficiency import Measured, disturbed
from fsgc.tables.stopwatch import Timing

RECORDED = "°"
HEADINGS = (
    Heading("once, s"),
    Heading("s", "training"),
    Heading("ms/episode", "training"),
    Heading("epochs", "training"),
    Heading("pooled", "test episode, ms"),
    Heading("alone", "test episode, ms"),
    Heading("peak, MB"),
    Heading("parameters"),
)
MEASURE = "fsgc tables efficiency"
NOTES = (
    (
        "Once, for the whole dataset: a Gram matrix, super-classes or descriptors, and what the first test episode "
        "takes beyond the others. Training: steps and validation by the clock, times the steps of the epochs "
        "that the cells trained, means over seeds; a method without gradient steps was fitted whole. Peak: of main "
        "memory."
    ),
    (
        "Pooled: in the batches of the evaluation (smaller ones for slow methods), where episodes share graphs; alone: "
        "one episode at a time, the median. Weights are untrained, which changes no time but that of AS-MAML, whose "
        "number of steps is learned. For methods trained on single graphs (GIN, GAT, GCN, GSM), a training episode is "
        "one graph."
    ),
    "In brackets the paper's times, on a 2080 Ti with an i7-9700K.",
)
RECORDED_NOTE = (
    f"{RECORDED}: not measured alone, but the wall-clock time that the cell recorded; cells computed side by side take "
    f"longer than one alone. The Gram matrix and the like are not in it. {MEASURE} measures them."
)
SCHEMA = {
    "dataset": pl.String,
    "shots": pl.Int64,
    "model": pl.String,
    "measured": pl.Boolean,
    "prepare_seconds": pl.Float64,
    "train_seconds": pl.Float64,
    "paper_train_seconds": pl.Float64,
    "step_milliseconds": pl.Float64,
    "epochs": pl.Float64,
    "pooled_milliseconds": pl.Float64,
    "alone_milliseconds": pl.Float64,
    "paper_episode_milliseconds": pl.Float64,
    "peak_megabytes": pl.Float64,
    "parameters": pl.Float64,
}


def efficiency_table(results: Results, paper: Paper, measured: Measured | None = None) -> Table:
    """What every method takes, a row for each that was measured or has cells."""
    order = [row.model for row in paper.rows]
    timed = {(t.dataset, t.shots, t.model): t for t in measured.timings} if measured else {}
    keys = sorted(
        {*results.found, *timed},
        key=lambda key: (*key[:2], order.index(key[2]) if key[2] in order else len(order), key[2]),
    )
    records = [_record(key, results.found.get(key), timed.get(key), paper) for key in keys]
    rows = tuple(_row(record, results.found.get(key), paper) for key, record in zip(keys, records, strict=True))
    found = [results.found[key] for key in keys if key in results.found]
    recorded = [RECORDED_NOTE] if not all(record["measured"] for record in records) else []
    return Table(
        "efficiency",
        "What training and testing take",
        "Model",
        HEADINGS,
        rows,
        pl.DataFrame(records, schema=SCHEMA),
        (*NOTES, *recorded, *_circumstances(measured), *origin_notes(found)),
        "" if keys else f"No cell is computed yet. Run: {RUN_ALL}",
    )


def _circumstances(measured: Measured | None) -> list[str]:
    """Where, when and with what was measured."""
    if measured is None or not measured.timings:
        return []
    threads = f"{measured.threads} thread{'s' * (measured.threads != 1)}"
    notes = [
        (
            f"Measured one after the other, with nothing else running, on {threads} of {measured.processor}, "
            f"{commit_in_words(measured.commit)}, {measured.date}."
        )
    ]
    if not_alone := disturbed(measured.timings):
        notes.append(f"Something else was running while these were measured: {', '.join(not_alone)}.")
    return notes


def _record(key: ResultKey, result: Result | None, timing: Timing | None, paper: Paper) -> dict[str, object]:
    """A row as data; what was measured comes before what a cell recorded."""
    dataset, shots, variant = key
    model = result.model if result else variant
    trained = [cell.metrics.train or Training() for cell in result.cells] if result else []
    epochs, parameters = (_mean([getattr(t, name) for t in trained]) for name in ("epochs", "parameters"))
    episode = paper.episode_seconds(model, dataset, shots)
    record = {
        "dataset": dataset,
        "shots": shots,
        "model": variant,
        "measured": timing is not None,
        "paper_train_seconds": paper.training_seconds(model, dataset, shots),
        "paper_episode_milliseconds": None if episode is None else 1000 * episode,
        "epochs": epochs,
        "parameters": parameters,
    }
    if timing:
        return record | {
            "prepare_seconds": timing.prepare_seconds,
            "train_seconds": timing.train_seconds(epochs),
            "step_milliseconds": timing.step_milliseconds,
            "pooled_milliseconds": timing.pooled_milliseconds,
            "alone_milliseconds": timing.alone_milliseconds,
            "peak_megabytes": timing.peak_megabytes,
        }
    assert result is not None
    test = _mean([cell.metrics.test_seconds for cell in result.cells])
    memory = _mean([t.peak_memory for t in trained])
    return record | {
        "train_seconds": _mean([t.seconds for t in trained]),
        "pooled_milliseconds": None if test is None else 1000 * test / result.protocol.episodes,
        "peak_megabytes": None if memory is None else memory / 1e6,
    }


def _row(record: dict[str, object], result: Result | None, paper: Paper) -> Row:
    mark, name = "" if record["measured"] else RECORDED, result.name if result else ""

    def shown(column: str, digits: int, theirs: str = "", marked: bool = True) -> Value:
        ours, paper_value = record.get(column), record.get(theirs)
        beside = f"{paper_value:,.0f}" if isinstance(paper_value, float | int) else ""
        if not isinstance(ours, float | int):
            return Value(MISSING, paper=beside, is_gap=True)
        text = f"{ours:,.{digits}f}{mark if marked else ''}"
        return Value(text, paper=beside, name=name if marked else "", number=float(ours))

    values = (
        shown("prepare_seconds", 1),
        shown("train_seconds", 0, "paper_train_seconds"),
        shown("step_milliseconds", 2),
        shown("epochs", 0, marked=False),
        shown("pooled_milliseconds", 2),
        shown("alone_milliseconds", 1, "paper_episode_milliseconds"),
        shown("peak_megabytes", 0),
        plain(_number(record["parameters"])),
    )
    group = f"{dataset_title(str(record['dataset']))}, {record['shots']}-shot"
    return Row(method_title(str(record["model"]), paper), values, group)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) else None


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over seeds; `None` if a cell does not have the value, or there is no cell."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
