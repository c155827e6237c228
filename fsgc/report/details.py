"""What the page knows of every result and every pair of results, as plain data."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fsgc.report.accuracy import method_title
from fsgc.report.cells import Cell
from fsgc.report.comparison import Column, Comparisons, PairingError
from fsgc.report.curves import CURVES, ON_PAGE, kept_curves
from fsgc.report.kept import Kept
from fsgc.report.paper import Paper
from fsgc.report.provenance import cell_command, commit_in_words, dataset_title, plain_commands
from fsgc.report.results import Gap, Result, Results
from fsgc.report.searches import SEARCH, kept_search
from fsgc.statistics.intervals import Interval
from fsgc.statistics.paired import holm
from fsgc.statistics.panel import Intervals, Seeds
from fsgc.tables.grid import CellKey

_DIGITS = 6
COVERED = {  # interval -> what would vary
    "default": "another sample of novel graphs and another training run together",
    "episodes": "other episodes from the same graphs, with the same weights",
    "graphs": "another sample of graphs of the novel classes, with the same weights",
    "seeds": "another training run: split, training episodes and initial weights",
    "classes": "other novel classes, with the same weights",
}
SEEDS_FROM = {
    Seeds.NONE: "Training involves no chance, so only the graphs vary.",
    Seeds.OWN: "The variance between seeds is that of its own seeds.",
    Seeds.POOLED: "It has fewer than three seeds; the variance between seeds is borrowed from the other methods here.",
    Seeds.UNKNOWN: "No method here has several seeds: the interval holds for this trained model, not for its method.",
}


def _rounded(*numbers: float) -> list[float]:
    return [round(number, _DIGITS) for number in numbers]


def interval_details(intervals: Intervals) -> list[dict[str, Any]]:
    """The intervals there are, the default one first."""
    found: dict[str, Interval | None] = {name: getattr(intervals, name) for name in COVERED}
    return [
        {
            "name": "graphs and seeds" if name == "default" else name,
            "ends": _rounded(i.low, i.high),
            "covers": COVERED[name],
        }
        for name, i in found.items()
        if i is not None
    ]


def result_details(
    result: Result, paper: Paper, intervals: Intervals, gap: Gap | None, kept: Kept | None = None
) -> dict[str, Any]:
    """Everything about one result: intervals, seeds, curve, confusion matrix, settings, origin, commands."""
    first, kept = result.cells[0], kept or Kept()
    metrics, scores = first.metrics, [f1 for cell in result.cells if (f1 := cell.metrics.macro_f1) is not None]
    row = paper.row_of(result.variant)
    theirs = row.accuracy(result.dataset, result.shots) if row else None
    return {
        "title": method_title(result.variant, paper),
        "dataset": dataset_title(result.dataset),
        "shots": result.shots,
        "way": result.protocol.way,
        "queries": result.protocol.queries,
        "episodes": result.protocol.episodes,
        "accuracy": round(result.mean, _DIGITS),
        "intervals": interval_details(intervals),
        "seedsFrom": SEEDS_FROM[intervals.seeds_from],
        "paper": theirs,
        "comparable": row is not None and paper.is_comparable(row, result.dataset),
        "seeds": [{"seed": c.key.seed, "accuracy": round(c.metrics.accuracy, _DIGITS)} for c in result.cells],
        "macroF1": round(statistics.mean(scores), _DIGITS) if scores else None,
        "transductive": result.transductive,
        "training": metrics.train.model_dump() if metrics.train else {},
        "testSeconds": metrics.test_seconds,
        "curves": _curves(first, kept),
        "search": _search(first, kept),
        "confusion": {
            "classes": first.outcomes.classes,
            "counts": np.sum([cell.outcomes.confusion for cell in result.cells], axis=0).tolist(),
        },
        "settings": dict(_flat(metrics.settings)),
        "origins": origins(result.cells),
        "commands": _commands(first.key),
        "stale": result.stale,
        "trouble": str(gap) if gap else "",
    }


def origins(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Where cells come from; seeds with the same origin share an entry."""
    seeds: dict[str, list[int]] = {}
    entries: dict[str, dict[str, Any]] = {}
    for cell in cells:
        entry = origin(cell)
        seeds.setdefault(str(entry), []).append(cell.key.seed)
        entries[str(entry)] = entry
    return [{"Seeds": ", ".join(map(str, seeds[key])), **entry} for key, entry in entries.items()]


