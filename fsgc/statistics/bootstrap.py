"""The paired bootstrap over episodes: what chance in the draw of episodes alone gives, for these graphs and weights."""

from __future__ import annotations

import numpy as np

from fsgc.statistics.intervals import LEVEL, Floats, Interval

RESAMPLES = 5000
_AT_ONCE = 500  # resamples held in memory at a time


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


def bootstrap_p(mean: float, resampled: Floats) -> float:
    """Two-sided p of the test that a mean is zero, from its resampled means `[B]`.

    Centred at zero, the resampled means are what chance alone gives; one is added so that no p is zero.
    """
    as_far = int((np.abs(resampled - mean) >= abs(mean) - 1e-12).sum())
    return (1 + as_far) / (1 + len(resampled))
