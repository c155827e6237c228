"""The results of a table: one model on one dataset with one number of shots, over all its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from fsgc.report.cells import Cell, Protocol, State
from fsgc.statistics.intervals import Floats, Summary


@dataclass(frozen=True)
class Result:
    """The cells of one model, dataset and number of shots that are done, on the same test episodes.

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
        return bool(self.cells[0].metrics.get("transductive", False))

    @cached_property
    def per_episode(self) -> Floats:
        """The accuracy of every test episode, averaged over the seeds, `[E]`."""
        return np.asarray(np.mean([cell.accuracy for cell in self.cells], axis=0), dtype=np.float64)

    @cached_property
    def summary(self) -> Summary:
        """Mean over episodes, deviation between them and half the 95 % interval, of the average over seeds."""
        return Summary.of(self.per_episode)

    @property
    def seed_means(self) -> Floats:
        """The mean accuracy of every seed."""
        return np.array([cell.accuracy.mean() for cell in self.cells])

    @property
    def seed_std(self) -> float | None:
        """The standard deviation between seeds, where there are several."""
        return float(self.seed_means.std(ddof=1)) if len(self.cells) > 1 else None


@dataclass(frozen=True)
class Gap:
    """Why there is no result.

    Attributes:
        state: `failed`, `unfinished` or `damaged`.
        reason: in words.
        cells: the cells it is about.
    """

    state: State
    reason: str
    cells: tuple[Cell, ...]


class Results:
    """All results there are, and what is known of those there are not.

    Args:
        cells: as found on disk.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = tuple(cells)
        self.found: dict[tuple[str, int, str], Result] = {}
        self.gaps: dict[tuple[str, int, str], Gap] = {}
        ordered = sorted(cells, key=lambda cell: cell.key)
        for key, group in groupby(ordered, key=lambda cell: (cell.key.dataset, cell.key.shots, cell.key.model)):
            self._add(key, list(group))

    def _add(self, key: tuple[str, int, str], group: list[Cell]) -> None:
        done = [cell for cell in group if cell.state is State.DONE]
        rest = [cell for cell in group if cell.state is not State.DONE]
        if len({cell.protocol for cell in done}) > 1:
            self.gaps[key] = Gap(State.DAMAGED, "its seeds were tested on different episodes", tuple(done))
            return
        if done:
            self.found[key] = Result(*key, tuple(done))
        if rest:
            reasons = "; ".join(f"seed {cell.key.seed}: {cell.reason}" for cell in rest)
            self.gaps[key] = Gap(rest[0].state, reasons, tuple(rest))

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
