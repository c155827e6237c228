"""Cells computed for real, on few episodes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.errors import FsgcError, StoreError
from fsgc.experiment import Experiment
from fsgc.methods.kernel.settings import KernelSettings
from fsgc.steps import train
from fsgc.tables import worker
from fsgc.tables.grid import CELLS, CellKey
from fsgc.tables.plan import work_of
from fsgc.tables.status import METRICS, CellStatus, State, minutes_left, status_of
from fsgc.tables.worker import MODELS, compute, main, prepare_stores
from tests.computed_cells import GIN2, PACKAGE, PARAMS, WL2, works_of


def test_computed_cells_are_current_and_tell_everything(project: Path) -> None:
    for name, work in works_of(project).items():
        assert status_of(work, project).state is State.CURRENT
        record = json.loads((project / CELLS / name / METRICS).read_text())
        assert (record["model"], record["shots"], record["episodes"]) == (work.cell.model, work.cell.shots, 20)
        assert record["settings"]["episodes"] == {**PARAMS["episodes"], "test_seed": 0}
        assert set(record["recipes"]) == {"graphs", "split", "episodes", "prepare", "train", "evaluate"}
        assert {"preset", "features", "commit", "versions", "threads", "test_seconds"} <= set(record)
        assert {path.name for path in (project / CELLS / name).iterdir()} >= {
            METRICS,
            "episodes.parquet",
            "scores.zarr",
        }
    wl = json.loads((project / CELLS / WL2 / METRICS).read_text())["settings"]["preparation"]
    assert wl == asdict(KernelSettings())


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that are trained during a test."""
    calls: list[str] = []
    plain = train.run

    def counted(*arguments: Any) -> str:
        calls.append(arguments[1].keys.model)
        return plain(*arguments)

    monkeypatch.setattr(train, "run", counted)
    return calls


def test_what_is_trained_by_this_recipe_is_not_trained_again(project: Path, calls: list[str]) -> None:
    works = [work for work in works_of(project).values() if work.cell.model == "gin"]
    model = project / MODELS / works[0].model
    before = (model / "model.pt").read_bytes()
    shutil.rmtree(project / CELLS)
    compute(works, project)
    assert calls == []
    assert {status_of(work, project).state for work in works} == {State.CURRENT}
    (model / "model.json").write_text("damaged")
    compute(works, project)
    assert calls == ["gin"], "once for both shots"
    (model / "model.pt").unlink()
    compute(works, project)
    assert calls == ["gin", "gin"]
    assert (model / "model.pt").read_bytes() == before
    (model / "trained_from.json").unlink()
    compute(works, project)
    assert calls == ["gin"] * 3, "nobody knows from what data it is"


@pytest.mark.parametrize(
    ("section", "change", "trained"),
    [
        ("split", {"held_out_share": 0.3}, ["gin"]),
        ("episodes", {**PARAMS["episodes"], "val": 7}, ["gin"]),
        ("episodes", {**PARAMS["episodes"], "test": 21}, []),
    ],
)
def test_a_model_is_trained_again_when_the_data_it_learns_from_are_others(
    project: Path, calls: list[str], section: str, change: dict[str, Any], trained: list[str]
) -> None:
    (project / "params.yaml").write_text(yaml.safe_dump({**PARAMS, section: change}))
    works = [work for work in works_of(project).values() if work.cell.model == "gin"]
    assert prepare_stores(works, project) == []
    compute(works, project)
    assert calls == trained
    assert {status_of(work, project).state for work in works} == {State.CURRENT}


def test_a_method_whose_store_fails_stops_no_other_of_its_dataset(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = list(works_of(project).values())
    made: list[str] = []

    def ensure(_: object, experiment: Experiment) -> None:
        if experiment.keys.model == "wl":
            raise StoreError("a graph has no edge")
        made.append(experiment.keys.model)

    monkeypatch.setattr(worker, "ensure_stores", ensure)
    first = sorted(works, key=lambda work: work.cell.model != "wl")
    assert prepare_stores(first, project) == ["a graph has no edge"]
    assert set(made) == {"gin"}


@pytest.mark.parametrize("edited", ["fsgc/methods/transfer.py", "fsgc/steps/evaluate.py"])
def test_code_that_has_changed_since_the_run_began_is_not_recorded(
    project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    """The process has the old code in memory; the recipes would be those of the new files."""
    file = PACKAGE.parent / edited
    works = [work for work in works_of(project).values() if work.cell.model == "gin"]
    shutil.rmtree(project / MODELS / works[0].model)
    monkeypatch.setattr(worker, "STARTED", file.stat().st_mtime - 1)
    newer = [path for path in PACKAGE.rglob("*.py") if path.stat().st_mtime > worker.STARTED]
    told = f"fsgc.{edited.removeprefix('fsgc/').removesuffix('.py').replace('/', '.')}"
    assert file in newer
    with pytest.raises(FsgcError, match=rf"^the code has changed since this run began \(.*{told}.*; begin another$"):
        compute(works, project)
    assert calls == [], "a model would be taken for one of the new code"


def test_a_model_that_serves_several_cells_is_trained_once() -> None:
    five, ten = (CellKey("enzymes", shots, "gin", 0) for shots in (5, 10))
    known = CellStatus(CellKey("enzymes", 5, "gin", 1), State.CURRENT, seconds=100, training=90)
    missing = [CellStatus(cell, State.MISSING) for cell in (five, ten)]
    assert minutes_left([known, *missing], dict.fromkeys((five, ten), "gin")) == pytest.approx((90 + 2 * 10) / 60)
    assert minutes_left([known, *missing], {five: "gin-5", ten: "gin-10"}) == pytest.approx(2 * 100 / 60)


def test_what_cannot_be_computed_is_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)
    monkeypatch.chdir(project)
    for names in ([], ["../../docs"], [GIN2, "x"]):
        assert main(names) == 1
        assert capsys.readouterr().out == f"Error: these are not names of cells: {' '.join(names)}\n"
    assert main(["enzymes-5shot-gin-seed0"]) == 1
    assert capsys.readouterr().out.startswith("Error: tables/data/graphs/enzymes.zarr does not exist")
    Path("params.yaml").write_text("[")
    assert main([GIN2]) == 1
    assert capsys.readouterr().out.startswith("Error: params.yaml is not valid YAML")


def test_a_worker_ends_when_its_parent_closes_the_pipe() -> None:
    script = (
        "import time; from fsgc.tables.worker import _end_with_parent; _end_with_parent(); print('on', flush=True); "
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script + "time.sleep(3600)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "on\n"
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(timeout=300) == 1
    process.stdout.close()


def test_the_experiment_of_a_cell_is_that_of_its_name() -> None:
    work = work_of(CellKey("enzymes", 10, "gsm", 3, "degree"), PARAMS)
    keys = work.experiment.keys
    assert (keys.dataset, keys.shots, keys.model, keys.seed, keys.features) == ("enzymes", 10, "gsm", 3, "degree")
