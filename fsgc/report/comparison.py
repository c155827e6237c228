"""Two methods on the same episodes: paired differences, tests, and their correction for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from fsgc.errors import FsgcError
from fsgc.random import generator
from fsgc.report.scores import Results, Score
from fsgc.statistics.bootstrap import RESAMPLES, bootstrap_means, bootstrap_p, percentile_interval
from fsgc.statistics.intervals import Floats, Interval
from fsgc.statistics.paired import SIGNIFICANCE, holm, wilcoxon_p

__all__ = ["SIGNIFICANCE", "Column", "Comparison", "Comparisons", "PairingError", "check_pair", "holm"]


class PairingError(FsgcError):
    """Two results are not of the same episodes, so their difference episode by episode means nothing."""


@dataclass(frozen=True)
class Comparison:
    """Accuracy of a first method minus that of a second, over the episodes they share.

    Attributes:
        difference: the mean.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
        bootstrap_p: of the paired bootstrap test that the mean difference is zero, two-sided.
        wilcoxon_p: of the signed-rank test that the differences are symmetric around zero, two-sided.
        wins: episodes the first is better on.
        losses: episodes the second is better on.
        episodes: how many there are.
    """

    difference: float
    low: float
    high: float
    bootstrap_p: float
    wilcoxon_p: float
    wins: int
    losses: int
    episodes: int


class Column:
    """The results of one dataset and number of shots on the same test episodes, ready to be compared in pairs.

    Args:
        scores: at least one; results of other episodes than the first's are refused.
        resamples: of the bootstrap, shared by all methods.
    """

    def __init__(self, scores: Sequence[Score], resamples: int = RESAMPLES) -> None:
        for score in scores:
            check_pair(scores[0], score)
        self.scores = {score.model: score for score in scores}
        self._place = {model: place for place, model in enumerate(self.scores)}
        self._resamples = resamples

    @cached_property
    def _means(self) -> Floats:
        """Resampled means, `[B, M]`; the resamples depend on the episodes only, not on which methods there are."""
        protocol = next(iter(self.scores.values())).protocol
        rng = generator("report", "bootstrap", protocol.dataset, protocol.shots)
        values = np.stack([score.per_episode for score in self.scores.values()], axis=1)
        return bootstrap_means(values, rng, self._resamples)

    def interval(self, model: str) -> Interval:
        """The bootstrap interval of a method's mean accuracy."""
        return percentile_interval(self.scores[model].summary.mean, self._means[:, self._place[model]])

    def compare(self, first: str, second: str) -> Comparison:
        """Compare two methods."""
        # Accuracies are multiples of 1/(N·Q) and averages of such; rounding makes equal differences equal numbers.
        differences = np.round(self.scores[first].per_episode - self.scores[second].per_episode, 12)
        mean = float(differences.mean())
        means = self._means[:, self._place[first]] - self._means[:, self._place[second]]
        interval = percentile_interval(mean, means)
        return Comparison(
            difference=mean,
            low=interval.low,
            high=interval.high,
            bootstrap_p=bootstrap_p(mean, means),
            wilcoxon_p=wilcoxon_p(differences),
            wins=int((differences > 0).sum()),
            losses=int((differences < 0).sum()),
            episodes=len(differences),
        )


class Comparisons:
    """All columns of the tables; the resampling of one happens when it is first asked for, and once.

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


def check_pair(first: Score, second: Score) -> None:
    """Refuse results that were not computed on the same test episodes."""
    one, other = asdict(first.protocol), asdict(second.protocol)
    differing = ", ".join(f"{name} {one[name]!r} and {other[name]!r}" for name in one if one[name] != other[name])
    if differing:
        raise PairingError(
            f"{first.name} and {second.name} were tested on different episodes ({differing}); "
            "compute the older one again before comparing them"
        )