def origin(cell: Cell) -> dict[str, Any]:
    """Where a cell comes from: commit, preset, inputs, threads, compiled code, versions and recipes."""
    m = cell.metrics
    return {
        "Commit": commit_in_words(m.commit).removeprefix("commit "),
        "Preset": m.preset,
        "Node features": " ".join(m.features),
        "Threads": m.threads,
        "Compiled code": ", ".join(m.compiled),
        "Versions": ", ".join(f"{name} {version}" for name, version in m.versions.items()),
        "Recipes": ", ".join(f"{step} {digest}" for step, digest in m.recipes.items()),
        "Stale": _shortened(cell.stale),
    }


def _shortened(reasons: Sequence[str]) -> str:
    """The first reason, and how many more there are."""
    return reasons[0] + (f", and {len(reasons) - 1} more" if len(reasons) > 1 else "") if reasons else ""


def _flat(settings: dict[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """Nested settings as full keys with plain values."""
    flat: list[tuple[str, Any]] = []
    for name, value in settings.items():
        key = f"{above}{name}"
        if isinstance(value, dict):
            flat += _flat(value, f"{key}.")
        elif value is not None:
            flat.append((key, " ".join(map(str, value)) if isinstance(value, list) else value))
    return flat


def _curves(cell: Cell, kept: Kept) -> dict[str, list[float]]:
    """The curves of its training; none if those that were kept are of an earlier version of the cell."""
    curves = kept_curves(cell, kept)
    return {} if kept.is_earlier(CURVES, cell) else {name: curves[name] for name in ON_PAGE if name in curves}


def _search(cell: Cell, kept: Kept) -> list[list[Any]]:
    """Every choice of its search; none if what was kept is of an earlier version of the cell."""
    search = kept_search(cell, kept)
    return search.rows() if search and not kept.is_earlier(SEARCH, cell) else []


def _commands(key: CellKey, failed: str = "") -> list[str]:
    return [failed or cell_command(key), plain_commands(key)]


def gap_details(dataset: str, shots: int, variant: str, gap: Gap, paper: Paper) -> dict[str, Any]:
    """What is known of a result that is not there."""
    return {
        "title": method_title(variant, paper),
        "dataset": dataset_title(dataset),
        "shots": shots,
        "trouble": str(gap),
        "commands": _commands(gap.key, gap.command),
    }


def pair_details(column: Column) -> list[dict[str, Any]]:
    """The comparison of every pair of methods of a column, corrected for how many pairs it has."""
    pairs = list(combinations(column.results, 2))
    found = [column.compare(*pair) for pair in pairs]
    corrected, wilcoxon = (holm([getattr(c, name) for c in found]) for name in ("p", "wilcoxon_p"))
    return [
        {
            "pair": pair,
            "difference": round(c.interval.mean, _DIGITS),
            "interval": _rounded(c.interval.low, c.interval.high),
            "p": [c.p, float(corrected[place])],
            "wilcoxon": [c.wilcoxon_p, float(wilcoxon[place])],
            "seedsFrom": c.seeds_from.value,
            "wins": c.wins,
            "losses": c.losses,
            "episodes": c.episodes,
        }
        for place, (pair, c) in enumerate(zip(pairs, found, strict=True))
    ]


def page_data(results: Results, comparisons: Comparisons, paper: Paper, kept: Kept | None = None) -> dict[str, Any]:
    """Everything the page shows on request: `results` by name, and the comparisons of each column."""
    details: dict[str, Any] = {}
    kept = kept or Kept()
    columns = []
    for dataset, shots in results.columns:
        found = results.column(dataset, shots)
        entry: dict[str, Any] = {"dataset": dataset_title(dataset), "shots": shots, "pairs": [], "trouble": ""}
        try:
            entry["pairs"] = pair_details(comparisons.column(dataset, shots)) if found else []
        except PairingError as error:
            entry["trouble"] = str(error)
        columns.append(entry)
        for result in found:
            gap = results.gap(dataset, shots, result.variant)
            details[result.name] = result_details(result, paper, comparisons.intervals(result), gap, kept)
    for (dataset, shots, variant), gap in results.gaps.items():
        details.setdefault(f"{dataset}-{shots}shot-{variant}", gap_details(dataset, shots, variant, gap, paper))
    methods = {variant: method_title(variant, paper) for variant in sorted({key[2] for key in results.found})}
    return {"results": details, "columns": columns, "methods": methods}
