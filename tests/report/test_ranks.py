from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fsgc.report.cells import find_cells
from fsgc.report.ranks import cliques, friedman, nemenyi, rank_columns, ranking
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import accuracies, write_cell

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


@given(st.integers(0, 10_000), st.integers(3, 6), st.integers(2, 9))
def test_ranks_and_friedman_are_scipys(seed: int, models: int, columns: int) -> None:
    accuracy = np.random.default_rng(seed).integers(0, 8, size=(columns, models)) / 8  # ties are common
    ranks = rank_columns(accuracy)
    np.testing.assert_allclose(ranks, stats.rankdata(-accuracy, axis=1))
    if (accuracy == accuracy[:, :1]).all():
        assert friedman(ranks) == 1.0
    else:
        assert friedman(ranks) == pytest.approx(stats.friedmanchisquare(*accuracy.T).pvalue, rel=1e-9)


def test_cliques_are_the_longest_runs() -> None:
    assert cliques([1.0, 1.4, 2.6, 2.9, 5.0], 1.5) == ((0, 1), (1, 3))
    assert cliques([1.0, 3.0, 5.0], 1.0) == ()
    assert cliques([1.0, 1.5, 2.0], 1.0) == ((0, 2),)


def test_a_partial_table_is_ranked_where_it_is_whole(tmp_path: Path) -> None:
    means = {("enzymes", 5): (0.5, 0.6, 0.7), ("enzymes", 10): (0.5, 0.7, 0.9), ("reddit", 5): (0.4, 0.6, 0.5)}
    for number, (column, values) in enumerate(means.items()):
        for model, mean in zip(("wl", "pn", "gin"), values, strict=True):
            write_cell(tmp_path, CellKey(*column, model, 0), accuracies(number, mean))
    write_cell(tmp_path, CellKey("triangles", 5, "wl", 0), accuracies(9, 0.9))
    write_cell(tmp_path, CellKey("reddit", 5, "sp", 0), accuracies(9, 0.9))
    found = ranking(Results(find_cells(tmp_path)))
    assert found is not None
    assert found.columns == (("enzymes", 5), ("enzymes", 10), ("reddit", 5))
    assert dict(zip(found.models, found.ranks, strict=True)) == pytest.approx({"gin": 4 / 3, "pn": 5 / 3, "wl": 3})
    assert found.critical_difference == pytest.approx(2.343 * (12 / 18) ** 0.5, abs=1e-3)


def test_too_little_to_rank(tmp_path: Path) -> None:
    assert ranking(Results([])) is None
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), accuracies(0, 0.5))
    write_cell(tmp_path, CellKey("enzymes", 5, "wl", 0), accuracies(1, 0.5))
    assert ranking(Results(find_cells(tmp_path))) is None, "one column"
