"""Tests on paired differences, and their correction for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsgc.statistics.intervals import Floats

SIGNIFICANCE = 0.05


def wilcoxon_p(differences: Floats) -> float:
    """Two-sided p of Wilcoxon's signed-rank test over episodes, zeros left out, normal approximation with ties.

    Without a difference that is not zero there is nothing to reject: 1.
    """
    from scipy import stats  # takes most of a second to load

    nonzero = differences[differences != 0]
    if len(nonzero) == 0:
        return 1.0
    return float(stats.wilcoxon(nonzero, correction=False, method="approx").pvalue)


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Holm's step-down correction: adjusted p-values, to be held against the level as they are."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
