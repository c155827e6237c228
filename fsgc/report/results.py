"""The results of the tables: one model on one dataset with one number of shots, over all its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from fsgc.experiment import OWN_FEATURES
from fsgc.methods.registry import METHODS
from fsgc.report.cells import Cell, FaultyCell, Protocol
from fsgc.statistics.intervals import Floats
from fsgc.tables.grid import CellKey
from fsgc.tables.status import State

ResultKey = tuple[str, int, str]  # dataset, shots, variant


def variant_of(key: CellKey) -> str:
    """A method with certain node inputs: its name, and `-features` where those are not the dataset's own."""
    return key.model if key.features == OWN_FEATURES else f"{key.model}-{key.features}"


@dataclass(frozen=True)
class Result:
    """The cells of one model, dataset and number of shots that have an accuracy, on the same test episodes.

    Attributes:
        dataset: key of the dataset.
        shots: K.
        variant: a name in the registry of methods, with `-features` for other node inputs than the dataset's own.
        cells: one or more, by seed.
    """

    dataset: str
    shots: int
    variant: str
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """What it is called in messages and on the page."""
        return f"{self.dataset}-{self.shots}shot-{self.variant}"

    @property
    def model(self) -> str:
        """The name of the method."""
        return self.cells[0].key.model

    @property
    def features(self) -> str:
        """The node inputs, `dataset` for the dataset's own."""
        return self.cells[0].key.features

    @property
    def protocol(self) -> Protocol:
        """The test episodes; they do not depend on the seed."""
        return self.cells[0].protocol

    @property
    def seeds(self) -> tuple[int, ...]:
        """The training seeds."""
        return tuple(cell.key.seed for cell in self.cells)

    @property
    def transductive(self) -> bool:
        """Whether a query's prediction depends on the other queries."""
        return self.cells[0].metrics.transductive

    @property
    def deterministic(self) -> bool:
        """Whether training involves no chance, as with kernels."""
        return self.model in METHODS and not METHODS[self.model].method().trained_for.seed

    @property
    def trained_in_epochs(self) -> bool:
        """Whether gradient steps trained it: not an untrained network, nor what is fitted in closed form."""
        train = self.cells[0].metrics.train
        return train is not None and bool(train.epochs) and train.unit == "epoch"

    @property
    def stale(self) -> tuple[str, ...]:
        """Which code and settings have changed since its cells were computed."""
        return tuple(dict.fromkeys(reason for cell in self.cells for reason in cell.stale))

    @cached_property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Which queries were answered correctly, `[S, E, N·Q]`."""
        return np.stack([cell.outcomes.correct for cell in self.cells])

    @cached_property
    def per_episode(self) -> Floats:
        """The accuracy of every test episode, averaged over the seeds, `[E]`."""
        return np.asarray(self.correct.mean(axis=(0, 2)), dtype=np.float64)

    @cached_property
    def mean(self) -> float:
        """The accuracy: the mean over episodes and seeds."""
        return float(np.mean([cell.metrics.accuracy for cell in self.cells]))


@dataclass(frozen=True)
class Gap:
    """Why there is no result, or not one of every seed.

    Attributes:
        key: of the first cell it is about.
        state: of that cell.
        reason: in words.
        command: what was run, where a failed cell says so.
    """

    key: CellKey
    state: State
    reason: str
    command: str = ""

    def __str__(self) -> str:
        """State and reason."""
        return f"{self.state}: {self.reason}"


class Results:
    """All results there are, and what is known of those there are not.

    Args:
        cells: as found on disk.
    """

    def __init__(self, cells: Sequence[Cell | FaultyCell]) -> None:
        self.cells = tuple(cells)
        self.found: dict[ResultKey, Result] = {}
        self.gaps: dict[ResultKey, Gap] = {}
        ordered = sorted(cells, key=lambda cell: (_result_key(cell), cell.key))
        for key, group in groupby(ordered, key=_result_key):
            self._add(key, list(group))

    def _add(self, key: ResultKey, group: list[Cell | FaultyCell]) -> None:
        good = tuple(cell for cell in group if isinstance(cell, Cell))
        faulty = [cell for cell in group if isinstance(cell, FaultyCell)]
        if len({cell.protocol for cell in good}) > 1:
            self.gaps[key] = Gap(good[0].key, State.DAMAGED, "its seeds were tested on different episodes")
            return
        if good:
            self.found[key] = Result(*key, good)
        if faulty:
            worst = [cell for cell in faulty if cell.state is not State.MISSING] or faulty
            reasons = "; ".join(f"seed {cell.key.seed}: {cell.reason}" for cell in worst)
            self.gaps[key] = Gap(worst[0].key, worst[0].state, reasons, worst[0].command)

    def with_own_inputs(self) -> Results:
        """The results with the datasets' own node inputs."""
        return Results([cell for cell in self.cells if cell.key.features == OWN_FEATURES])

    def result(self, dataset: str, shots: int, variant: str) -> Result | None:
        """The result, if there is one."""
        return self.found.get((dataset, shots, variant))

    def gap(self, dataset: str, shots: int, variant: str) -> Gap | None:
        """What is known of (some seeds of) a result that is not there."""
        return self.gaps.get((dataset, shots, variant))

    def column(self, dataset: str, shots: int) -> list[Result]:
        """All results of a dataset and number of shots."""
        return [result for result in self.found.values() if (result.dataset, result.shots) == (dataset, shots)]

    @property
    def columns(self) -> list[tuple[str, int]]:
        """The datasets and numbers of shots of all cells, in order."""
        return sorted({(dataset, shots) for dataset, shots, _ in (*self.found, *self.gaps)})

    @property
    def variants(self) -> list[str]:
        """The methods and inputs of all cells, in order."""
        return sorted({variant for *_, variant in (*self.found, *self.gaps)})


def _result_key(cell: Cell | FaultyCell) -> ResultKey:
    return cell.key.dataset, cell.key.shots, variant_of(cell.key)
