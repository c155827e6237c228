"""What the page knows of every result and every pair of results, as plain data."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from fsgc.report.accuracy import model_title
from fsgc.report.cells import Cell
from fsgc.report.comparison import Column, Comparisons, PairingError
from fsgc.report.confusion import confusion
from fsgc.report.paper import Paper
from fsgc.report.provenance import cell_command, dataset_title, plain_commands
from fsgc.report.results import Gap, Result, Results
from fsgc.statistics.intervals import Interval, normal_interval, seed_interval
from fsgc.statistics.paired import holm
from fsgc.workspace import Workspace

_CURVES = ("loss", "val_loss", "accuracy", "val_accuracy")
_DIGITS = 6


def _rounded(*numbers: float) -> list[float]:
    return [round(number, _DIGITS) for number in numbers]


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else _rounded(interval.low, interval.high)


def result_details(
    result: Result, paper: Paper, workspace: Workspace, bootstrap: Interval | None, gap: Gap | None
) -> dict[str, Any]:
    """Everything about one result: intervals, seeds, curve, confusion matrix, hyperparameters, commands."""
    first = result.cells[0]
    row = paper.row_of(result.model)
    theirs = row.accuracy(result.dataset, result.shots) if row else None
    matrix = confusion(first, workspace)
    metrics = first.metrics
    return {
        "model": result.model,
        "title": model_title(result.model, paper),
        "dataset": dataset_title(result.dataset),
        "shots": result.shots,
        "way": result.protocol.way,
        "queries": result.protocol.queries,
        "episodes": result.protocol.episodes,
        "accuracy": round(result.summary.mean, _DIGITS),
        "std": round(result.summary.std, _DIGITS),
        "normal": _ends(normal_interval(result.per_episode)),
        "bootstrap": _ends(bootstrap),
        "paper": theirs,
        "seeds": [
            {"seed": cell.key.seed, "accuracy": round(float(cell.accuracy.mean()), _DIGITS)} for cell in result.cells
        ],
        "seedInterval": _ends(seed_interval(result.seed_means)),
        "macroF1": metrics.get("macro_f1"),
        "transductive": result.transductive,
        "training": metrics.get("train") or {},
        "testSeconds": metrics.get("test_seconds"),
        "curves": _curves(first),
        "confusion": matrix and {"classes": matrix.classes, "counts": matrix.counts.tolist()},
        "hyperparameters": first.hyperparameters(),
        "commands": [cell_command(first.key), plain_commands(first.key)],
        "trouble": f"{gap.state}: {gap.reason}" if gap else "",
    }


def _curves(cell: Cell) -> dict[str, list[float]]:
    curves = cell.curves()
    return {name: _rounded(*curves[name]) for name in _CURVES if name in curves}


def gap_details(dataset: str, shots: int, model: str, gap: Gap, paper: Paper) -> dict[str, Any]:
    """What is known of a result that is not there."""
    first = gap.cells[0]
    return {
        "model": model,
        "title": model_title(model, paper),
        "dataset": dataset_title(dataset),
        "shots": shots,
        "trouble": f"{gap.state}: {gap.reason}",
        "commands": [first.command or cell_command(first.key), plain_commands(first.key)],
    }


def pair_details(column: Column) -> list[dict[str, Any]]:
    """The comparison of every pair of methods of a column, corrected for how many pairs it has."""
    pairs = list(combinations(column.found, 2))
    found = [column.compare(*pair) for pair in pairs]
    bootstrap, wilcoxon = (holm([getattr(c, name) for c in found]) for name in ("bootstrap_p", "wilcoxon_p"))
    return [
        {
            "pair": pair,
            "difference": round(c.difference, _DIGITS),
            "interval": _rounded(c.low, c.high),
            "bootstrap": [c.bootstrap_p, float(bootstrap[place])],
            "wilcoxon": [c.wilcoxon_p, float(wilcoxon[place])],
            "wins": c.wins,
            "losses": c.losses,
            "episodes": c.episodes,
        }
        for place, (pair, c) in enumerate(zip(pairs, found, strict=True))
    ]


def page_data(results: Results, comparisons: Comparisons, paper: Paper, workspace: Workspace) -> dict[str, Any]:
    """Everything the page shows on request: `results` by name, and the comparisons of each column."""
    details: dict[str, Any] = {}
    columns = []
    for dataset, shots in results.columns:
        found = results.column(dataset, shots)
        entry: dict[str, Any] = {"dataset": dataset_title(dataset), "shots": shots, "pairs": [], "trouble": ""}
        column: Column | None = None
        try:
            column = comparisons.column(dataset, shots) if found else None
            entry["pairs"] = pair_details(column) if column else []
        except PairingError as error:
            entry["trouble"] = str(error)
        columns.append(entry)
        for result in found:
            bootstrap = column.interval(result.model) if column else None
            gap = results.gap(dataset, shots, result.model)
            details[result.name] = result_details(result, paper, workspace, bootstrap, gap)
    for (dataset, shots, model), gap in results.gaps.items():
        details.setdefault(f"{dataset}-{shots}shot-{model}", gap_details(dataset, shots, model, gap, paper))
    models = {model: model_title(model, paper) for model in sorted({key[2] for key in results.found})}
    return {"results": details, "columns": columns, "models": models}
