"""No cell is computed from a store that is not what the code and settings at hand make."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.cluster.task import Orders
from fsgc.errors import StoreError
from fsgc.files import remove
from fsgc.tables import worker
from fsgc.tables.grid import CELLS
from fsgc.tables.plan import Work, load_works
from fsgc.tables.runner import Runner, by_model
from fsgc.tables.stores import check_stores, made_stages
from fsgc.tables.worker import STORES_ONLY, main
from tests.small_tables import PARAMS, make_project

LISTS = {"datasets": ["triangles_gen"], "shots": [2], "models": ["wl"], "seeds": [0]}
WL = "triangles_gen-2shot-wl-seed0"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the stores of a cell."""
    project = tmp_path_factory.mktemp("project")
    make_project(project, PARAMS, LISTS)
    return project


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(project)
    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)
    return project


def _steps(work: Work) -> str:
    return " ".join(stage.split("@")[0] for stage in made_stages(work))


def _change(params: dict[str, Any]) -> Work:
    Path("params.yaml").write_text(yaml.safe_dump({**PARAMS, **params}))
    return load_works()[0]


@pytest.mark.usefixtures("project")
def test_stores_that_were_just_made_are_fine() -> None:
    work = load_works()[0]
    check_stores([work])
    assert _steps(work) == "download graphs split episodes prepare"


@pytest.mark.parametrize(
    ("change", "store", "steps"),
    [
        ({"split": {"held_out_share": 0.3}}, "splits/triangles_gen-seed0.json", "download graphs episodes"),
        (
            {"episodes": {**PARAMS["episodes"], "val": 7}},
            "episodes/triangles_gen-2shot-seed0.zarr",
            "download graphs split prepare",
        ),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_cell_is_not_computed_from_stores_of_other_settings(
    capsys: pytest.CaptureFixture[str], change: dict[str, Any], store: str, steps: str
) -> None:
    """As when making them anew has failed, or when the settings are edited while a run goes on."""
    work = _change(change)
    assert _steps(work) == steps
    assert main([WL]) == 1
    assert (
        f"Error: tables/data/{store} was made by other code or settings; 'fsgc tables run'" in capsys.readouterr().out
    )
    assert not CELLS.exists()
    with pytest.raises(StoreError, match="was made by other code or settings"):
        Orders(PARAMS).of(by_model([work])[work.model])
    assert main([STORES_ONLY, WL]) == 0
    assert main([WL]) == 0
    assert (CELLS / WL / "metrics.json").exists()


@pytest.mark.parametrize(
    ("place", "differs"),
    [("graphs/triangles_gen.zarr", False), ("splits/triangles_gen-seed0.json", True)],  # graphs are in no split's hands
)
@pytest.mark.usefixtures("project")
def test_a_store_that_something_else_has_put_there_is_known_by_its_content(
    tmp_path: Path, place: str, differs: bool
) -> None:
    """DVC writes no notes: after it has made a store of other settings, that of these is not taken for there."""
    other = tmp_path / "other"
    make_project(other, {**PARAMS, "split": {"held_out_share": 0.3}}, LISTS)
    path = Path("tables") / "data" / place
    before = [each.read_bytes() for each in _files(path)]
    remove(path)
    theirs = other / path
    shutil.copytree(theirs, path) if theirs.is_dir() else shutil.copy(theirs, path)
    if not differs:
        check_stores(load_works())
        return
    with pytest.raises(StoreError, match=f"{place} was made by other code or settings"):
        check_stores(load_works())
    assert main([STORES_ONLY, WL]) == 0
    assert [each.read_bytes() for each in _files(path)] == before


def _files(path: Path) -> list[Path]:
    return sorted(each for each in (path, *path.rglob("*")) if each.is_file())


@pytest.mark.usefixtures("project")
def test_what_could_not_be_made_is_told_and_not_recorded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = _change({"split": {"held_out_share": 0.3}})
    runner = Runner(1)
    recorded: list[str] = []
    monkeypatch.setattr(runner.dvc, "repro", lambda *_: None)
    monkeypatch.setattr(runner.dvc, "commit", lambda *targets, **_: recorded.extend(targets))
    monkeypatch.setattr("fsgc.tables.processes.Worker.compute", lambda *_: "No space left on device")
    runner.prepare([work])
    assert capsys.readouterr().err == "Not all stores could be made: No space left on device\n"
    assert [stage.split("@")[0] for stage in recorded] == ["download", "graphs", "episodes"]


@pytest.mark.usefixtures("project")
def test_what_cannot_be_recorded_in_dvc_is_computed_all_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Runner(1)

    def locked(*_: object, **__: object) -> None:
        raise StoreError("Unable to acquire lock")

    monkeypatch.setattr(runner.dvc, "commit", locked)
    runner.record(load_works())
    assert capsys.readouterr().err.endswith("the next run records it: Unable to acquire lock\n")
