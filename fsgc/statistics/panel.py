"""`Panel`: methods on the same test episodes, with the intervals of each and the difference of any two.

Chance enters an accuracy twice: in which novel graphs there are, and in how training went. With S trainings of a method
tested on the same graphs, accuracy = mean + graphs + seed + (graphs × seed), and the variance of the average over seeds
has two parts, estimated apart so that nothing is counted twice:

- graphs: the average covariance between *two different* seeds under the jackknife over graphs. What only one seed does
  with certain graphs is not in it.
- seeds: the variance between the seeds' accuracies, over S. It includes the graphs × seed part, since all seeds were
  tested on the same graphs.

Differences are treated alike. Two sets of seeds of one method covary across sets as they do within, so the graph part
of their difference vanishes and Welch's t-test over seeds remains. The difference of two methods that fail on the same
graphs is known better than either accuracy. The half intervals of the two parts add up like the sides of a right angle,
each with its own quantile of Student's t (`variance.half_width`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from fsgc.statistics.draw import Draw
from fsgc.statistics.intervals import FEWEST_SEEDS, Floats, Interval, normal_interval, seed_interval
from fsgc.statistics.jackknife import Outcomes, class_covariance, graph_covariance
from fsgc.statistics.paired import SIGNIFICANCE
from fsgc.statistics.variance import Covariance, Variance, interval_of, p_value


class Seeds(StrEnum):
    """Where the variance between seeds comes from."""

    NONE = "none"  # training involves no chance
    OWN = "own"  # three or more seeds of the method itself
    POOLED = "pooled"  # methods of the panel that have several seeds
    UNKNOWN = "unknown"  # nothing is known: what is said holds for these trained models, not for their methods


@dataclass(frozen=True)
class Intervals:
    """The intervals of one accuracy, each named for what may change within it.

    Attributes:
        default: graphs and seeds together, as far as `seeds_from` knows of seeds.
        episodes: other episodes from these graphs, with these weights.
        graphs: other novel graphs of these classes, with these weights.
        seeds: other trainings, tested on these graphs; with three seeds or more.
        classes: other novel classes, with these weights; where there are more of them than an episode has.
        seeds_from: where the variance between seeds in `default` comes from.
    """

    default: Interval
    episodes: Interval
    graphs: Interval
    seeds: Interval | None
    classes: Interval | None
    seeds_from: Seeds


@dataclass(frozen=True)
class Difference:
    """The accuracy of a first method minus that of a second.

    Attributes:
        interval: the difference, with its interval over graphs and seeds together.
        p: of the test that it is zero, two-sided.
        seeds_from: the less certain of the two methods' knowledge of seeds.
    """

    interval: Interval
    p: float
    seeds_from: Seeds

    @property
    def is_separated(self) -> bool:
        """Whether this pair alone differs at the 5 % level; a table corrects for its many pairs, see `marks`."""
        return self.p < SIGNIFICANCE


def seed_variance(means: Floats) -> Variance | None:
    """The variance of the accuracy of one training, from the accuracies of S; `None` for fewer than two."""
    return Variance(float(means.var(ddof=1)), len(means) - 1.0) if len(means) > 1 else None


def pooled_seed_variance(groups: Collection[Floats]) -> Variance | None:
    """The average variance of one training, from the accuracies of the seeds of several methods; `None` without any."""
    known = [found for means in groups if (found := seed_variance(means))]
    freedom = sum(found.freedom for found in known)
    return Variance(sum(found.value * found.freedom for found in known) / freedom, freedom) if known else None


class Panel:
    """Methods on the same test episodes.

    Args:
        outcomes: of each method, for S seeds which queries were answered correctly, `[S, E, N·Q]`.
        draw: the graphs of the episodes.
        deterministic: methods whose training involves no chance, such as kernels; they have one seed.
        seeds: the variance of one training, for methods with fewer than three seeds; `None` pools what the panel has.
    """

    def __init__(
        self,
        outcomes: Mapping[str, Outcomes],
        draw: Draw,
        deterministic: Collection[str] = (),
        seeds: Variance | None = None,
    ) -> None:
        self._outcomes = dict(outcomes)
        self._draw = draw
        self._deterministic = frozenset(deterministic)
        ends = np.cumsum([len(runs) for runs in self._outcomes.values()])
        self._rows = {
            method: np.arange(end - len(runs), end)
            for (method, runs), end in zip(self._outcomes.items(), ends, strict=True)
        }
        self.seed_means = {method: np.asarray(runs.mean(axis=(1, 2))) for method, runs in self._outcomes.items()}
        self.means = {method: float(means.mean()) for method, means in self.seed_means.items()}
        self._pooled = seeds or pooled_seed_variance(
            [means for method, means in self.seed_means.items() if method not in self._deterministic]
        )

    @cached_property
    def _graphs(self) -> Covariance:
        return graph_covariance(np.concatenate(list(self._outcomes.values())), self._draw)

    def _seeds(self, method: str) -> tuple[Seeds, Variance]:
        """Where the variance between the seeds of a method comes from, and that of their average."""
        means = self.seed_means[method]
        if method in self._deterministic:
            return Seeds.NONE, Variance(0.0)
        own = seed_variance(means)
        if own and len(means) >= FEWEST_SEEDS:
            return Seeds.OWN, own / len(means)
        return (Seeds.POOLED, self._pooled / len(means)) if self._pooled else (Seeds.UNKNOWN, Variance(0.0))

    def _weights(self, terms: Mapping[str, float]) -> Floats:
        """Weights of the covariances of all runs, for the graph part of a sum of methods times `terms`."""
        weights = np.zeros((sum(map(len, self._rows.values())),) * 2)
        for first, one in terms.items():
            for second, other in terms.items():
                block = np.full((len(self._rows[first]), len(self._rows[second])), one * other)
                if first == second and len(block) > 1:
                    np.fill_diagonal(block, 0.0)  # two different seeds only
                weights[np.ix_(self._rows[first], self._rows[second])] = block / np.count_nonzero(block)
        return weights

    def intervals(self, method: str) -> Intervals:
        """The intervals of a method's accuracy."""
        mean, runs, rows = self.means[method], self._outcomes[method], self._rows[method]
        averaged = np.zeros_like(self._graphs.matrix)
        averaged[np.ix_(rows, rows)] = 1 / len(rows) ** 2
        source, seeds = self._seeds(method)
        over_classes = class_covariance(np.asarray(runs, dtype=np.float64).mean(axis=0, keepdims=True), self._draw)
        return Intervals(
            default=interval_of(mean, [self._graphs.variance(self._weights({method: 1.0})), seeds]),
            episodes=normal_interval(np.asarray(runs.mean(axis=(0, 2)))),
            graphs=interval_of(mean, [self._graphs.variance(averaged)]),
            seeds=None if source is Seeds.NONE else seed_interval(self.seed_means[method], FEWEST_SEEDS),
            classes=interval_of(mean, [over_classes.variance(np.ones((1, 1)))]) if over_classes else None,
            seeds_from=source,
        )

    def compare(self, first: str, second: str) -> Difference:
        """The difference of two methods, over graphs and seeds together."""
        difference = self.means[first] - self.means[second]
        (one, of_first), (other, of_second) = self._seeds(first), self._seeds(second)
        parts = [self._graphs.variance(self._weights({first: 1.0, second: -1.0})), of_first + of_second]
        source = max(one, other, key=list(Seeds).index)
        return Difference(interval_of(difference, parts), p_value(difference, parts), source)
