"""The tables that are not of accuracies: the datasets, and what training and testing took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fsgc.data.catalog import load_catalog
from fsgc.data.splits import PARTS
from fsgc.episodes.store import EpisodeStore
from fsgc.errors import StoreError
from fsgc.report.accuracy import method_title
from fsgc.report.metrics import Training
from fsgc.report.paper import SHOTS, Paper
from fsgc.report.provenance import RUN_ALL, dataset_title, origin_notes
from fsgc.report.results import Result, Results
from fsgc.report.table import MISSING, Heading, Row, Table, Value, plain
from fsgc.workspace import Workspace

DATASET_NOTES = (
    (
        "Averages count every undirected edge once; in brackets the paper's table 4, which is not about these very "
        "files: its TRIANGLES and Reddit averages are the full TU sets', its COIL-DEL counts contradict its table 5, "
        "and Graph-R52 is re-created here."
    ),
    (
        "Q: queries per class of training/validation/test episodes, 15 or what the smallest class allows; known for "
        "datasets whose episodes are stored here."
    ),
)
TIME_NOTE = (
    "Wall-clock times on the machine that computed the cell; in brackets the paper's, on a 2080 Ti with an i7-9700K. "
    "Times of cells computed side by side are longer than those of one alone."
)
DATASET_SCHEMA = {
    "dataset": pl.String,
    "graphs": pl.Int64,
    "classes": pl.Int64,
    "nodes": pl.Float64,
    "edges": pl.Float64,
    "paper_graphs": pl.Int64,
    "paper_classes": pl.Int64,
    "paper_nodes": pl.Float64,
    "paper_edges": pl.Float64,
    "way": pl.Int64,
    "base": pl.Int64,
    "validation": pl.Int64,
    "novel": pl.Int64,
    **{f"queries_{shots}shot": pl.String for shots in SHOTS},
}
EFFICIENCY_SCHEMA = {
    "dataset": pl.String,
    "shots": pl.Int64,
    "model": pl.String,
    "train_seconds": pl.Float64,
    "paper_train_seconds": pl.Float64,
    "episode_milliseconds": pl.Float64,
    "paper_episode_milliseconds": pl.Float64,
    "peak_megabytes": pl.Float64,
    "parameters": pl.Float64,
    "epochs": pl.Float64,
}


def dataset_table(paper: Paper, workspace: Workspace) -> Table:
    """What the datasets contain, how their classes are split and the Q used, beside table 4 of the paper."""
    records, rows = [], []
    for key, entry in load_catalog().items():
        if entry.variant_of:
            continue
        ours, theirs = entry.statistics, paper.datasets.get(key, {})
        used = {shots: _queries(workspace, key, shots) for shots in SHOTS}
        records.append(
            {
                "dataset": key,
                **{name: getattr(ours, name) for name in ("graphs", "classes", "nodes", "edges")},
                **{f"paper_{name}": theirs.get(name) for name in ("graphs", "classes", "nodes", "edges")},
                "way": entry.way,
                "base": len(entry.base),
                "validation": len(entry.validation),
                "novel": len(entry.novel),
                **{f"queries_{shots}shot": used[shots] or None for shots in SHOTS},
            }
        )
        values = (
            _beside(ours.graphs, theirs.get("graphs"), 0),
            _beside(ours.classes, theirs.get("classes"), 0),
            _beside(ours.nodes, theirs.get("nodes"), 2),
            _beside(ours.edges, theirs.get("edges"), 2),
            plain(entry.way),
            plain(len(entry.base)),
            plain(len(entry.validation)) if entry.validation else Value("held-out graphs", number=0.0),
            plain(len(entry.novel)),
            *(Value(used[shots]) if used[shots] else Value(MISSING, is_gap=True) for shots in SHOTS),
        )
        rows.append(Row(entry.title, values))
    texts = ("graphs", "classes", "nodes", "edges", "way", "base", "validation", "novel")
    headings = (*(Heading(text) for text in texts), *(Heading(f"{shots}-shot", "Q") for shots in SHOTS))
    frame = pl.DataFrame(records, schema=DATASET_SCHEMA)
    return Table(
        "datasets", "The datasets", "Dataset", headings, tuple(rows), frame, (*DATASET_NOTES, *origin_notes([]))
    )


def _queries(workspace: Workspace, dataset: str, shots: int) -> str:
    """Q of training, validation and test episodes, where they are stored."""
    found = sorted(workspace.root.glob(f"episodes/{dataset}-{shots}shot-seed*.zarr"))
    try:
        return "/".join(str(EpisodeStore.open(found[0]).queries(part)) for part in PARTS) if found else ""
    except (StoreError, KeyError):
        return ""


def _beside(ours: float, theirs: float | None, digits: int) -> Value:
    paper = "" if theirs is None else f"{theirs:,.{digits}f}"
    return Value(f"{ours:,.{digits}f}", paper=paper, number=float(ours))


def efficiency_table(results: Results, paper: Paper) -> Table:
    """Training time, time per test episode, peak memory and parameters of every model, means over seeds."""
    order = [row.model for row in paper.rows]
    found = sorted(
        results.found.values(),
        key=lambda s: (s.dataset, s.shots, order.index(s.model) if s.model in order else len(order), s.variant),
    )
    records = [_efficiency(result, paper) for result in found]
    rows = tuple(
        Row(
            method_title(result.variant, paper),
            (
                _timed(record["train_seconds"], record["paper_train_seconds"], 0, result.name),
                _timed(record["episode_milliseconds"], record["paper_episode_milliseconds"], 2, result.name),
                plain(record["peak_megabytes"]),
                plain(record["parameters"]),
                plain(record["epochs"]),
            ),
            f"{dataset_title(result.dataset)}, {result.shots}-shot",
        )
        for result, record in zip(found, records, strict=True)
    )
    keys = [
        {"dataset": result.dataset, "shots": result.shots, "model": result.variant, **record}
        for result, record in zip(found, records, strict=True)
    ]
    headings = tuple(
        Heading(text)
        for text in ("training, s", "test episode, ms", "peak memory of training, MB", "parameters", "epochs")
    )
    hint = "" if found else f"No cell is computed yet. Run: {RUN_ALL}"
    frame = pl.DataFrame(keys, schema=EFFICIENCY_SCHEMA)
    return Table(
        "efficiency",
        "What training and testing take",
        "Model",
        headings,
        rows,
        frame,
        (TIME_NOTE, *origin_notes(found)),
        hint,
    )


def _efficiency(result: Result, paper: Paper) -> dict[str, float | None]:
    episode = paper.episode_seconds(result.model, result.dataset, result.shots)
    metrics = [cell.metrics for cell in result.cells]
    trained = [m.train or Training() for m in metrics]
    memory = _mean([t.peak_memory for t in trained])
    seconds = _mean([m.test_seconds for m in metrics])
    return {
        "train_seconds": _mean([t.seconds for t in trained]),
        "paper_train_seconds": paper.training_seconds(result.model, result.dataset, result.shots),
        "episode_milliseconds": None if seconds is None else 1000 * seconds / result.protocol.episodes,
        "paper_episode_milliseconds": None if episode is None else 1000 * episode,
        "peak_megabytes": None if memory is None else memory / 1e6,
        "parameters": _mean([t.parameters for t in trained]),
        "epochs": _mean([t.epochs for t in trained]),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over seeds; `None` if a cell does not have the value."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _timed(ours: float | None, theirs: float | None, digits: int, name: str) -> Value:
    paper = "" if theirs is None else f"{theirs:,.0f}"
    if ours is None:
        return Value(MISSING, paper=paper, is_gap=True)
    return Value(f"{ours:,.{digits}f}", paper=paper, name=name, number=ours)
