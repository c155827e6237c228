"""Variances that are themselves estimates, and the covariances of several accuracies on the same episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from fsgc.statistics.intervals import LEVEL, Floats, Interval


@dataclass(frozen=True)
class Variance:
    """An estimated variance.

    Attributes:
        value: the estimate, not negative.
        freedom: the degrees of freedom it was estimated with; infinite where it is known.
    """

    value: float
    freedom: float = math.inf

    def __add__(self, other: Variance) -> Variance:
        """The sum of two independent ones, its degrees of freedom Welch's: `(Σ v)² / Σ (v² / f)` (Satterthwaite)."""
        value = self.value + other.value
        spread = self.value**2 / self.freedom + other.value**2 / other.freedom
        return Variance(value, value**2 / spread if spread > 0 else math.inf)

    def __truediv__(self, number: float) -> Variance:
        """The variance of the mean of `number` independent values."""
        return Variance(self.value / number, self.freedom)


def half_width(parts: Sequence[Variance], p: float = 1 - LEVEL) -> float:
    """Half the interval at level `1 − p` of an estimate that is moved by several independent sources of chance.

    The square root of `Σ t² v`, each source with its own quantile of Student's t: the half intervals add up like the
    sides of a right angle. At least `1 − p` of such intervals cover, whatever the variances (Banerjee, Sankhyā 1960);
    one t with Satterthwaite's degrees of freedom is too narrow whenever three seeds happen to agree.
    """
    return math.hypot(*(_t_quantile(part.freedom, p) * math.sqrt(part.value) for part in parts if part.value > 0))


def interval_of(mean: float, parts: Sequence[Variance]) -> Interval:
    """The interval of an estimate that is moved by several independent sources of chance."""
    half = half_width(parts)
    return Interval(mean, mean - half, mean + half)


def p_value(estimate: float, parts: Sequence[Variance]) -> float:
    """Two-sided p of the test that the true value is zero: the p whose interval ends at zero."""
    if estimate == 0:
        return 1.0
    low, high = -100.0, 0.0  # powers of ten
    if half_width(parts, 10**low) <= abs(estimate):
        return float(10**low)
    for _ in range(60):  # the width falls with p; each step halves the bracket
        middle = (low + high) / 2
        if half_width(parts, 10**middle) > abs(estimate):
            low = middle
        else:
            high = middle
    return float(10**high)


def _t_quantile(freedom: float, p: float) -> float:
    """What Student's t exceeds in absolute value with probability `p`."""
    return -float(special.stdtrit(freedom, p / 2) if math.isfinite(freedom) else special.ndtri(p / 2))


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariances of M accuracies that share episodes and graphs, as a sum over independent strata.

    Attributes:
        strata: `[T, M, M]`, the share of each stratum (a class's graphs), the draw of episodes last.
        freedom: `[T]`, the degrees of freedom each was estimated with.
    """

    strata: Floats
    freedom: Floats

    @property
    def matrix(self) -> Floats:
        """The covariances, `[M, M]`."""
        return np.asarray(self.strata.sum(axis=0))

    def variance(self, weights: Floats) -> Variance:
        """The variance `Σ weights · covariance` for weights `[M, M]`.

        For the mean of accuracies with coefficients `a`, the weights are `a aᵀ`. The estimate is corrected for noise
        and may fall below the truth, even below zero; it is never less than what the draw of the episodes alone gives.
        """
        parts = np.einsum("tij,ij->t", self.strata, weights)
        value = float(parts.sum())
        # Satterthwaite's formula for strata that may be estimated below zero, kept within its bounds for those that
        # are not.
        spread = float((parts**2 / self.freedom).sum())
        freedom = value**2 / spread if spread > 0 else math.inf
        bounded = min(max(freedom, float(self.freedom.min())), float(self.freedom.sum()))
        return Variance(max(value, float(parts[-1]), 0.0), bounded)
