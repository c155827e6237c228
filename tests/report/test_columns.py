from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsgc.report.accuracy_tables import accuracy_table
from fsgc.report.cells import find_cells
from fsgc.report.columns import columns_table
from fsgc.report.comparison import Comparisons
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.table import Table
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell


def _columns(root: Path) -> Table | None:
    results, paper = Results(find_cells(root)), load_paper()
    comparisons = Comparisons(results)
    tables = [accuracy_table(key, paper.tables[key], results, paper, comparisons) for key in ("d_a", "d_b")]
    return columns_table(tables, comparisons)


def _write(root: Path, model: str, mean: float, dataset: str = "triangles", seeds: int = 5) -> list[float]:
    runs = [outcomes(100 * seeds + seed + len(model), mean) for seed in range(seeds)]
    for seed, run in enumerate(runs):
        write_cell(root, CellKey(dataset, 5, model, seed), run)
    return [100 * float(run.mean()) for run in runs]


def test_the_best_the_tied_and_what_the_paper_says_otherwise(cells_root: Path) -> None:
    for model, mean in {"pn": 0.86, "pn_tae_mu": 0.865, "gin": 0.60, "gcn": 0.86}.items():
        _write(cells_root, model, mean)
    table = _columns(cells_root)
    assert table is not None
    (row,) = table.rows
    record = table.frame.row(0, named=True)
    assert row.title == "TRIANGLES, 5-shot"
    assert record["best"] in ("PN", "PN+TAE+MU", "GCN")
    assert record["rows"] == 4
    assert "GIN" not in record["ties"].split("; "), "0.60 is told from 0.86"
    assert len(record["ties"].split("; ")) == 2
    assert record["unlike_the_paper"].startswith("GIN −2"), "the paper has 82.1"
    assert row.values[-1].is_gap, "nothing untrained is here to compare with"


def test_equal_bests_are_named_and_where_nothing_can_be_compared_nothing_is_said(cells_root: Path) -> None:
    perfect = np.ones_like(outcomes(0, 0.9))
    for model in ("pn", "gin"):
        write_cell(cells_root, CellKey("graph_r52", 5, model, 0), perfect)
    table = _columns(cells_root)
    assert table is not None
    record = table.frame.row(0, named=True)
    assert {record["best"], record["ties"]} == {"PN", "GIN"}
    assert record["unlike_the_paper"] is None
    assert table.rows[0].values[2].is_gap


def test_what_training_adds_is_the_difference_to_the_untrained_network(cells_root: Path) -> None:
    trained, untrained = _write(cells_root, "pn", 0.8), _write(cells_root, "untrained", 0.6)
    table = _columns(cells_root)
    assert table is not None
    record = table.frame.row(0, named=True)
    assert record["learned"] == pytest.approx(sum(trained) / 5 - sum(untrained) / 5)
    assert record["learned_low"] > 0
    assert table.rows[0].values[-1].text.startswith("+")


def test_training_that_teaches_nothing_has_an_interval_with_zero_in_it(cells_root: Path) -> None:
    _write(cells_root, "pn", 0.6)
    _write(cells_root, "untrained", 0.6)
    table = _columns(cells_root)
    assert table is not None
    record = table.frame.row(0, named=True)
    assert record["learned_low"] < 0 < record["learned_high"]


def test_without_results_there_is_no_such_table(cells_root: Path) -> None:
    assert _columns(cells_root) is None
