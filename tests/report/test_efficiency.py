from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fsgc.errors import StoreError
from fsgc.report.cells import find_cells
from fsgc.report.efficiency import HEADINGS, efficiency_table
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.tables.efficiency import Measured
from fsgc.tables.grid import CellKey
from fsgc.tables.stopwatch import Timing
from tests.report.made_cells import outcomes, write_cell

TIMING = Timing("graph_r52", 5, "pn", 0.5, 2.0, 10.0, None, "episodes", 0.125, 3.21, 640.0, 1.0)
MEASURED = Measured("0a1b2c", "A CPU", 1, "2026-01-02", {"torch": "2.0"}, (TIMING,))


@pytest.fixture
def results(cells_root: Path) -> Results:
    train = {"seconds": 100.0, "epochs": 4, "parameters": 10, "peak_memory": 3_000_000}
    write_cell(cells_root, CellKey("graph_r52", 5, "pn", 0), outcomes(0, 0.7), test_seconds=1.0, train=train)
    more = {**train, "seconds": 200.0, "epochs": 6}
    write_cell(cells_root, CellKey("graph_r52", 5, "pn", 1), outcomes(1, 0.7), test_seconds=2.0, train=more)
    write_cell(cells_root, CellKey("graph_r52", 5, "wl", 0), outcomes(1, 0.7), train=None)
    return Results(find_cells(cells_root))


def test_without_measurements_it_is_what_cells_recorded(results: Results) -> None:
    table = efficiency_table(results, load_paper())
    kernel, network = table.rows
    assert (kernel.title, network.title, network.group) == ("WL", "PN", "Graph-R52 (re-created), 5-shot")
    # 1.5 s over 600 episodes are 2.5 ms.
    assert [value.text for value in network.values] == ["—", "150°", "—", "5", "2.50°", "—", "3°", "10"]
    assert [value.paper for value in network.values] == ["", "727", "", "", "", "50", "", ""]
    assert [value.is_gap for value in kernel.values] == [True, True, True, True, False, True, True, True]
    assert table.frame.filter(pl.col("model") == "pn")["train_seconds"].item() == 150
    assert any(note.startswith("°: not measured alone") for note in table.notes)
    assert not any("nothing else running" in note for note in table.notes)


def test_measurements_come_first_with_their_circumstances(results: Results) -> None:
    kernel = replace(TIMING, model="wl", step_milliseconds=None, epoch_seconds=None, fit_seconds=0.0, unit="")
    new = replace(TIMING, model="sp", prepare_seconds=12.34)
    table = efficiency_table(results, load_paper(), replace(MEASURED, timings=(TIMING, kernel, new)))
    wl, sp, pn = (dict(zip((h.text for h in HEADINGS), row.values, strict=True)) for row in table.rows)
    # 5 epochs of 10 s, however long the cells took beside others.
    assert [value.text for value in pn.values()] == ["0.5", "50", "2.00", "5", "0.12", "3.2", "640", "10"]
    assert (wl["s"].text, wl["ms/episode"].is_gap) == ("0", True)
    assert (sp["once, s"].text, sp["s"].is_gap) == ("12.3", True), "without a cell, no epochs"
    assert sum("on 1 thread of A CPU, commit 0a1b2c, 2026-01-02" in note for note in table.notes) == 1
    assert not any("°" in note for note in table.notes)
    noisy = replace(MEASURED, timings=(TIMING, kernel, replace(new, load=3.0)))
    assert any(
        "while these were measured: sp on graph_r52." in n for n in efficiency_table(results, load_paper(), noisy).notes
    )


def test_without_cells_it_says_what_to_run() -> None:
    assert "fsgc tables run" in efficiency_table(Results([]), load_paper()).hint


def test_the_file(tmp_path: Path) -> None:
    path = tmp_path / "efficiency.json"
    assert Measured.load(path) is None
    MEASURED.save(path)
    assert Measured.load(path) == MEASURED
    path.write_text(path.read_text().replace("load", "lode"))
    with pytest.raises(StoreError, match=r"is damaged .*; delete it and run 'fsgc tables efficiency'"):
        Measured.load(path)


def test_timings_of_one_commit_and_machine_only() -> None:
    later = replace(MEASURED, date="2026-01-03", timings=(replace(TIMING, model="wl"), replace(TIMING, load=1.2)))
    joined = MEASURED.followed_by(later)
    assert [(t.model, t.load) for t in joined.timings] == [("wl", 1.0), ("pn", 1.2)]
    assert [t.model for t in replace(later, timings=later.timings[:1]).followed_by(MEASURED).timings] == ["wl", "pn"]
    for change in ({"commit": "other"}, {"processor": "other"}, {"threads": 2}, {"versions": {"torch": "3"}}):
        assert replace(MEASURED, **change).followed_by(later).timings == later.timings
