from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.statistics.paired import holm, wilcoxon_p


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60).filter(any))
def test_wilcoxon_is_the_textbooks_whatever_the_ties(values: list[int]) -> None:
    """Hollander and Wolfe, section 3.1: mid-ranks of the absolute differences, variance less (t³ − t)/48 a tie."""
    nonzero = [value for value in values if value]
    sizes = [abs(value) for value in nonzero]
    ranks = [sum(other < one for other in sizes) + (sizes.count(one) + 1) / 2 for one in sizes]
    n = len(nonzero)
    statistic = sum(rank for rank, value in zip(ranks, nonzero, strict=True) if value > 0)
    ties = sum(sizes.count(size) ** 3 - sizes.count(size) for size in set(sizes))
    z = (statistic - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48)
    assert wilcoxon_p(np.array(values) / 10) == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), rel=1e-9, abs=1e-12)


def test_no_difference_is_nothing_to_reject() -> None:
    assert wilcoxon_p(np.zeros(20)) == 1.0


def test_holm_by_hand() -> None:
    # Holm 1979: sorted .01 .02 .03 .04 times 4 3 2 1, then never falling.
    assert holm([0.01, 0.04, 0.03, 0.02]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert len(holm([])) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.2))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float], level: float) -> None:
    """The definition: go up the sorted p-values while the i-th is at most level / (m − i), then stop."""
    rejected: set[int] = set()
    for step, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[place] * (len(p_values) - step) > level:
            break
        rejected.add(place)
    assert {i for i, p in enumerate(holm(p_values)) if p <= level} == rejected
