"""Cells computed for real, on few episodes, and what is said of them afterwards."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.errors import FsgcError, StoreError
from fsgc.evaluation.outcomes import OUTCOMES
from fsgc.experiment import Experiment
from fsgc.methods.kernel.settings import KernelSettings
from fsgc.report.cells import find_cells
from fsgc.steps import train
from fsgc.tables import worker
from fsgc.tables.grid import CELLS, CellKey
from fsgc.tables.plan import Work, load_works, work_of
from fsgc.tables.status import FAILED, METRICS, CellStatus, State, minutes_left, recorded_times, status_of
from fsgc.tables.worker import MODELS, compute, main, prepare_stores
from tests.small_tables import PARAMS as SMALL
from tests.small_tables import make_project

PARAMS: dict[str, Any] = {**SMALL, "train": {"default": {"max_epochs": 1, "accelerator": "cpu"}}}
LISTS = {"datasets": ["triangles_gen"], "shots": [2, 3], "models": ["gin", "wl"], "seeds": [0]}


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with four cells, all computed."""
    project = tmp_path_factory.mktemp("project")
    works = make_project(project, PARAMS, LISTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        for model in ("gin", "wl"):
            compute([work for work in works if work.cell.model == model], project)
    return project


@pytest.fixture
def project(computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(computed, tmp_path / "project")


def _works(project: Path) -> dict[str, Work]:
    return {work.cell.name: work for work in load_works(project)}


def _edit(project: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    path = project / CELLS / name / METRICS
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


PACKAGE = Path(worker.__file__).parents[1]
GIN2, GIN3, WL2 = (f"triangles_gen-{cell}-seed0" for cell in ("2shot-gin", "3shot-gin", "2shot-wl"))


def test_computed_cells_are_current_and_tell_everything(project: Path) -> None:
    for name, work in _works(project).items():
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
    works = [work for work in _works(project).values() if work.cell.model == "gin"]
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
    works = [work for work in _works(project).values() if work.cell.model == "gin"]
    assert prepare_stores(works, project) == []
    compute(works, project)
    assert calls == trained
    assert {status_of(work, project).state for work in works} == {State.CURRENT}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"transfer": {"default": {"head_lr": 0.5}}}, "method.head_lr was 0.01, is 0.5"),
        ({"episodes": {**PARAMS["episodes"], "test": 21}}, "episodes.test was 20, is 21"),
        ({"split": {"held_out_share": 0.3}}, "split.held_out_share was 0.2, is 0.3"),
        ({"train": {"default": {**PARAMS["train"]["default"], "patience": 3}}}, "train.patience was 10, is 3"),
    ],
)
def test_a_changed_setting_makes_a_cell_stale_and_is_named(project: Path, change: dict[str, Any], reason: str) -> None:
    (project / "params.yaml").write_text(yaml.safe_dump({**PARAMS, **change}))
    found = status_of(_works(project)[GIN2], project)
    assert (found.state, found.reasons) == (State.STALE, (reason,))
    assert found.seconds is not None
    if "transfer" in change:
        assert status_of(_works(project)[WL2], project).state is State.CURRENT


def test_changed_code_makes_a_cell_stale_and_is_named(project: Path) -> None:
    def older(record: dict[str, Any]) -> None:
        record["code"]["fsgc.nn.heads"] = "0" * 16
        record["recipes"]["train"] = "0" * 16
        del record["code"]["fsgc.nn.segments"]

    _edit(project, GIN2, older)
    found = status_of(_works(project)[GIN2], project)
    assert (found.state, found.reasons) == (State.STALE, ("code of fsgc.nn.heads", "code of fsgc.nn.segments"))


def test_a_difference_of_another_kind_names_the_step(project: Path) -> None:
    _edit(project, GIN2, lambda record: record["recipes"].update(graphs="0" * 16))
    assert status_of(_works(project)[GIN2], project).reasons == ("the recipe of graphs",)


def test_missing_and_failed_cells(project: Path) -> None:
    works = _works(project)
    shutil.rmtree(project / CELLS / GIN2)
    assert status_of(works[GIN2], project) == CellStatus(works[GIN2].cell, State.MISSING)
    mark = project / FAILED / f"{GIN2}.json"
    mark.parent.mkdir()
    mark.write_text(json.dumps({"reason": "the loss is NaN"}))
    assert status_of(works[GIN2], project) == CellStatus(works[GIN2].cell, State.FAILED, ("the loss is NaN",))
    mark.write_text("{")
    assert status_of(works[GIN2], project).reasons == (f"{mark} does not say why",)
    mark.rename(mark.with_name(f"{GIN3}.json"))
    assert status_of(works[GIN3], project).state is State.CURRENT, "computed since, for instance by 'dvc repro'"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b'"text"', b"{}", b'{"test_seconds": "x", "train": {"seconds": 1}}', b"null", b"5"],
)
def test_a_damaged_record_is_said_to_be(project: Path, content: bytes) -> None:
    (project / CELLS / GIN2 / METRICS).write_bytes(content)
    found = status_of(_works(project)[GIN2], project)
    assert found.state is State.DAMAGED
    assert "delete it and compute it again" in found.reasons[0]


