"""DVC for real: what `dvc repro` runs, what it does not run, and what it says when it cannot."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fsgc.data.catalog import dataset
from fsgc.episodes.store import EpisodeStore
from tests.pipeline.project import STORES, FirstRun, Project, leftovers, stores, tree

STAGES = ["recipes", "download", "graphs", "split", "episodes"]
OFF_LINE = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), "http://127.0.0.1:9")


def test_from_clean_all_stages_run_in_order(first_run: FirstRun) -> None:
    assert (first_run.repro.code, first_run.repro.ran) == (0, STAGES), first_run.repro
    for output in ("recipes", *STORES):
        assert (first_run.project.data / output).exists()
    assert leftovers(first_run.project.data) == []


def test_git_sees_a_new_lock_file_and_nothing_else(first_run: FirstRun) -> None:
    """Neither the outputs nor a `.gitignore` of DVC's: `data/.gitignore` covers all."""
    assert first_run.changed == ["dvc.lock"]


def test_a_second_run_has_nothing_to_do(project: Project) -> None:
    again = project.repro()
    assert (again.code, again.ran, again.restored, again.unchanged) == (0, [], [], STAGES)
    assert "up to date" in project.dvc("status", "episodes", "--with-deps")
    assert project.ok("git", "status", "--porcelain") == ""


def test_the_picture(project: Project) -> None:
    edges = set(re.findall(r'"(\w+)" -> "(\w+)"', project.dvc("dag", "--dot")))
    recipes = {("recipes", name) for name in (*STAGES[1:], "prepare", "train", "evaluate")}
    chain = {("download", "graphs"), ("graphs", "split"), ("split", "episodes"), ("graphs", "episodes")}
    prepared = {("graphs", "prepare"), ("prepare", "train"), ("prepare", "evaluate")}
    method = {(name, stage) for name in ("graphs", "split", "episodes") for stage in ("train", "evaluate")}
    assert edges == recipes | chain | prepared | method | {("train", "evaluate")}


def test_other_shots_need_other_episodes_only(project: Project) -> None:
    before = stores(project.data)
    project.set_params(shots=3)
    changed = project.repro()
    assert (changed.code, changed.ran, changed.unchanged) == (0, ["recipes", "episodes"], STAGES[1:4])
    assert stores(project.data, STORES[:3]).items() <= before.items()
    project.set_params(shots=5)
    back = project.repro()
    assert (back.code, back.ran, back.restored) == (0, [], ["recipes", "episodes"])
    assert stores(project.data) == before


@pytest.mark.long
def test_another_seed_has_the_same_test_episodes(project: Project) -> None:
    ours = project.data / "episodes.zarr"
    before = {part: tree(ours / part) for part in ("test", "train", "val")}
    assert len(before["test"]) >= 2
    project.set_params(seed=1)
    changed = project.repro()
    assert (changed.code, changed.ran, changed.unchanged) == (0, ["recipes", "split", "episodes"], STAGES[1:3])
    assert tree(ours / "test") == before["test"]
    assert tree(ours / "train") != before["train"]
    assert tree(ours / "val") != before["val"]


def test_an_edited_module_concerns_the_stages_that_use_it(project: Project) -> None:
    """The line that is added prints, which shows that the stage runs the copy's code, not an installed one's."""
    with (project.root / "fsgc" / "data" / "fetch.py").open("a") as file:
        file.write('\nprint("the fetch of the copy")\n')
    edited = project.repro()
    assert (edited.code, edited.ran, edited.unchanged) == (0, ["recipes", "download"], STAGES[2:])
    assert "the fetch of the copy" in edited.output


def test_a_misspelt_experiment_is_refused_before_any_stage(project: Project) -> None:
    before, lock = tree(project.data), (project.root / "dvc.lock").read_bytes()
    project.set_params(model="pn_tea")
    failed = project.repro("evaluate")
    assert failed.code != 0
    assert failed.ran == ["recipes"]
    assert "Error: model: unknown method 'pn_tea'; did you mean 'pn_tae'?" in failed.errors
    assert "Traceback" not in failed.errors
    assert (project.root / "dvc.lock").read_bytes() == lock
    del_recipes = {name: content for name, content in before.items() if not name.startswith("recipes/")}
    assert tree(project.data).items() >= del_recipes.items()


def test_shots_that_do_not_fit(project: Project) -> None:
    before = stores(project.data, STORES[:3])
    project.set_params(shots=500)
    failed = project.repro()
    assert failed.code != 0
    assert failed.ran == ["recipes", "episodes"]
    assert "Error: shots: 500 do not fit 'triangles_gen': its smallest class has 161 train graphs" in failed.errors
    assert "Traceback" not in failed.errors
    assert stores(project.data, STORES[:3]) == before


def test_off_line_without_a_mirror(project: Project) -> None:
    project.set_params(dataset="triangles")
    failed = project.repro(**OFF_LINE)
    assert failed.code != 0
    assert failed.ran == ["recipes", "download"]
    assert "Error: TRIANGLES.txt could not be obtained. Tried:\n  https://raw.githubusercontent.com" in failed.errors
    assert "FSGC_MIRROR" in failed.errors
    assert "Traceback" not in failed.errors
    assert {path.name for path in (project.data / ".partial").rglob("*") if path.is_file()} == {"lock"}


@pytest.mark.long
def test_an_experiment_of_the_command_line(project: Project) -> None:
    output = project.dvc("exp", "run", "episodes", "--name", "more-shots", "--set-param", "shots=10")
    assert "Ran experiment(s): more-shots" in output
    assert "Running stage 'graphs'" not in output
    assert EpisodeStore.open(project.data / "episodes.zarr").shots == 10
    difference = json.loads(project.dvc("params", "diff", "--json"))
    assert {path: list(keys) for path, keys in difference.items()} == {"params.yaml": ["shots"]}
    assert (difference["params.yaml"]["shots"]["old"], difference["params.yaml"]["shots"]["new"]) == (5, 10)


def test_what_a_killed_dvc_may_leave_torn_can_be_deleted(project: Project) -> None:
    """Nothing is lost with `dvc.lock`: every stage comes out of the run cache."""
    before = stores(project.data)
    lock, running = project.root / "dvc.lock", project.root / ".dvc" / "tmp" / "rwlock"
    text = lock.read_text()
    lock.write_text(text[: text.rindex("deps:") + len("deps:")])
    assert "'./dvc.lock' validation failed" in project.repro().errors
    project.mend()
    assert not lock.exists()
    running.write_text('{"read": {')
    assert "Unable to read RWLock-file '.dvc/tmp/rwlock'" in project.repro().errors
    project.mend()
    mended = project.repro()
    assert (mended.code, mended.ran, mended.restored) == (0, [], STAGES)
    assert stores(project.data) == before
    assert project.ok("git", "status", "--porcelain") == ""


@pytest.mark.long
@pytest.mark.real
def test_a_real_dataset(project: Project, mirror: Path) -> None:
    project.set_params(dataset="coil_del")
    done = project.repro(FSGC_MIRROR=str(mirror))
    assert (done.code, done.ran) == (0, STAGES), done.errors
    members = {member.name for file in dataset("coil_del").files for member in file.members}
    assert {path.name for path in (project.data / "raw").iterdir()} == {"manifest.json", *members}
    assert leftovers(project.data) == []
    assert project.repro().unchanged == STAGES
