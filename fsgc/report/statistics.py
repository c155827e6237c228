"""Intervals of a mean: over episodes by the normal distribution and the bootstrap, over seeds by Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsgc.evaluation.statistics import Summary

LEVEL = 0.95
RESAMPLES = 5000
_AT_ONCE = 500  # resamples held in memory at a time

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A mean and its interval at `LEVEL`."""

    mean: float
    low: float
    high: float


def normal_interval(values: Floats) -> Interval:
    """The interval of the mean that the central limit theorem gives; with thousands of episodes it is exact enough."""
    summary = Summary.of(values)
    return Interval(summary.mean, summary.mean - summary.ci95, summary.mean + summary.ci95)


def bootstrap_means(values: Floats, rng: np.random.Generator, resamples: int = RESAMPLES) -> Floats:
    """The means of `resamples` samples of the rows of `values` `[E, M]`, drawn with replacement: `[resamples, M]`.

    All columns share the resamples, so that the difference of two columns is the paired bootstrap's.
    """
    rows = len(values)
    means = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, _AT_ONCE):
        count = min(_AT_ONCE, resamples - start)
        drawn = rng.integers(0, rows, size=(count, rows), dtype=np.int32)
        drawn += (np.arange(count, dtype=np.int32) * rows)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=count * rows).reshape(count, rows)
        means[start : start + count] = times @ values / rows
    return means


def percentile_interval(mean: float, resampled: Floats) -> Interval:
    """The middle `LEVEL` of resampled means `[B]`."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(mean, float(low), float(high))


def seed_interval(means: Floats) -> Interval | None:
    """The interval of the expected accuracy over training seeds, by Student's t; `None` for fewer than two seeds."""
    from scipy import stats

    if len(means) < 2:
        return None
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(means) - 1) * means.std(ddof=1)) / math.sqrt(len(means))
    return Interval(float(means.mean()), float(means.mean()) - half, float(means.mean()) + half)
