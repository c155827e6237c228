from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsgc.statistics.bootstrap import bootstrap_means, bootstrap_p, percentile_interval
from fsgc.statistics.intervals import normal_interval
from tests.report.made_cells import accuracies


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


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05])
def test_p_is_the_t_tests_where_there_are_many_episodes(shift: float) -> None:
    differences = accuracies(4, 0.6 + shift, episodes=1000) - accuracies(5, 0.6, episodes=1000)
    means = bootstrap_means(differences[:, None], np.random.default_rng(0))[:, 0]
    # The Monte-Carlo error of a share of 5000 is at most 0.007; four of them.
    assert bootstrap_p(float(differences.mean()), means) == pytest.approx(
        stats.ttest_1samp(differences, 0).pvalue, abs=0.03
    )


def test_p_is_one_where_nothing_differs_and_never_zero() -> None:
    assert bootstrap_p(0.0, np.zeros(99)) == 1.0
    assert bootstrap_p(1.0, np.ones(99)) == 0.01
