from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fsgc.statistics.variance import Covariance, Variance, half_width, interval_of, p_value


@pytest.mark.parametrize("freedom", [1.0, 2.5, 30.0, math.inf])
def test_one_source_is_students(freedom: float) -> None:
    interval = interval_of(3.0, [Variance(4.0, freedom)])
    assert (interval.low, interval.high) == pytest.approx(stats.t.interval(0.95, freedom, loc=3, scale=2), rel=1e-9)
    assert p_value(3.0, [Variance(4.0, freedom)]) == pytest.approx(2 * stats.t.sf(1.5, freedom), rel=1e-9)


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(2, 9))
def test_two_sets_of_seeds_are_welchs_test(seed: int, first: int, second: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=first), rng.normal(0.5, 3, size=second)
    both = Variance(one.var(ddof=1), first - 1) / first + Variance(other.var(ddof=1), second - 1) / second
    oracle = stats.ttest_ind(one, other, equal_var=False)
    assert both.freedom == pytest.approx(oracle.df)
    assert p_value(one.mean() - other.mean(), [both]) == pytest.approx(oracle.pvalue, rel=1e-8)


def test_half_intervals_add_like_the_sides_of_a_right_angle() -> None:
    graphs, seeds = Variance(0.0009, 198), Variance(0.0004, 2)
    sides = [stats.t.ppf(0.975, part.freedom) * math.sqrt(part.value) for part in (graphs, seeds)]
    assert half_width([graphs, seeds]) == pytest.approx(math.hypot(*sides), rel=1e-9)
    assert half_width([graphs, Variance(0.0)]) == pytest.approx(sides[0], rel=1e-9)


def test_intervals_of_two_sources_cover_whatever_their_variances() -> None:
    """Banerjee's bound; Satterthwaite's single t falls below it here."""
    rng = np.random.default_rng(0)
    rounds = 20_000
    for share in (0.0, 0.3, 0.7, 1.0):
        estimate = rng.normal(size=rounds) * math.sqrt(share) + rng.normal(size=rounds) * math.sqrt(1 - share)
        parts = zip(share * rng.chisquare(198, rounds) / 198, (1 - share) * rng.chisquare(2, rounds) / 2, strict=True)
        half = np.array([half_width([Variance(one, 198), Variance(other, 2)]) for one, other in parts])
        assert (np.abs(estimate) <= half).mean() > 0.95 - 3 * math.sqrt(0.95 * 0.05 / rounds)


@given(st.floats(1e-6, 1), st.floats(1e-6, 1), st.integers(1, 50), st.integers(1, 50), st.floats(-3, 3))
def test_p_is_where_the_interval_ends_at_zero(one: float, other: float, f: int, g: int, estimate: float) -> None:
    parts = [Variance(one, f), Variance(other, g)]
    p = p_value(estimate, parts)
    assert half_width(parts, p) == pytest.approx(abs(estimate), rel=1e-6, abs=1e-6)
    assert (p < 0.05) == (abs(estimate) > half_width(parts))


def test_certain_differences() -> None:
    assert p_value(0.0, [Variance(0.0)]) == 1.0
    assert p_value(0.1, [Variance(0.0)]) == pytest.approx(0.0, abs=1e-99)


def test_a_contrast_of_strata() -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(3, 4, 4))
    strata = factors @ factors.transpose(0, 2, 1)
    covariance = Covariance(strata, np.array([10.0, 20.0, 30.0]))
    a = np.array([0.5, 0.5, -1.0, 0.0])
    by_hand = [float(a @ stratum @ a) for stratum in strata]
    found = covariance.variance(np.outer(a, a))
    assert found.value == pytest.approx(sum(by_hand))
    freedom = sum(by_hand) ** 2 / sum(v**2 / f for v, f in zip(by_hand, (10, 20, 30), strict=True))
    assert found.freedom == pytest.approx(freedom)
    np.testing.assert_allclose(covariance.matrix, strata[0] + strata[1] + strata[2])


def test_an_estimate_is_never_less_than_what_the_draw_of_episodes_gives() -> None:
    below = Covariance(np.array([[[-1.0]], [[0.5]]]), np.array([5.0, 7.0]))
    assert below.variance(np.ones((1, 1))).value == 0.5
    without_noise = Covariance(np.array([[[-1.0]], [[-0.5]]]), np.array([5.0, 7.0]))
    assert without_noise.variance(np.ones((1, 1))).value == 0.0
