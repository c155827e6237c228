from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fsgc.statistics.ranks import average_shots, cliques, friedman, nemenyi, rank_columns, rank_methods

# Demšar, JMLR 2006, table 6: AUC of four algorithms on 14 datasets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_average_ranks_of_the_textbook_example() -> None:
    assert rank_columns(DEMSAR).mean(axis=0) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)


def test_nemenyi_by_hand() -> None:
    # The same example: q = 2.569 for four methods, CD = 2.569 · √(4·5 / (6·14)) = 1.25.
    assert nemenyi(4, 14) == pytest.approx(2.569 * (4 * 5 / (6 * 14)) ** 0.5, abs=5e-4)
    assert nemenyi(4, 14) == pytest.approx(1.25, abs=5e-3)
    # Table 5(a) of the paper, q for 2 to 10 methods.
    table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for models, q in enumerate(table, start=2):
        assert nemenyi(models, 12) == pytest.approx(q * (models * (models + 1) / 72) ** 0.5, abs=1e-3)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 9))
def test_ranks_count_what_is_above(seed: int, models: int, columns: int) -> None:
    accuracy = np.random.default_rng(seed).integers(0, 8, size=(columns, models)) / 8  # ties are common
    ranks = rank_columns(accuracy)
    for row, values in zip(ranks, accuracy, strict=True):
        assert row.tolist() == [(values > v).sum() + ((values == v).sum() + 1) / 2 for v in values]


@given(st.integers(0, 10_000), st.integers(3, 6), st.integers(2, 9))
def test_friedman_by_its_formula(seed: int, models: int, columns: int) -> None:
    """Hollander and Wolfe, section 7.1, with the correction for ties."""
    accuracy = np.random.default_rng(seed).integers(0, 8, size=(columns, models)) / 8
    ranks = rank_columns(accuracy)
    spread = ((ranks - (models + 1) / 2) ** 2).sum() / (columns * (models - 1))
    if spread == 0:
        assert friedman(accuracy) == 1.0
        return
    statistic = columns * ((ranks.mean(axis=0) - (models + 1) / 2) ** 2).sum() / spread
    assert friedman(accuracy) == pytest.approx(stats.chi2.sf(statistic, models - 1), rel=1e-9)
    assert friedman(accuracy) == pytest.approx(friedman(-ranks), rel=1e-9), "it sees nothing but ranks"


def test_two_methods_are_compared_by_the_sign_test() -> None:
    accuracy = np.array([[0.9, 0.8]] * 7 + [[0.5, 0.6], [0.4, 0.4]])
    tail = sum(math.comb(8, k) for k in range(2)) / 2**8
    assert friedman(accuracy) == pytest.approx(2 * tail)
    assert friedman(accuracy[-1:]) == 1.0


def test_cliques_are_the_longest_runs() -> None:
    assert cliques([1.0, 1.4, 2.6, 2.9, 5.0], 1.5) == ((0, 1), (1, 3))
    assert cliques([1.0, 3.0, 5.0], 1.0) == ()
    assert cliques([1.0, 1.5, 2.0], 1.0) == ((0, 2),)


def test_the_shots_of_a_dataset_are_one_row() -> None:
    columns = [("enzymes", 5), ("enzymes", 10), ("reddit", 5)]
    accuracy = np.array([[0.5, 0.6, 0.7], [0.5, 0.7, 0.9], [0.4, 0.6, 0.5]])
    values, datasets = average_shots(accuracy, columns)
    assert datasets == ("enzymes", "reddit")
    assert values == pytest.approx(np.array([[0.5, 0.65, 0.8], [0.4, 0.6, 0.5]]))


def test_averages_that_are_equal_tie() -> None:
    columns = [("enzymes", shots) for shots in (1, 5, 10)]
    values, _ = average_shots(np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]]), columns)
    assert rank_columns(values).tolist() == [[1.5, 1.5]]


def test_a_partial_table_is_ranked_where_it_is_whole() -> None:
    table = {
        ("enzymes", 5): {"wl": 0.5, "pn": 0.6, "gin": 0.7},
        ("enzymes", 10): {"wl": 0.5, "pn": 0.7, "gin": 0.9},
        ("reddit", 5): {"wl": 0.4, "pn": 0.6, "gin": 0.5, "sp": 0.9},
        ("triangles", 5): {"wl": 0.9},
    }
    found = rank_methods(table)
    assert found is not None
    assert (found.columns, found.datasets) == (tuple(table)[:3], ("enzymes", "reddit"))
    assert dict(zip(found.models, found.ranks, strict=True)) == pytest.approx({"gin": 1.5, "pn": 1.5, "wl": 3})
    assert found.critical_difference == pytest.approx(2.343 * (12 / 12) ** 0.5, abs=1e-3), "two datasets, three columns"


def test_columns_of_one_dataset_more_change_nothing_that_is_claimed() -> None:
    """Ten shot counts of two datasets are two datasets: the critical difference does not shrink."""
    table = {(dataset, 5): {"a": 0.5, "b": 0.6} for dataset in ("enzymes", "reddit")}
    more = {(dataset, shots): values for (dataset, _), values in table.items() for shots in range(1, 11)}
    first, second = rank_methods(table), rank_methods(more)
    assert first is not None
    assert second is not None
    assert first.critical_difference == second.critical_difference
    assert first.friedman_p == second.friedman_p


def test_too_little_to_rank() -> None:
    assert rank_methods({}) is None
    assert rank_methods({("enzymes", 5): {"pn": 0.5, "wl": 0.6}, ("enzymes", 10): {"pn": 0.5, "wl": 0.6}}) is None
    assert rank_methods({("enzymes", 5): {"pn": 0.5}, ("reddit", 5): {"pn": 0.6}}) is None
