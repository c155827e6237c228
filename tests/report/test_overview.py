from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fsgc.api import load_episodes
from fsgc.data.catalog import load_catalog
from fsgc.episodes.settings import EpisodeSettings
from fsgc.report.cells import find_cells
from fsgc.report.overview import dataset_table, efficiency_table
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from fsgc.workspace import Workspace
from tests.report.made_cells import outcomes, write_cell


def test_the_datasets_beside_the_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path))
    load_episodes(
        "triangles_gen", 5, settings=EpisodeSettings(queries=3, train_epochs=1, train_per_epoch=2, val=2, test=2)
    )
    table = dataset_table(load_paper(), Workspace.find())
    rows = {row.title: row for row in table.rows}
    catalog = load_catalog()
    assert set(rows) == {entry.title for entry in catalog.values() if not entry.variant_of}
    coil = rows["COIL-DEL"].values
    assert [(value.text, value.paper) for value in coil[:4]] == [
        ("3,900", "3,900"),
        ("100", "96"),
        ("21.54", "21.54"),
        ("54.24", "54.24"),
    ]
    assert [value.text for value in coil[4:]] == ["5", "64", "16", "20", "—", "—"]
    assert rows["TRIANGLES (generated)"].values[-2].text == "3/3/3"
    frame = table.frame.filter(pl.col("dataset") == "triangles_gen")
    assert frame["queries_5shot"].item() == "3/3/3"
    assert frame["paper_nodes"].item() is None


def test_a_damaged_episode_store_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "episodes" / "triangles_gen-5shot-seed0.zarr").mkdir(parents=True)
    rows = {row.title: row for row in dataset_table(load_paper(), Workspace(tmp_path)).rows}
    assert rows["TRIANGLES (generated)"].values[-2].is_gap


def test_times_are_means_over_seeds_beside_the_papers(cells_root: Path) -> None:
    train = {"seconds": 100.0, "epochs": 4, "parameters": 10, "peak_memory": 3_000_000}
    write_cell(cells_root, CellKey("graph_r52", 5, "pn", 0), outcomes(0, 0.7), test_seconds=1.0, train=train)
    more = {**train, "seconds": 200.0}
    write_cell(cells_root, CellKey("graph_r52", 5, "pn", 1), outcomes(1, 0.7), test_seconds=2.0, train=more)
    write_cell(cells_root, CellKey("graph_r52", 5, "wl", 0), outcomes(1, 0.7), train=None)
    table = efficiency_table(Results(find_cells(cells_root)), load_paper())
    kernel, network = table.rows
    assert (kernel.title, network.title, network.group) == ("WL", "PN", "Graph-R52 (re-created), 5-shot")
    # 1.5 s over 600 episodes are 2.5 ms.
    assert [value.text for value in network.values] == ["150", "2.50", "3", "10", "4"]
    assert [value.paper for value in network.values] == ["727", "50", "", "", ""]
    assert [value.is_gap for value in kernel.values] == [True, False, True, True, True]
    assert table.frame.filter(pl.col("model") == "pn")["train_seconds"].item() == 150


def test_without_cells_it_says_what_to_run() -> None:
    assert "fsgc tables run" in efficiency_table(Results([]), load_paper()).hint
