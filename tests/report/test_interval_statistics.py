from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsgc.report.statistics import bootstrap_means, normal_interval, percentile_interval, seed_interval
from tests.report.made_cells import accuracies


def test_the_normal_interval_is_scipys() -> None:
    values = accuracies(0, 0.7, episodes=500)
    expected = stats.norm.interval(0.95, loc=values.mean(), scale=stats.sem(values))
    interval = normal_interval(values)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)


def test_the_bootstrap_agrees_with_scipys_and_with_the_normal_interval() -> None:
    values = accuracies(1, 0.9, episodes=2000)
    means = bootstrap_means(values[:, None], np.random.default_rng(0), resamples=5000)[:, 0]
    interval = percentile_interval(float(values.mean()), means)
    oracle = stats.bootstrap((values,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(1))
    # The ends of both are quantiles of 5000 random means: their Monte-Carlo error is about 3 % of a standard error.
    tolerance = 0.15 * stats.sem(values)
    assert (interval.low, interval.high) == pytest.approx(tuple(oracle.confidence_interval), abs=tolerance)
    normal = normal_interval(values)
    assert (interval.low, interval.high) == pytest.approx((normal.low, normal.high), abs=tolerance)
    assert means.std() == pytest.approx(oracle.standard_error, rel=0.05)


def test_resamples_are_of_rows_and_shared_by_the_columns() -> None:
    first, second = accuracies(2, 0.6), accuracies(3, 0.8)
    values = np.stack([first, second, first - second], axis=1)
    means = bootstrap_means(values, np.random.default_rng(0), resamples=700)
    assert means.shape == (700, 3)
    np.testing.assert_allclose(means[:, 0] - means[:, 1], means[:, 2], atol=1e-12)
    alone = bootstrap_means(values[:, :1], np.random.default_rng(0), resamples=700)
    np.testing.assert_allclose(alone[:, 0], means[:, 0], atol=1e-12)


def test_the_interval_over_seeds_is_students() -> None:
    means = np.array([0.81, 0.84, 0.79])
    expected = stats.t.interval(0.95, df=2, loc=means.mean(), scale=stats.sem(means))
    interval = seed_interval(means)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)
    assert seed_interval(means[:1]) is None
