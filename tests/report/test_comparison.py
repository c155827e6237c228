from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fsgc.report.cells import find_cells
from fsgc.report.comparison import Column, Comparisons, PairingError
from fsgc.report.results import Results
from fsgc.statistics.panel import Panel, Seeds, seed_variance
from fsgc.tables.grid import CellKey
from tests.report.made_cells import Correct, draw, outcomes, write_cell


def _results(root: Path, first: Correct, second: Correct, **second_metrics: Any) -> Results:
    write_cell(root, CellKey("enzymes", 5, "pn", 0), first)
    write_cell(root, CellKey("enzymes", 5, "wl", 0), second, **second_metrics)
    return Results(find_cells(root))


def test_a_pair_is_compared_over_graphs_and_over_episodes(cells_root: Path) -> None:
    first, second = outcomes(0, 0.65), outcomes(1, 0.6)
    found = Comparisons(_results(cells_root, first, second)).column("enzymes", 5).compare("pn", "wl")
    difference = np.round(first.mean(axis=1) - second.mean(axis=1), 12)
    assert found.interval.mean == pytest.approx(difference.mean(), abs=1e-12)
    assert (found.wins, found.losses) == ((difference > 0).sum(), (difference < 0).sum())
    oracle = stats.wilcoxon(difference, zero_method="wilcox", correction=False, method="approx").pvalue
    assert found.wilcoxon_p == pytest.approx(oracle, rel=1e-9)
    panel = Panel({"pn": first[None], "wl": second[None]}, draw(5))
    assert found.p == panel.compare("pn", "wl").p


def test_turning_a_pair_turns_its_sign_only(cells_root: Path) -> None:
    column = Comparisons(_results(cells_root, outcomes(0, 0.7), outcomes(1, 0.6))).column("enzymes", 5)
    one, other = column.compare("pn", "wl").interval, column.compare("wl", "pn").interval
    assert (one.mean, one.low, one.high) == pytest.approx((-other.mean, -other.high, -other.low))


def test_the_same_results_are_not_separated(cells_root: Path) -> None:
    correct = outcomes(0, 0.7)
    found = Comparisons(_results(cells_root, correct, correct)).column("enzymes", 5).compare("pn", "wl")
    assert (found.interval.mean, found.p, found.wilcoxon_p) == (0.0, 1.0, 1.0)


def test_the_variance_of_one_training_is_that_of_trained_networks_on_the_datasets_own_inputs(cells_root: Path) -> None:
    """Neither untrained ones nor a closed form nor other inputs lend theirs."""
    trained = {"seconds": 1.0, "epochs": 3, "unit": "epoch"}
    others = {"untrained": {**trained, "epochs": 0}, "discriminant": {**trained, "unit": "choice"}}
    rates = {"gin": (0.70, 0.71, 0.69), "untrained": (0.4, 0.6, 0.8), "discriminant": (0.9, 0.9, 0.9)}
    for model, means in rates.items():
        for seed, mean in enumerate(means):
            train = others.get(model, trained)
            write_cell(cells_root, CellKey("enzymes", 5, model, seed), outcomes(seed, mean), train=train)
    for seed, mean in enumerate((0.5, 0.7, 0.9)):
        write_cell(cells_root, CellKey("enzymes", 5, "gin", seed, "structural"), outcomes(seed, mean), train=trained)
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(9, 0.7), train=trained)
    results = Results(find_cells(cells_root))
    column = Comparisons(results).column("enzymes", 5)
    assert column.intervals("pn").seeds_from is Seeds.POOLED
    lent = seed_variance(results.found["enzymes", 5, "gin"].correct.mean(axis=(1, 2)))
    oracle = Panel({"pn": results.found["enzymes", 5, "pn"].correct}, draw(5), seeds=lent)
    assert column.intervals("pn").default.low == pytest.approx(oracle.intervals("pn").default.low, abs=1e-12)


def test_what_is_not_trained_has_no_chance_in_it(cells_root: Path) -> None:
    comparisons = Comparisons(_results(cells_root, outcomes(0, 0.7), outcomes(1, 0.6), train=None))
    column = comparisons.column("enzymes", 5)
    assert (column.intervals("pn").seeds_from, column.intervals("wl").seeds_from) == (Seeds.UNKNOWN, Seeds.NONE)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"way": 5, "queries": 2}, "way 2 and 5, queries 5 and 2"),
        ({"test_episodes": "other"}, "fingerprint '' and 'other'"),
    ],
)
def test_results_of_other_episodes_are_refused_but_have_intervals(
    cells_root: Path, metrics: dict[str, Any], message: str
) -> None:
    results = _results(cells_root, outcomes(0, 0.7), outcomes(1, 0.6), **metrics)
    comparisons = Comparisons(results)
    with pytest.raises(PairingError, match=f"enzymes-5shot-pn and enzymes-5shot-wl .* different episodes .{message}"):
        comparisons.column("enzymes", 5)
    assert comparisons.intervals(results.found["enzymes", 5, "pn"]).default.mean == outcomes(0, 0.7).mean()


def test_results_of_another_dataset_are_refused(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    write_cell(cells_root, CellKey("reddit", 5, "wl", 0), outcomes(1, 0.6))
    with pytest.raises(PairingError, match="dataset 'enzymes' and 'reddit'"):
        Column(list(Results(find_cells(cells_root)).found.values()))
