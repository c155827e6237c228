"""Methods on the same test episodes: the intervals of each, and any two compared in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from fsgc.errors import FsgcError
from fsgc.evaluation.panels import outcome_panel
from fsgc.experiment import OWN_FEATURES
from fsgc.report.results import Result, Results
from fsgc.statistics.intervals import Interval
from fsgc.statistics.paired import wilcoxon_p
from fsgc.statistics.panel import Intervals, Panel, Seeds, pooled_seed_variance


class PairingError(FsgcError):
    """Two results are not of the same episodes, so their difference episode by episode means nothing."""


@dataclass(frozen=True)
class Comparison:
    """Accuracy of a first method minus that of a second, on the episodes they share.

    Attributes:
        interval: the difference, with its interval over graphs and seeds together.
        p: of the test that it is zero, two-sided, over graphs and seeds together.
        seeds_from: what is known of the variance between seeds.
        wilcoxon_p: of the signed-rank test over episodes, for these graphs and weights.
        wins: episodes the first is better on.
        losses: episodes the second is better on.
        episodes: how many there are.
    """

    interval: Interval
    p: float
    seeds_from: Seeds
    wilcoxon_p: float
    wins: int
    losses: int
    episodes: int


class Column:
    """The results of one dataset and number of shots on the same test episodes, ready to be compared in pairs.

    Args:
        results: at least one; results of other episodes than the first's are refused.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        for result in results:
            check_pair(results[0], result)
        self.results = {result.variant: result for result in results}

    @cached_property
    def panel(self) -> Panel:
        """The statistics of all methods together.

        The variance of one training, for methods with too few seeds, is pooled from those that gradient steps trained
        on the dataset's own inputs. An untrained network varies far more, and what is fitted in closed form far less.
        """
        outcomes = {name: [cell.outcomes for cell in result.cells] for name, result in self.results.items()}
        trainings = pooled_seed_variance(
            [
                np.array([cell.metrics.accuracy for cell in result.cells])
                for result in self.results.values()
                if result.trained_in_epochs and result.features == OWN_FEATURES
            ]
        )
        deterministic = [name for name, result in self.results.items() if result.deterministic]
        return outcome_panel(outcomes, deterministic, trainings)

    def intervals(self, variant: str) -> Intervals:
        """The intervals of a method's accuracy."""
        return self.panel.intervals(variant)

    def compare(self, first: str, second: str) -> Comparison:
        """Compare two methods."""
        # Accuracies are multiples of 1/(N·Q) and averages of such; rounding makes equal differences equal numbers.
        differences = np.round(self.results[first].per_episode - self.results[second].per_episode, 12)
        found = self.panel.compare(first, second)
        return Comparison(
            interval=found.interval,
            p=found.p,
            seeds_from=found.seeds_from,
            wilcoxon_p=wilcoxon_p(differences),
            wins=int((differences > 0).sum()),
            losses=int((differences < 0).sum()),
            episodes=len(differences),
        )


class Comparisons:
    """All columns of the tables; each is computed when it is first asked for, and once.

    Args:
        results: everything there is.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._columns: dict[tuple[str, int], Column] = {}

    def column(self, dataset: str, shots: int) -> Column:
        """The results of a dataset and number of shots; a `PairingError` if they are of different episodes."""
        key = (dataset, shots)
        if key not in self._columns:
            self._columns[key] = Column(self._results.column(dataset, shots))
        return self._columns[key]

    def intervals(self, result: Result) -> Intervals:
        """The intervals of one result; one that cannot be compared with its column stands alone."""
        try:
            column = self.column(result.dataset, result.shots)
        except PairingError:
            column = Column([result])
        return column.intervals(result.variant)


def check_pair(first: Result, second: Result) -> None:
    """Refuse results that were not computed on the same test episodes."""
    one, other = asdict(first.protocol), asdict(second.protocol)
    differing = ", ".join(f"{name} {one[name]!r} and {other[name]!r}" for name in one if one[name] != other[name])
    if differing:
        raise PairingError(
            f"{first.name} and {second.name} were tested on different episodes ({differing}); "
            "compute the older one again before comparing them"
        )
