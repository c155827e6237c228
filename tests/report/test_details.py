from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from scipy import stats

from fsgc.report.cells import find_cells, workspace_of
from fsgc.report.comparison import Comparisons
from fsgc.report.details import page_data
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.statistics.paired import holm
from fsgc.tables.grid import CellKey
from fsgc.workspace import Workspace
from tests.report.made_cells import accuracies, write_cell


def test_a_real_cell_has_everything(real_root: Path) -> None:
    results = Results(find_cells(real_root))
    data = page_data(results, Comparisons(results), load_paper(), workspace_of(real_root))
    one = data["results"]["enzymes-3shot-pn"]
    matrix = one["confusion"]
    assert tuple(matrix["classes"]) == (2, 4)
    right = sum(matrix["counts"][i][i] for i in range(2)) / sum(map(sum, matrix["counts"]))
    assert one["accuracy"] == pytest.approx(right, abs=1e-6), "accuracy is the diagonal's share"
    assert one["hyperparameters"]["width"] == 8
    assert one["hyperparameters"]["features"] == "degree_onehot"
    assert one["commands"][0] == "dvc repro tables/dvc.yaml:evaluate@enzymes-3-pn-0"
    assert data["models"] == {"pn": "PN", "pn_tae": "PN+TAE", "pn_tae_mu": "PN+TAE+MU"}


def test_pairs_are_corrected_for_how_many_there_are(example: Results, tmp_path: Path) -> None:
    data = page_data(example, Comparisons(example), load_paper(), Workspace(tmp_path))
    json.dumps(data, allow_nan=False)
    column = next(c for c in data["columns"] if (c["dataset"], c["shots"]) == ("TRIANGLES", 5))
    assert [tuple(pair["pair"]) for pair in column["pairs"]] == list(combinations(("pn", "pn_tae_mu", "wl"), 2))
    for test in ("bootstrap", "wilcoxon"):
        raw, corrected = zip(*(pair[test] for pair in column["pairs"]), strict=True)
        assert corrected == pytest.approx(holm(raw))
    both = column["pairs"][1]
    per_episode = [(accuracies(0, 0.8) + accuracies(1, 0.8)) / 2, accuracies(3, 0.6)]
    assert both["difference"] == pytest.approx((per_episode[0] - per_episode[1]).mean(), abs=1e-6)
    seeds = data["results"]["triangles-5shot-pn"]["seedInterval"]
    means = [accuracies(s, 0.8).mean() for s in (0, 1)]
    expected = stats.t.interval(0.95, 1, loc=sum(means) / 2, scale=stats.sem(means))
    assert seeds == pytest.approx(expected, abs=1e-6)


def test_gaps_have_details_too(example: Results, tmp_path: Path) -> None:
    data = page_data(example, Comparisons(example), load_paper(), Workspace(tmp_path))["results"]
    assert data["reddit-5shot-maml"]["commands"][0] == "python -m pipeline.train"
    assert data["coil_del-5shot-pn"]["trouble"].startswith("unfinished: seed 0: no metrics.json")


def test_columns_that_cannot_be_paired_say_so(tmp_path: Path) -> None:
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), accuracies(0, 0.7))
    write_cell(tmp_path, CellKey("enzymes", 5, "wl", 0), accuracies(1, 0.6), queries=4)
    results = Results(find_cells(tmp_path))
    data = page_data(results, Comparisons(results), load_paper(), Workspace(tmp_path))
    (column,) = data["columns"]
    assert column["pairs"] == []
    assert "different episodes" in column["trouble"]
    assert data["results"]["enzymes-5shot-pn"]["bootstrap"] is None
    assert data["results"]["enzymes-5shot-pn"]["normal"] is not None
