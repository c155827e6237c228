"""The summary of one value per episode, and intervals of a mean: normal over episodes, Student's t over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

LEVEL = 0.95
Z95 = 1.959963984540054  # the 0.975 quantile of the normal distribution
FEWEST_SEEDS = 3  # two have one degree of freedom: an interval of 12.7 standard errors tells nothing

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """Mean over episodes, standard deviation between them, and half the 95 % interval of the mean."""

    mean: float
    std: float
    ci95: float

    @classmethod
    def of(cls, values: npt.NDArray[np.floating[Any]]) -> Summary:
        """Summarise one value per episode."""
        std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return cls(float(values.mean()), std, Z95 * std / math.sqrt(len(values)))


@dataclass(frozen=True)
class Interval:
    """A mean and its interval at `LEVEL`."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half its width, the number after the ±."""
        return (self.high - self.low) / 2


def normal_interval(values: Floats) -> Interval:
    """The interval of the mean that the central limit theorem gives; with thousands of episodes it is exact enough."""
    summary = Summary.of(values)
    return Interval(summary.mean, summary.mean - summary.ci95, summary.mean + summary.ci95)


def seed_interval(means: Floats, fewest: int = 2) -> Interval | None:
    """The interval of the expected accuracy over training seeds, by Student's t; `None` for fewer than `fewest`."""
    if len(means) < max(2, fewest):
        return None
    mean = float(means.mean())
    quantile = float(special.stdtrit(len(means) - 1, (1 + LEVEL) / 2))
    half = quantile * float(means.std(ddof=1)) / math.sqrt(len(means))
    return Interval(mean, mean - half, mean + half)
