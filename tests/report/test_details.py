from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fsgc.report.cells import Cell, find_cells
from fsgc.report.comparison import Comparisons
from fsgc.report.details import page_data
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.statistics.paired import holm
from fsgc.tables.grid import CellKey
from tests.report.made_cells import CLASSES, outcomes, write_cell


def test_a_result_has_its_intervals_origin_settings_and_confusion(example: Results) -> None:
    comparisons = Comparisons(example)
    data = page_data(example, comparisons, load_paper())
    one = data["results"]["triangles-5shot-pn"]
    intervals = comparisons.column("triangles", 5).panel.intervals("pn")
    shown = {entry["name"]: entry["ends"] for entry in one["intervals"]}
    assert list(shown) == ["graphs and seeds", "episodes", "graphs", "seeds", "classes"], "the default comes first"
    for name, interval in (("graphs and seeds", intervals.default), ("classes", intervals.classes)):
        assert interval is not None
        assert shown[name] == pytest.approx([interval.low, interval.high], abs=1e-6)
    assert one["seedsFrom"] == "The variance between seeds is that of its own seeds."
    (origin,) = one["origins"]
    assert (origin["Seeds"], origin["Commit"], origin["Threads"]) == ("0, 1, 2", "0a1b2c3d4e5f", 1)
    assert (origin["Versions"], origin["Node features"]) == ("python 3.11.2, torch 2.0", "degree_onehot")
    assert one["settings"] == {"method.width": 64, "method.lr": 0.001, "train.max_epochs": 3}
    matrix = np.array(one["confusion"]["counts"])
    assert tuple(one["confusion"]["classes"]) == CLASSES
    cells = example.found["triangles", 5, "pn"].cells
    assert len(cells) == 3
    assert matrix.sum() == 3 * outcomes(0, 0.8).size, "of all seeds"
    assert np.trace(matrix) == sum(cell.outcomes.correct.sum() for cell in cells)
    assert one["macroF1"] == pytest.approx(np.mean([cell.metrics.macro_f1 for cell in cells]), abs=1e-6)
    assert one["comparable"]


def test_where_the_paper_is_for_orientation_only_no_difference_is_shown(cells_root: Path) -> None:
    for dataset in ("graph_r52", "coil_del"):
        write_cell(cells_root, CellKey(dataset, 5, "pn", 0), outcomes(0, 0.7))
    results = Results(find_cells(cells_root))
    shown = page_data(results, Comparisons(results), load_paper())["results"]
    comparable = {name: one["comparable"] for name, one in shown.items()}
    assert comparable == {"coil_del-5shot-pn": True, "graph_r52-5shot-pn": False}


def test_seeds_of_different_commits_have_an_origin_each(cells_root: Path) -> None:
    for seed, commit in enumerate(("aaa", "bbb+", "aaa")):
        write_cell(cells_root, CellKey("enzymes", 5, "pn", seed), outcomes(seed, 0.7), commit=commit)
    cells = [cell for cell in find_cells(cells_root) if isinstance(cell, Cell)]
    results = Results([replace(cell, stale=("code of x", "code of y") if cell.key.seed == 1 else ()) for cell in cells])
    one = page_data(results, Comparisons(results), load_paper())["results"]["enzymes-5shot-pn"]
    found = [(origin["Seeds"], origin["Commit"], origin["Stale"]) for origin in one["origins"]]
    assert found == [("0, 2", "aaa", ""), ("1", "bbb, with uncommitted changes", "code of x, and 1 more")]
    assert one["stale"] == ("code of x", "code of y")


def test_pairs_are_corrected_for_how_many_there_are(example: Results) -> None:
    data = page_data(example, Comparisons(example), load_paper())
    json.dumps(data, allow_nan=False)
    column = next(c for c in data["columns"] if (c["dataset"], c["shots"]) == ("TRIANGLES", 5))
    assert [tuple(pair["pair"]) for pair in column["pairs"]] == list(combinations(("pn", "pn_tae_mu", "wl"), 2))
    for test in ("p", "wilcoxon"):
        raw, corrected = zip(*(pair[test] for pair in column["pairs"]), strict=True)
        assert corrected == pytest.approx(holm(raw))
    both = column["pairs"][1]
    means = np.mean([outcomes(seed, 0.8) for seed in range(3)]), outcomes(4, 0.6).mean()
    assert both["difference"] == pytest.approx(means[0] - means[1], abs=1e-6)
    assert both["interval"][0] < both["difference"] < both["interval"][1]


def test_gaps_have_details_too(example: Results) -> None:
    data = page_data(example, Comparisons(example), load_paper())["results"]
    assert data["reddit-5shot-maml"]["commands"][0] == "python -m pipeline.train"
    assert data["coil_del-5shot-pn"]["trouble"].startswith("missing: seed 0: it has not been computed")
    assert "metrics.json is damaged" in data["coil_del-5shot-wl"]["trouble"]


def test_columns_that_cannot_be_paired_say_so(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    write_cell(cells_root, CellKey("enzymes", 5, "wl", 0), outcomes(1, 0.6), test_episodes="other")
    results = Results(find_cells(cells_root))
    data = page_data(results, Comparisons(results), load_paper())
    (column,) = data["columns"]
    assert column["pairs"] == []
    assert "different episodes" in column["trouble"]
    assert data["results"]["enzymes-5shot-pn"]["intervals"], "an accuracy has its interval all the same"
