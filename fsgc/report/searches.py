"""What the discriminant's search tried and took, read from the model files of cells or from what was kept of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from fsgc.errors import FsgcError
from fsgc.report.accuracy import method_title
from fsgc.report.cells import Cell
from fsgc.report.kept import Entry, Kept, Section
from fsgc.report.paper import Paper
from fsgc.report.provenance import dataset_title
from fsgc.report.results import Result, Results
from fsgc.report.table import Heading, Row, Table, Value

METHOD = "discriminant"
SEARCH = Section("search", Entry[list[tuple[str, float, float, float, float, float, float]]])
NUMBERS = ("gamma", "epsilon", "rho", "tau", "accuracy")
SCHEMA = {
    "dataset": pl.String,
    "shots": pl.Int64,
    "model": pl.String,
    "seed": pl.Int64,
    "views": pl.String,
    **dict.fromkeys(NUMBERS, pl.Float64),
    "tried": pl.Int64,
}
NOTES = (
    (
        "Every choice is scored in episodes of classes that play novel ones: validation classes, or base classes left "
        "out in turn. Novel classes have no part in it."
    ),
    (
        "γ: how far variances within classes are evened out; ε: what is added to them; ρ: the weight of directions in "
        "which class means do not differ (0: all count alike); τ: the shrinkage of the discriminant (∞: nearest mean)."
    ),
    "On the page (report.html), a click on an accuracy of the method shows every choice that its first seed tried.",
)


@dataclass(frozen=True)
class Step:
    """One choice that was tried.

    Attributes:
        views: with scalings and weights, in words.
        gamma: γ of the metric.
        epsilon: ε of the metric.
        rho: ρ of the metric.
        tau: the shrinkage.
        accuracy: on classes that play novel ones.
        best: the best accuracy so far that was taken.
    """

    views: str
    gamma: float
    epsilon: float
    rho: float
    tau: float
    accuracy: float
    best: float


@dataclass(frozen=True)
class Search:
    """The choices that were tried, in their order.

    Attributes:
        steps: at least one.
    """

    steps: tuple[Step, ...]

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Search | None:
        """The search of these steps; `None` if none of them was taken."""
        found = tuple(steps)
        return cls(found) if any(step.accuracy == step.best == found[-1].best for step in found) else None

    @property
    def taken(self) -> int:
        """The place of the choice that was taken: the first that is as good as the best at the end."""
        last = self.steps[-1].best
        return next(place for place, step in enumerate(self.steps) if step.accuracy == step.best == last)

    def rows(self) -> list[list[Any]]:
        """Each step as views, γ, ε, ρ, τ, accuracy, and whether it was the best so far; for the page."""
        before = 0.0
        rows = []
        for step in self.steps:
            tau = "∞" if math.isinf(step.tau) else step.tau
            better = step.accuracy == step.best > before
            rows.append([step.views, step.gamma, step.epsilon, step.rho, tau, round(step.accuracy, 6), better])
            before = step.best
        return rows


def search_of(cell: Cell) -> Search | None:
    """The search of a cell's model; `None` for another method, or where the model file is not here or damaged."""
    path = cell.model / "model.pt"
    if not cell.key.model.startswith(METHOD) or not path.exists():
        return None
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _read(path: Path, _changed: int) -> Search | None:
    from fsgc.training.model_file import read_model  # loads torch, which a page without such models does not need

    try:
        state = read_model(path)["state"]
        found = state.get("discriminant", state)["search"]
        steps = tuple(Step(str(row["views"]), *(float(row[name]) for name in (*NUMBERS, "best"))) for row in found)
    except (FsgcError, AttributeError, KeyError, TypeError, ValueError):
        return None
    return Search.of(steps)


def kept_search(cell: Cell, kept: Kept) -> Search | None:
    """The search of a cell's model, or as it was kept."""
    rows = kept.get(SEARCH, cell, _as_rows) if cell.key.model.startswith(METHOD) else None
    return Search.of(Step(*row) for row in rows) if rows else None


def _as_rows(cell: Cell) -> list[tuple[str, float, float, float, float, float, float]] | None:
    search = search_of(cell)
    return [astuple(step) for step in search.steps] if search else None


def searches(results: Results, kept: Kept) -> Iterator[tuple[Result, list[tuple[Cell, Search]]]]:
    """The results of the discriminant and its variants with their searches, where any seed's is known."""
    for result in results.found.values():
        found = [(cell, search) for cell in result.cells if (search := kept_search(cell, kept)) is not None]
        if found:
            yield result, found


def search_table(results: Results, paper: Paper, kept: Kept | None = None) -> Table | None:
    """What was taken for each dataset, number of shots and seed; as data, of the variants too. `None` without any."""
    kept = kept or Kept()
    rows: list[Row] = []
    shown: list[Cell] = []
    records: list[Mapping[str, Any]] = []
    for result, found in searches(results, kept):
        for cell, search in found:
            records.append(_record(cell, search))
            shown.append(cell)
        if result.variant == METHOD:
            rows += [
                _row(f"seed {cell.key.seed}", search, f"{dataset_title(result.dataset)}, {result.shots}-shot")
                for cell, search in found
            ]
    if not rows:
        return None
    heads = ("views", "γ", "ε", "ρ", "τ", "accuracy in the search, %", "tried")
    title = f"What the search of the {method_title(METHOD, paper).lower()} chose"
    frame = pl.DataFrame(records, schema=SCHEMA)
    notes = (*NOTES, *filter(None, [kept.note(SEARCH, shown)]))
    return Table("search", title, "Seed", tuple(map(Heading, heads)), tuple(rows), frame, notes)


def _row(title: str, search: Search, group: str) -> Row:
    step = search.steps[search.taken]
    numbers = (step.gamma, step.epsilon, step.rho, step.tau)
    return Row(
        title,
        (
            Value(step.views),
            *(Value("∞" if math.isinf(number) else f"{number:g}", number=_sortable(number)) for number in numbers),
            Value(f"{100 * step.accuracy:.2f}", number=step.accuracy),
            Value(str(len(search.steps)), number=float(len(search.steps))),
        ),
        group,
    )


def _sortable(number: float) -> float:
    return min(number, 1e9)


def _record(cell: Cell, search: Search) -> Mapping[str, Any]:
    key, step = cell.key, search.steps[search.taken]
    return {
        "dataset": key.dataset,
        "shots": key.shots,
        "model": key.model,
        "seed": key.seed,
        "views": step.views,
        **{name: round(getattr(step, name), 4) for name in NUMBERS},
        "tried": len(search.steps),
    }
