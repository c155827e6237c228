from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fsgc.api import load_episodes
from fsgc.data.catalog import load_catalog
from fsgc.episodes.settings import EpisodeSettings
from fsgc.report.overview import dataset_table
from fsgc.report.paper import load_paper
from fsgc.workspace import Workspace


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
