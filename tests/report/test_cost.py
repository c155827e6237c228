from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fsgc.cluster.makespan import MEASURED
from fsgc.report.build import build_docs
from fsgc.report.cells import find_cells
from fsgc.report.cost import WORKERS, cell_costs, cost_table
from fsgc.report.paper import load_paper
from fsgc.report.project import Project
from fsgc.report.results import Results
from fsgc.report.table import Table
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell

OVERHEAD = MEASURED.submit + MEASURED.receive + MEASURED.transfer  # of one task on one worker


def _add(root: Path, key: CellKey, train: float, test: float, threads: int = 1) -> None:
    trained = {"seconds": train, "epochs": 1, "parameters": 1, "peak_memory": 1}
    write_cell(
        root, key, outcomes(0, 0.7, shots=key.shots), train=trained, test_seconds=test, threads=threads, curves=False
    )


def _table(root: Path) -> Table:
    return cost_table(Results(find_cells(root)), Project(root), load_paper())


def _record(table: Table, name: str) -> dict[str, Any]:
    return table.frame.filter(pl.col("name") == name).drop("part", "name").row(0, named=True)


def test_what_is_spent_is_added_up_by_row_and_by_column(cells_root: Path) -> None:
    _add(cells_root, CellKey("triangles", 5, "pn", 0), 3600, 60)
    _add(cells_root, CellKey("triangles", 5, "pn", 1), 3000, 60)
    _add(cells_root, CellKey("enzymes", 10, "pn", 0), 600, 30)
    _add(cells_root, CellKey("triangles", 5, "wl", 0), 0, 120)
    table = _table(cells_root)
    assert [row.title for row in table.rows] == [
        "All cells", "One seed of all rows", "WL", "PN", "ENZYMES, 10-shot", "TRIANGLES, 5-shot",
    ]  # fmt: skip
    assert [row.group for row in table.rows] == [*[""] * 2, *["A row"] * 2, *["A column"] * 2]
    pn, column = _record(table, "pn"), _record(table, "triangles-5shot")
    assert (pn["cells"], pn["core_hours"]) == (3, pytest.approx((3660 + 3060 + 630) / 3600))
    assert (pn["median_cell_minutes"], pn["longest_cell_minutes"]) == (51, 61)
    assert (column["cells"], column["core_hours"]) == (3, pytest.approx((3660 + 3060 + 120) / 3600))
    everything = _record(table, "everything")
    assert everything["core_hours"] == pytest.approx((3660 + 3060 + 630 + 120) / 3600)
    one_seed = _record(table, "one seed")
    assert (one_seed["cells"], one_seed["core_hours"]) == (3, pytest.approx((3300 + 60 + 630 + 120) / 3600))
    # On paper: 1 worker does all, one after the other; 8 are more than there are tasks, so the longest decides.
    one = 3660 + 3060 + 630 + 120 + 4 * MEASURED.transfer + MEASURED.submit + MEASURED.receive
    assert everything["hours_1_workers"] == pytest.approx(one / 3600, abs=1e-6)
    # 2 take the longest two first; the fourth is begun by the one that had the longest, before the third ends.
    two = 3660 + 120 + 2 * MEASURED.transfer + MEASURED.submit + MEASURED.receive
    assert everything["hours_2_workers"] == pytest.approx(two / 3600, abs=1e-6)
    for workers in (8, 64):
        assert everything[f"hours_{workers}_workers"] == pytest.approx((3660 + OVERHEAD) / 3600, abs=1e-6)
    assert any(
        "More than 3 workers do not finish all cells sooner" in note and "takes 61 minutes" in note
        for note in table.notes
    )


def test_cells_of_several_threads_cost_as_many_cores(cells_root: Path) -> None:
    _add(cells_root, CellKey("triangles", 5, "pn", 0), 100, 20, threads=4)
    record = _record(_table(cells_root), "everything")
    assert record["core_hours"] == pytest.approx(480 / 3600)
    assert record["hours_1_workers"] == pytest.approx((120 + OVERHEAD) / 3600), "of workers with four threads"


def test_without_a_time_there_is_nothing_to_say(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("triangles", 5, "pn", 0), outcomes(0, 0.7), test_seconds=None)
    assert "fsgc tables run" in _table(cells_root).hint
    assert cell_costs([], Project(cells_root)) == []


@pytest.fixture
def root(cells_root: Path) -> Path:
    """The cells of a project, which wants more than it has."""
    project = cells_root.parent
    root = project / "tables" / "cells"
    root.mkdir(parents=True)
    (project / "params.yaml").write_text("{}\n")
    lists = {"datasets": ["triangles", "enzymes"], "shots": [5, 10], "models": ["gin", "wl"], "seeds": [0]}
    (project / "tables" / "params.yaml").write_text(json.dumps({"block": lists}))
    return root


def test_what_cells_share_counts_once_and_what_is_missing_is_guessed(root: Path) -> None:
    # The three transfer models serve all shots: one training.
    _add(root, CellKey("triangles", 5, "gin", 0), 300, 40)
    _add(root, CellKey("triangles", 10, "gin", 0), 300, 80)
    _add(root, CellKey("triangles", 5, "wl", 0), 0, 10)
    prepared = root.parent / "preparation.json"
    prepared.write_text(json.dumps({"triangles-wl": 50.0}))
    table = _table(root)
    # Missing: gin on ENZYMES (training 300, test the median 60, twice), wl on three (test 10 each).
    gin, wl = _record(table, "gin"), _record(table, "wl")
    assert (gin["cells"], gin["core_hours"]) == (4, pytest.approx((300 + 40 + 80 + 300 + 60 + 60) / 3600))
    assert wl["core_hours"] == pytest.approx((50 + 4 * 10) / 3600)
    column = _record(table, "triangles-10shot")
    assert column["core_hours"] == pytest.approx((300 + 80 + 10 + 50) / 3600), "by itself it needs all of these"
    assert wl["longest_cell_minutes"] == pytest.approx(1.0)
    # On one worker: what is prepared, then two tasks of two cells each.
    assert wl["hours_1_workers"] == pytest.approx((50 + 4 * 10 + 2 * MEASURED.transfer + 0.083) / 3600, abs=1e-6)
    assert "5 of 8 cells have no time yet and are assumed to take as long as similar ones." in table.notes
    assert "The time of 1 of 2 prepared stores was not noted and is not counted." in table.notes
    prepared.write_text('{"triangles-wl": "long"}')
    assert _record(_table(root), "wl")["core_hours"] == pytest.approx(40 / 3600)


def test_it_is_part_of_the_pages(example_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    written = build_docs(example_root, tmp_path / "out", None, embed=False)
    assert tmp_path / "out" / "csv" / "cost.csv" in written
    page = (tmp_path / "out" / "README.md").read_text()
    assert "## What it cost\n" in page
    # 11 cells of 61.5 seconds and three guessed ones; the two of a kernel have no training.
    hours = (14 * 1.5 + 12 * 60) / 3600
    assert f"| All cells | 14 | 1.0 | 1.0 | {hours:.2f} | " in page
    assert len(WORKERS) == page.split("To compute")[1].split("\n")[0].count("Hours with")
