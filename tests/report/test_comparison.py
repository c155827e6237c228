from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fsgc.report.cells import find_cells
from fsgc.report.comparison import Column, Comparisons, PairingError
from fsgc.report.scores import Results
from fsgc.report.statistics import Floats
from fsgc.tables.grid import CellKey
from tests.report.made_cells import accuracies, write_cell


def _results(root: Path, first: Floats, second: Floats, **second_metrics: Any) -> Results:
    write_cell(root, CellKey("enzymes", 5, "pn", 0), first)
    write_cell(root, CellKey("enzymes", 5, "wl", 0), second, **second_metrics)
    return Results(find_cells(root))


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.2])
def test_a_pair_against_scipy(tmp_path: Path, shift: float) -> None:
    first, second = accuracies(0, 0.6 + shift, 400), accuracies(1, 0.6, 400)
    column = Comparisons(_results(tmp_path, first, second)).column("enzymes", 5)
    found = column.compare("pn", "wl")
    difference = np.round(first - second, 12)
    assert found.difference == pytest.approx(difference.mean(), abs=1e-12)
    assert (found.wins, found.losses) == ((difference > 0).sum(), (difference < 0).sum())
    error = stats.sem(difference)
    expected = stats.norm.interval(0.95, loc=difference.mean(), scale=error)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.15 * error)
    # With 400 episodes the bootstrap test and the paired t-test ask the same question of the same distribution.
    t_test = stats.ttest_rel(first, second).pvalue
    assert found.bootstrap_p == pytest.approx(t_test, abs=0.03)
    oracle = stats.wilcoxon(difference, zero_method="wilcox", correction=False, method="approx").pvalue
    assert found.wilcoxon_p == pytest.approx(oracle, rel=1e-9)


def test_turning_a_pair_turns_its_sign_only(tmp_path: Path) -> None:
    column = Comparisons(_results(tmp_path, accuracies(0, 0.7), accuracies(1, 0.6))).column("enzymes", 5)
    one, other = column.compare("pn", "wl"), column.compare("wl", "pn")
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert (one.bootstrap_p, one.wilcoxon_p, one.wins) == (other.bootstrap_p, other.wilcoxon_p, other.losses)


def test_a_third_method_changes_nothing_for_a_pair(tmp_path: Path) -> None:
    results = _results(tmp_path, accuracies(0, 0.7), accuracies(1, 0.6))
    before = Comparisons(results).column("enzymes", 5).compare("pn", "wl")
    write_cell(tmp_path, CellKey("enzymes", 5, "gin", 0), accuracies(2, 0.5))
    after = Comparisons(Results(find_cells(tmp_path))).column("enzymes", 5).compare("pn", "wl")
    assert before.bootstrap_p == after.bootstrap_p
    assert (before.low, before.high) == pytest.approx((after.low, after.high), abs=1e-12)


def test_the_same_results_are_not_separated(tmp_path: Path) -> None:
    accuracy = accuracies(0, 0.7)
    found = Comparisons(_results(tmp_path, accuracy, accuracy)).column("enzymes", 5).compare("pn", "wl")
    assert (found.difference, found.bootstrap_p, found.wilcoxon_p) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"queries": 4}, "queries 5 and 4"),
        ({"way": 3}, "way 2 and 3"),
        ({"test_episodes": "other"}, "fingerprint '' and 'other'"),
    ],
)
def test_results_of_other_episodes_are_refused(tmp_path: Path, metrics: dict[str, Any], message: str) -> None:
    results = _results(tmp_path, accuracies(0, 0.7), accuracies(1, 0.6), **metrics)
    with pytest.raises(PairingError, match=f"enzymes-5shot-pn and enzymes-5shot-wl .* different episodes .{message}"):
        Comparisons(results).column("enzymes", 5)


def test_results_of_another_dataset_are_refused(tmp_path: Path) -> None:
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), accuracies(0, 0.7))
    write_cell(tmp_path, CellKey("reddit", 5, "wl", 0), accuracies(1, 0.6))
    with pytest.raises(PairingError, match="dataset 'enzymes' and 'reddit'"):
        Column(list(Results(find_cells(tmp_path)).scores.values()))
