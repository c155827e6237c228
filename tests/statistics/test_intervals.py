from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsgc.statistics.intervals import Summary, normal_interval, seed_interval
from tests.report.made_cells import accuracies


def test_the_normal_interval_is_scipys() -> None:
    values = accuracies(0, 0.7, episodes=500)
    expected = stats.norm.interval(0.95, loc=values.mean(), scale=stats.sem(values))
    interval = normal_interval(values)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)


def test_the_interval_over_seeds_is_students() -> None:
    means = np.array([0.81, 0.84, 0.79])
    expected = stats.t.interval(0.95, df=2, loc=means.mean(), scale=stats.sem(means))
    interval = seed_interval(means)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)
    assert seed_interval(means[:1]) is None
    assert seed_interval(means[:2]) is not None
    assert seed_interval(means[:2], fewest=3) is None


def test_a_summary_is_scipys() -> None:
    values = np.random.default_rng(0).random(5000)
    summary = Summary.of(values)
    low, high = stats.norm.interval(0.95, loc=values.mean(), scale=stats.sem(values))
    assert (summary.mean - summary.ci95, summary.mean + summary.ci95) == pytest.approx((low, high))
    assert summary.std == pytest.approx(np.std(values, ddof=1))
    assert Summary.of(np.array([0.5])) == Summary(0.5, 0.0, 0.0), "one episode has no deviation"
