"""DVC for real: what `dvc repro` runs, what it does not run, and what it says when it cannot."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from fsgc.data.catalog import dataset
from tests.pipeline.project import FirstRun, Project, leftovers, stores, tree

STAGES = ["download", "graphs", "split", "episodes"]
EXPERIMENT = "triangles_gen-5shot-seed0"
OFF_LINE = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), "http://127.0.0.1:9")


def test_from_clean_all_stages_run_in_order(first_run: FirstRun) -> None:
    assert (first_run.repro.code, first_run.repro.ran) == (0, STAGES), first_run.repro
    outputs = ["raw/triangles_gen", "graphs/triangles_gen.zarr", "splits/triangles_gen-seed0.json"]
    for output in [*outputs, f"episodes/{EXPERIMENT}.zarr"]:
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
    chain = {("download", "graphs"), ("graphs", "split"), ("split", "episodes"), ("episodes", "train")}
    stores = {("graphs", "episodes"), ("graphs", "train"), ("split", "train")}
    test = {("graphs", "evaluate"), ("split", "evaluate"), ("episodes", "evaluate"), ("train", "evaluate")}
    kernels = {("graphs", "kernel"), ("kernel", "train"), ("kernel", "evaluate")}
    gsm = {("graphs", "superclasses"), ("split", "superclasses"), ("superclasses", "train")}
    assert edges == chain | stores | test | kernels | gsm


def test_other_shots_need_other_episodes_only(project: Project) -> None:
    before = stores(project.data)
    project.set_params(shots=3)
    changed = project.repro()
    assert (changed.code, changed.ran, changed.unchanged) == (0, ["episodes"], STAGES[:3])
    assert stores(project.data).items() >= before.items()
    shutil.rmtree(project.data / "episodes")
    project.set_params(shots=5)
    back = project.repro()
    assert (back.code, back.ran, back.restored) == (0, [], ["episodes"])
    assert stores(project.data) == before


def test_another_seed_has_the_same_test_episodes(project: Project) -> None:
    before = stores(project.data, ["splits", "episodes"])
    project.set_params(seed=1)
    changed = project.repro()
    assert (changed.code, changed.ran, changed.unchanged) == (0, ["split", "episodes"], STAGES[:2])
    ours, other = (project.data / "episodes" / f"triangles_gen-5shot-seed{seed}.zarr" for seed in (0, 1))
    assert len(tree(ours / "test")) >= 2
    assert tree(ours / "test") == tree(other / "test")
    assert tree(ours / "train") != tree(other / "train")
    assert tree(ours / "val") != tree(other / "val")
    for kind in ("splits", "episodes"):
        shutil.rmtree(project.data / kind)
    project.set_params(seed=0)
    back = project.repro()
    assert (back.code, back.ran, back.restored) == (0, [], ["split", "episodes"])
    assert stores(project.data, ["splits", "episodes"]) == before


def test_an_edited_module_concerns_the_stages_that_use_it(project: Project) -> None:
    """The line that is added prints, which shows that the stage runs the copy's code, not an installed one's."""
    with (project.root / "fsgc" / "data" / "fetch.py").open("a") as file:
        file.write('\nprint("the fetch of the copy")\n')
    edited = project.repro()
    assert (edited.code, edited.ran, edited.unchanged) == (0, ["download"], STAGES[1:])
    assert "the fetch of the copy" in edited.output
    with (project.root / "fsgc" / "episodes" / "batches.py").open("a") as file:
        file.write("\n# An iterator over stored episodes takes no part in drawing them.\n")
    assert project.repro().unchanged == STAGES


def test_a_dataset_that_the_catalog_lacks(project: Project) -> None:
    """DVC looks the entry up before it runs anything; the stage by itself suggests the nearest name."""
    before = tree(project.data)
    project.set_params(dataset="triangle_gen")
    failed = project.repro()
    assert failed.code != 0
    assert failed.ran == []
    assert "'triangle_gen.files' are missing from 'fsgc/data/catalog.toml'" in failed.errors
    assert "Traceback" not in failed.errors
    stage = project.run("python", "-m", "pipeline.download", "--dataset", "triangle_gen")
    assert stage.returncode == 1
    assert stage.stderr.startswith("Error: unknown dataset 'triangle_gen'; did you mean 'triangles_gen'?")
    assert len(stage.stderr.splitlines()) == 1
    assert tree(project.data) == before


def test_shots_that_do_not_fit(project: Project) -> None:
    before = tree(project.data)
    project.set_params(shots=500)
    failed = project.repro()
    assert failed.code != 0
    assert failed.ran == ["episodes"]
    assert "Error: shots: 500 do not fit 'triangles_gen': its smallest class has 161 train graphs" in failed.errors
    assert "Traceback" not in failed.errors
    assert tree(project.data) == before


def test_off_line_without_a_mirror(project: Project) -> None:
    before = stores(project.data)
    project.set_params(dataset="triangles")
    failed = project.repro(**OFF_LINE)
    assert failed.code != 0
    assert failed.ran == ["download"]
    assert "Error: TRIANGLES.txt could not be obtained. Tried:\n  https://raw.githubusercontent.com" in failed.errors
    assert "FSGC_MIRROR" in failed.errors
    assert "Traceback" not in failed.errors
    assert stores(project.data) == before
    assert {path.name for path in (project.data / ".partial").rglob("*") if path.is_file()} == {"lock"}


def test_an_experiment_of_the_command_line(project: Project) -> None:
    output = project.dvc("exp", "run", "episodes", "--name", "more-shots", "--set-param", "shots=10")
    assert "Ran experiment(s): more-shots" in output
    assert (project.data / "episodes" / "triangles_gen-10shot-seed0.zarr").exists()
    difference = json.loads(project.dvc("params", "diff", "--json"))
    assert {path: list(keys) for path, keys in difference.items()} == {"params.yaml": ["shots"]}
    assert (difference["params.yaml"]["shots"]["old"], difference["params.yaml"]["shots"]["new"]) == (5, 10)


def test_what_a_killed_dvc_may_leave_torn_can_be_deleted(project: Project) -> None:
    """Nothing is lost with `dvc.lock`: every stage comes out of the run cache."""
    before = stores(project.data)
    lock, running = project.root / "dvc.lock", project.root / ".dvc" / "tmp" / "rwlock"
    lock.write_text(lock.read_text()[:3000])
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


@pytest.mark.real
def test_a_real_dataset(project: Project, mirror: Path) -> None:
    project.set_params(dataset="coil_del")
    done = project.repro(FSGC_MIRROR=str(mirror))
    assert (done.code, done.ran) == (0, STAGES), done.errors
    members = {member.name for file in dataset("coil_del").files for member in file.members}
    assert {path.name for path in (project.data / "raw" / "coil_del").iterdir()} == {"manifest.json", *members}
    assert leftovers(project.data) == []
    assert project.repro().unchanged == STAGES
