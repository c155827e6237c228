"""Intervals of a mean, as the report uses them; they are defined in `fsgc.statistics`."""

from __future__ import annotations

from fsgc.statistics.bootstrap import RESAMPLES, bootstrap_means, percentile_interval
from fsgc.statistics.intervals import LEVEL, Floats, Interval, normal_interval, seed_interval

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Floats",
    "Interval",
    "bootstrap_means",
    "normal_interval",
    "percentile_interval",
    "seed_interval",
]