def test_a_record_without_its_outcomes_is_damaged_here_as_in_the_tables(project: Path) -> None:
    path = project / CELLS / GIN2 / OUTCOMES
    path.write_bytes(path.read_bytes()[:-1])
    found = status_of(_works(project)[GIN2], project)
    assert found.state is State.DAMAGED
    assert "outcomes.bin is damaged (its SHA-256 is another)" in found.reasons[0]
    path.unlink()
    found = status_of(_works(project)[GIN2], project)
    assert found.state is State.DAMAGED
    assert "outcomes.bin does not exist" in found.reasons[0]
    (shown,) = [cell for cell in find_cells(project / CELLS) if cell.key.name == GIN2]
    assert shown.state is State.DAMAGED


def test_what_failed_and_was_computed_since_is_shown_as_computed(project: Path) -> None:
    mark = project / FAILED / f"{GIN2}.json"
    mark.parent.mkdir()
    mark.write_text(json.dumps({"reason": "the loss is NaN", "command": "x"}))
    assert {cell.state for cell in find_cells(project / CELLS)} == {State.CURRENT}
    _edit(project, GIN2, lambda record: record["recipes"].update(graphs="0" * 16))
    (shown,) = [cell for cell in find_cells(project / CELLS) if cell.key.name == GIN2]
    assert (shown.state, getattr(shown, "reason", "")) == (State.FAILED, "the loss is NaN")


def test_a_method_whose_store_fails_stops_no_other_of_its_dataset(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = list(_works(project).values())
    made: list[str] = []

    def ensure(_: object, experiment: Experiment) -> None:
        if experiment.keys.model == "wl":
            raise StoreError("a graph has no edge")
        made.append(experiment.keys.model)

    monkeypatch.setattr(worker, "ensure_stores", ensure)
    first = sorted(works, key=lambda work: work.cell.model != "wl")
    assert prepare_stores(first, project) == ["a graph has no edge"]
    assert set(made) == {"gin"}


@pytest.mark.parametrize("name", ["recipes", "code", "settings", "train", "test_seconds"])
@pytest.mark.parametrize("value", [None, 5, "x", [1], {}, [["a", "b"]]])
def test_a_record_with_a_part_of_another_kind_is_not_current(project: Path, name: str, value: Any) -> None:
    _edit(project, GIN2, lambda record: record.update({name: value}))
    found = status_of(_works(project)[GIN2], project)
    if (name, value) != ("test_seconds", 5) and name not in ("code", "settings"):
        assert found.state in (State.DAMAGED, State.STALE)


def test_the_time_that_is_left() -> None:
    seeds = itertools.count()

    def cell(model: str, state: State, seconds: float | None = None) -> CellStatus:
        return CellStatus(CellKey("enzymes", 5, model, next(seeds)), state, seconds=seconds)

    def left_of(statuses: list[CellStatus]) -> float | None:
        return minutes_left(statuses, {each.cell: each.cell.name for each in statuses})

    assert left_of([cell("pn", State.MISSING)]) is None
    done = [cell("pn", State.CURRENT, each) for each in (60, 120, 600)] + [cell("wl", State.CURRENT, 6)]
    assert left_of(done) == 0
    # As before; as the median of its method (pn: of 60, 120, 180 and 600); as the median of all.
    left = [cell("pn", State.STALE, 180), cell("pn", State.MISSING), cell("gin", State.FAILED)]
    assert left_of(done + left) == pytest.approx((180 + 150 + 120) / 60)


@pytest.mark.parametrize("edited", ["fsgc/methods/transfer.py", "fsgc/steps/evaluate.py"])
def test_code_that_has_changed_since_the_run_began_is_not_recorded(
    project: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    """The process has the old code in memory; the recipes would be those of the new files."""
    file = PACKAGE.parent / edited
    works = [work for work in _works(project).values() if work.cell.model == "gin"]
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


def test_the_time_of_cells_not_asked_for_counts(project: Path) -> None:
    """With `--only`, cells that are missing are compared with all that are recorded."""
    (project / CELLS / GIN3 / METRICS).write_text("{")
    works = _works(project)
    others = recorded_times({works[GIN2].cell}, project)
    assert {each.cell.model for each in others} == {"wl"}, "all but the one that is asked for and a damaged one"
    assert minutes_left([CellStatus(works[GIN2].cell, State.MISSING), *others], {works[GIN2].cell: "gin"})


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
