"""The results of the tables: one model on one dataset with one number of shots, over all its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from fsgc.report.cells import Cell, FaultyCell, Protocol, State
from fsgc.statistics.intervals import Floats

ResultKey = tuple[str, int, str]  # dataset, shots, model


@dataclass(frozen=True)
class Result:
    """The cells of one model, dataset and number of shots that have an accuracy, on the same test episodes.

    Attributes:
        dataset: key of the dataset.
        shots: K.
        model: a name in the registry of methods.
        cells: one or more, by seed.
    """

    dataset: str
    shots: int
    model: str
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """What it is called in messages and on the page."""
        return f"{self.dataset}-{self.shots}shot-{self.model}"

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
        train = self.cells[0].metrics.train
        return train is None or not train.parameters

    @property
    def stale(self) -> str:
        """What code or setting has changed since its cells were computed; empty if none."""
        reasons = dict.fromkeys(cell.stale for cell in self.cells if cell.stale)
        return "; ".join(reasons)

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
        state: of the cells it is about.
        reason: in words.
        command: what was run, where a failed cell says so.
    """

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
        ordered = sorted(cells, key=lambda cell: cell.key)
        for key, group in groupby(ordered, key=lambda cell: (cell.key.dataset, cell.key.shots, cell.key.model)):
            self._add(key, list(group))

    def _add(self, key: ResultKey, group: list[Cell | FaultyCell]) -> None:
        good = tuple(cell for cell in group if isinstance(cell, Cell))
        faulty = [cell for cell in group if isinstance(cell, FaultyCell)]
        if len({cell.protocol for cell in good}) > 1:
            self.gaps[key] = Gap(State.DAMAGED, "its seeds were tested on different episodes")
            return
        if good:
            self.found[key] = Result(*key, good)
        if faulty:
            reasons = "; ".join(f"seed {cell.key.seed}: {cell.reason}" for cell in faulty)
            self.gaps[key] = Gap(faulty[0].state, reasons, faulty[0].command)

    def result(self, dataset: str, shots: int, model: str) -> Result | None:
        """The result, if there is one."""
        return self.found.get((dataset, shots, model))

    def gap(self, dataset: str, shots: int, model: str) -> Gap | None:
        """What went wrong with (some seeds of) a result, if anything did."""
        return self.gaps.get((dataset, shots, model))

    def column(self, dataset: str, shots: int) -> list[Result]:
        """All results of a dataset and number of shots."""
        return [result for result in self.found.values() if (result.dataset, result.shots) == (dataset, shots)]

    @property
    def columns(self) -> list[tuple[str, int]]:
        """The datasets and numbers of shots of all cells, in order."""
        return sorted({(dataset, shots) for dataset, shots, _ in (*self.found, *self.gaps)})

    @property
    def models(self) -> list[str]:
        """The models of all cells, in order."""
        return sorted({model for *_, model in (*self.found, *self.gaps)})
