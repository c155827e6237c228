"""What the cells cost, and what it takes to compute them again: one, a row, a column, all of them.

Everything is from the cells' own records: seconds of training and of testing, and the threads. What several cells share
(a model that serves 5 and 10 shots, a prepared store) is counted once in whatever needs it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fsgc.cluster.makespan import MEASURED, limits, makespan
from fsgc.errors import FsgcError
from fsgc.report.accuracy import method_title
from fsgc.report.cells import Cell, FaultyCell
from fsgc.report.paper import Paper
from fsgc.report.project import Project
from fsgc.report.provenance import RUN_ALL, dataset_title, origin_notes
from fsgc.report.results import Results, variant_of
from fsgc.report.table import Heading, Row, Table, plain
from fsgc.tables.grid import CellKey
from fsgc.tables.preparation import preparation_seconds
from fsgc.tables.status import CellStatus, State, expected_seconds

WORKERS = (1, 2, 8, 64)
SCHEMA = {
    "part": pl.String,
    "name": pl.String,
    "cells": pl.Int64,
    "median_cell_minutes": pl.Float64,
    "longest_cell_minutes": pl.Float64,
    "core_hours": pl.Float64,
    **{f"hours_{workers}_workers": pl.Float64 for workers in WORKERS},
}
NOTES = (
    (
        "Core hours: training, testing and preparation as the cells' records have them, on the machines that computed "
        "them; cells computed side by side take longer than one alone. One cell: all that it needs beyond the stored "
        "episodes."
    ),
    "One seed: each cell takes as long as the median of its seeds.",
    (
        "What several cells share, a model or a prepared store, counts once in each line that needs it, so that the "
        "lines add up to more than all cells take."
    ),
    (
        "Hours on workers: by simulation of fsgc tables run --ray, longest task first, with what handing over, "
        "fetching stores and recording in DVC take; what is prepared is prepared first, by the driver."
    ),
)


@dataclass(frozen=True)
class CellCost:
    """What a cell takes.

    Attributes:
        key: the cell.
        train: seconds of training; the same training where cells share a model.
        test: seconds of testing.
        threads: that it ran with.
        model: names its model.
        prepared: names its prepared store; empty if it needs none.
        preparation: seconds that store took; 0 if it needs none, or if that is not known.
        measured: whether its seconds are its own; otherwise they are the median of the cells most like it.
    """

    key: CellKey
    train: float
    test: float
    threads: int
    model: str
    prepared: str = ""
    preparation: float = 0.0
    measured: bool = True


@dataclass(frozen=True)
class Cost:
    """What some cells take together.

    Attributes:
        cells: the cells.
    """

    cells: tuple[CellCost, ...]

    @property
    def core_seconds(self) -> float:
        """Seconds of one core for all of them; those of several threads count as often."""
        threads = {cell.model: cell.threads for cell in self.cells}
        tasks = sum(seconds * threads[model] for model, seconds in self.tasks().items())
        return tasks + self.preparation

    @property
    def preparation(self) -> float:
        """Seconds for what is prepared, each store once."""
        return sum({cell.prepared: cell.preparation for cell in self.cells}.values())

    def tasks(self) -> dict[str, float]:
        """Model -> the seconds to train it once and test it in all of its cells: what a worker is given."""
        train: dict[str, float] = {}
        test: dict[str, float] = {}
        for cell in self.cells:
            train[cell.model] = max(train.get(cell.model, 0.0), cell.train)
            test[cell.model] = test.get(cell.model, 0.0) + cell.test
        return {model: train[model] + test[model] for model in train}

    def seconds_on(self, workers: int) -> float:
        """How long `fsgc tables run` takes on so many workers, by simulation."""
        tasks = sorted(self.tasks().values(), reverse=True)
        return self.preparation + makespan(tasks, workers, MEASURED)

    def one_cell(self) -> list[float]:
        """Seconds that each cell takes by itself."""
        return [cell.preparation + cell.train + cell.test for cell in self.cells]


def cell_costs(cells: Iterable[Cell | FaultyCell], project: Project) -> list[CellCost]:
    """What each cell takes: as long as it did, else as the cells most like it; empty if no time is known."""
    found = list(cells)
    train, test = (_expected(found, part) for part in (_train_seconds, _test_seconds))
    if not test:
        return []
    prepared = preparation_seconds(project.root) if project.root else {}
    costs = []
    for cell in found:
        store = _prepared(cell.key, project)
        costs.append(
            CellCost(
                cell.key,
                train.get(cell.key, 0.0),
                test[cell.key],
                (cell.metrics.threads or 1) if isinstance(cell, Cell) else 1,
                str(project.model_directory(cell.key)),
                store,
                prepared.get(store, 0.0),
                _test_seconds(cell) is not None,
            )
        )
    return costs


def cost_table(results: Results, project: Project, paper: Paper) -> Table:
    """Core hours, the time of one cell, and the time on some workers: of everything, by row and by column."""
    costs = cell_costs(results.cells, project)
    order = [row.model for row in paper.rows]
    places = {model: place for place, model in enumerate(order)}
    of_rows = [("A row", name, method_title(name, paper), some) for name, some in _grouped(costs, variant_of)]
    of_rows.sort(key=lambda part: (places.get(part[3][0].key.model, len(order)), part[1]))
    whole = [("", "everything", "All cells", costs), ("", "one seed", "One seed of all rows", _one_seed(costs))]
    parts = [*whole, *of_rows] if costs else []
    for column, some in _grouped(costs, lambda key: f"{key.dataset}-{key.shots}shot"):
        key = some[0].key
        parts.append(("A column", column, f"{dataset_title(key.dataset)}, {key.shots}-shot", some))
    records, rows = [], []
    for group, name, title, some in parts:
        cost = Cost(tuple(some))
        minutes = [seconds / 60 for seconds in cost.one_cell()]
        hours = [cost.seconds_on(workers) / 3600 for workers in WORKERS]
        numbers = (statistics.median(minutes), max(minutes), cost.core_seconds / 3600, *hours)
        records.append(dict(zip(SCHEMA, (group or "all", name, len(some), *numbers), strict=True)))
        digits = (1, 1, 2, *(2 for _ in WORKERS))
        values = (plain(len(some)), *(plain(n, d) for n, d in zip(numbers, digits, strict=True)))
        rows.append(Row(title, values, group))
    headings = (
        Heading("cells"),
        Heading("median", "Minutes per cell"),
        Heading("longest", "Minutes per cell"),
        Heading("core hours"),
        *(Heading(f"{workers} worker{'s' * (workers > 1)}", "Hours with") for workers in WORKERS),
    )
    hint = "" if costs else f"No cell is computed yet. Run: {RUN_ALL}"
    notes = (*NOTES, *_notes(costs, project), *origin_notes(list(results.found.values())))
    return Table(
        "cost", "What it cost", "To compute", headings, tuple(rows), pl.DataFrame(records, SCHEMA), notes, hint
    )


def _notes(costs: Sequence[CellCost], project: Project) -> list[str]:
    """What the numbers leave out or guess, and what more workers would be good for."""
    if not costs:
        return []
    notes = []
    tasks = list(Cost(tuple(costs)).tasks().values())
    useful = next(w for w in range(1, len(tasks) + 1) if w == len(tasks) or _held_back(tasks, w) != "work")
    notes.append(
        f"More than {useful} workers do not finish all cells sooner: the longest of {len(tasks)} tasks takes "
        f"{max(tasks) / 60:.0f} minutes, and a task is not divided."
    )
    guessed = sum(not cost.measured for cost in costs)
    if guessed:
        notes.append(
            f"{guessed} of {len(costs)} cells have no time yet and are assumed to take as long as similar ones."
        )
    stores = {cost.prepared for cost in costs if cost.prepared}
    unknown = stores - set(preparation_seconds(project.root) if project.root else ())
    if unknown:
        notes.append(f"The time of {len(unknown)} of {len(stores)} prepared stores was not noted and is not counted.")
    return notes


def _one_seed(costs: Sequence[CellCost]) -> list[CellCost]:
    """Of each cell its first seed, which takes as long as the median of all."""
    seeds: dict[CellKey, list[CellCost]] = {}
    for cost in costs:
        seeds.setdefault(replace(cost.key, seed=0), []).append(cost)
    return [
        replace(
            min(each, key=lambda cost: cost.key.seed),
            train=statistics.median(cost.train for cost in each),
            test=statistics.median(cost.test for cost in each),
        )
        for each in seeds.values()
    ]


def _held_back(tasks: Sequence[float], workers: int) -> str:
    bounds = limits(tasks, workers, MEASURED)
    return max(bounds, key=bounds.__getitem__)


def _grouped(costs: Sequence[CellCost], name: Callable[[CellKey], str]) -> list[tuple[str, list[CellCost]]]:
    groups: dict[str, list[CellCost]] = {}
    for cost in costs:
        groups.setdefault(name(cost.key), []).append(cost)
    return list(groups.items())


def _expected(
    cells: Sequence[Cell | FaultyCell], seconds: Callable[[Cell | FaultyCell], float | None]
) -> dict[CellKey, float]:
    return expected_seconds([CellStatus(cell.key, State(cell.state), seconds=seconds(cell)) for cell in cells])


def _train_seconds(cell: Cell | FaultyCell) -> float | None:
    """Seconds of training; 0 for a method that is not trained."""
    if isinstance(cell, FaultyCell) or cell.metrics.test_seconds is None:
        return None
    return (cell.metrics.train.seconds if cell.metrics.train else None) or 0.0


def _test_seconds(cell: Cell | FaultyCell) -> float | None:
    return None if isinstance(cell, FaultyCell) else cell.metrics.test_seconds


def _prepared(key: CellKey, project: Project) -> str:
    try:
        return project.work(key).prepared
    except FsgcError:  # outside a project, or of a method that is gone
        return ""
