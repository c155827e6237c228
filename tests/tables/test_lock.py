from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.lock import LOCK, unrecorded
from fsgc.tables.plan import Work, work_of


@pytest.fixture
def works(tmp_path: Path) -> list[Work]:
    """Two cells of one model and one of another, with files."""
    keys = [("gin", 2), ("gin", 3), ("wl", 2)]
    works = [work_of(CellKey("triangles_gen", shots, model, 0), {}) for model, shots in keys]
    for work in works:
        model, cell = tmp_path / TABLES / "models" / work.model, tmp_path / CELLS / work.cell.name
        for directory, names in (
            (model, ("model.pt", "model.json")),
            (cell, ("metrics.json", "outcomes.bin", "episodes.parquet", "scores.zarr")),
        ):
            directory.mkdir(parents=True, exist_ok=True)
            for name in names:
                (directory / name).write_text(f"{directory.name} {name}")
    return works


def _write_lock(project: Path, works: list[Work]) -> None:
    stages: dict[str, Any] = {}
    for work in works:
        for stage, place in (
            (f"train@{work.model}", f"models/{work.model}/model.json"),
            (f"evaluate@{work.cell.name}", f"cells/{work.cell.name}/metrics.json"),
        ):
            content = (project / TABLES / place).read_bytes()
            stages[stage] = {"cmd": "x", "outs": [{"path": place, "md5": hashlib.md5(content).hexdigest(), "size": 1}]}
    (project / LOCK).write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))


def test_without_a_lock_nothing_is_recorded(tmp_path: Path, works: list[Work]) -> None:
    assert unrecorded(works, tmp_path) == works


def test_what_the_lock_names_is_recorded(tmp_path: Path, works: list[Work]) -> None:
    _write_lock(tmp_path, works)
    assert unrecorded(works, tmp_path) == []
    _write_lock(tmp_path, works[:1])
    assert unrecorded(works, tmp_path) == works[1:]


def test_files_that_were_written_since_are_not_recorded(tmp_path: Path, works: list[Work]) -> None:
    _write_lock(tmp_path, works)
    (tmp_path / CELLS / works[1].cell.name / "metrics.json").write_text("new")
    assert unrecorded(works, tmp_path) == works[1:2]
    (tmp_path / TABLES / "models" / works[2].model / "model.json").write_text("new")
    assert unrecorded(works, tmp_path) == works[1:]


@pytest.mark.parametrize("name", ["metrics.json", "outcomes.bin", "episodes.parquet", "scores.zarr"])
def test_a_clone_without_all_files_has_nothing_to_record(tmp_path: Path, works: list[Work], name: str) -> None:
    (tmp_path / CELLS / works[0].cell.name / name).unlink()
    (tmp_path / TABLES / "models" / works[2].model / "model.pt").unlink()
    assert unrecorded(works, tmp_path) == works[1:2]


@pytest.mark.parametrize("text", ["", "[", "5", "stages:", "stages: {a: 5}", "stages: {a: {outs: [x]}}", "\0"])
def test_a_damaged_lock_records_nothing(tmp_path: Path, works: list[Work], text: str) -> None:
    (tmp_path / LOCK).write_text(text)
    assert unrecorded(works, tmp_path) == works
