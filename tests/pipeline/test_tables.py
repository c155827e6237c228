"""The tables' own DVC repository, run for real on generated graphs with small settings."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from tests.pipeline.project import TINY, Project, copy_project, tree

GIN2, GIN3, WL2 = (f"triangles_gen-{cell}-seed0" for cell in ("2shot-gin", "3shot-gin", "2shot-wl"))
BLOCKS = {
    "transfer": {"datasets": ["triangles_gen"], "shots": [2, 3], "models": ["gin"], "seeds": [0]},
    "kernels": {"datasets": ["triangles_gen"], "shots": [2], "models": ["wl"], "seeds": [0, 1]},
}


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three cells, computed and committed."""
    project = copy_project(tmp_path_factory.mktemp("tables") / "project")
    project.set_tables(**BLOCKS)
    project.set_params(dataset="triangles_gen", model="wl", shots=2, seed=0, **TINY)
    project.commit()
    done = project.fsgc("tables", "run", "-j", "2")
    assert done.code == 0, done
    changed = {line[3:] for line in project.ok("git", "status", "--porcelain", "--untracked-files=all").splitlines()}
    cells = {f"tables/cells/{cell}/metrics.json" for cell in (GIN2, GIN3, WL2)}
    assert changed >= cells | {"tables/dvc.lock", "tables/plan.yaml"}
    assert all(name.startswith("tables/") for name in changed)
    project.commit()
    return project


@pytest.fixture
def project(computed: Project, tmp_path: Path) -> Iterator[Project]:
    """The computed cells; after a test they are as before."""
    kept = shutil.copytree(computed.root / "tables", tmp_path / "kept")
    yield computed
    computed.restore()
    shutil.rmtree(computed.root / "tables")
    shutil.copytree(kept, computed.root / "tables")


def _written(project: Project) -> dict[str, int]:
    """When the record of each cell was written last."""
    cells = project.root / "tables" / "cells"
    return {path.name: (path / "metrics.json").stat().st_mtime_ns for path in cells.iterdir()}


def test_every_cell_is_computed_and_dvc_has_nothing_to_do(project: Project) -> None:
    tables = project.root / "tables"
    assert set(_written(project)) == {GIN2, GIN3, WL2}, "the kernel is one cell for both seeds"
    assert {path.name for path in (tables / "models").iterdir()} == {"triangles_gen-gin-seed0", "triangles_gen-wl"}
    for cell, model, shots in ((GIN2, "gin", 2), (GIN3, "gin", 3), (WL2, "wl", 2)):
        record = json.loads((tables / "cells" / cell / "metrics.json").read_text())
        assert (record["model"], record["shots"], record["episodes"]) == (model, shots, 20)
    again = project.tables("repro")
    assert (again.code, again.ran, again.restored) == (0, [], []), again
    assert "up to date" in project.tables("status").output
    assert project.ok("git", "status", "--porcelain") == ""
    shown = json.loads(project.tables("metrics", "show", "--json").output)[""]["data"]
    assert {f"cells/{cell}/metrics.json" for cell in (GIN2, GIN3, WL2)} == set(shown)


def test_status_tells_what_is_current_and_why_not(project: Project) -> None:
    assert project.fsgc("tables", "status").output.strip() == "3 current"
    with (project.root / "fsgc" / "methods" / "kernel" / "machines.py").open("a") as file:
        file.write("\nMORE = 1\n")
    params = yaml.safe_load((project.root / "params.yaml").read_text())
    params["transfer"]["default"] = {"head_lr": 0.5}
    (project.root / "params.yaml").write_text(yaml.safe_dump(params))
    said = " ".join(project.fsgc("tables", "status").output.split())
    assert "code of fsgc.methods.kernel.machines" in said
    assert "method.head_lr was 0.01, is 0.5" in said
    assert "3 stale" in said
    assert "minutes of one core are left" in said


def test_a_cell_that_fails_says_why_stops_no_other_and_is_tried_again(project: Project) -> None:
    path = project.root / "params.yaml"
    good = path.read_text()
    broken = yaml.safe_load(good)
    broken["transfer"]["default"] = {"lr": 1e30}
    broken["svc"]["default"]["c"] = 2.0  # so that the other cell has something to do as well
    path.write_text(yaml.safe_dump(broken))
    before = _written(project)
    failed = project.fsgc("tables", "run")
    assert failed.code == 1
    assert "2 of 3 cells failed; the next run tries them again" in failed.errors
    assert "Traceback" not in failed.errors
    mark = project.root / "tables" / "failed" / f"{GIN2}.json"
    assert "the loss is" in json.loads(mark.read_text())["reason"]
    assert _written(project)[WL2] > before[WL2]
    status = " ".join(project.fsgc("tables", "status").output.split())
    assert "1 current, 2 failed" in status
    path.write_text(good)
    status = " ".join(project.fsgc("tables", "status", "--only", "*gin*").output.split())
    assert status == "2 current", "what was computed with these settings is still there"


@pytest.mark.parametrize(
    ("phase", "by"),
    [
        pytest.param("pipeline.tables", signal.SIGTERM, marks=pytest.mark.long),
        ("fsgc.tables.worker", signal.SIGKILL),
    ],
)
def test_a_run_that_ends_leaves_no_process_and_the_next_one_finishes(
    project: Project, phase: str, by: signal.Signals
) -> None:
    """Ended while DVC notes the recipes, and while a worker computes; what is to do is the row of a changed method."""
    before = _written(project)
    with (project.root / "fsgc" / "methods" / "kernel" / "machines.py").open("a") as file:
        file.write("\nMORE = 1\n")
    settings = project.root / "params.yaml"
    settings.write_text(settings.read_text() + f"# {phase} {by}\n")  # so that the recipes are noted anew
    run = subprocess.Popen(
        [sys.executable, "-m", "fsgc", "tables", "run"],
        cwd=project.root,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    family = _wait_for(run, phase)
    run.send_signal(by)
    run.wait(timeout=60)
    gone, alive = psutil.wait_procs(family, timeout=60)
    assert not alive, [each.cmdline() for each in alive]
    assert gone
    done = project.fsgc("tables", "run")
    assert done.code == 0, done
    assert "3 cells, 2 of them current" in done.errors
    after = _written(project)
    assert (after[GIN2], after[GIN3]) == (before[GIN2], before[GIN3])
    assert after[WL2] > before[WL2]


def _wait_for(run: subprocess.Popen[bytes], phase: str) -> list[psutil.Process]:
    """The processes below a run, once one of them is in the given phase."""
    for _ in range(1200):
        family = psutil.Process(run.pid).children(recursive=True)
        for each in family:
            try:
                if phase in " ".join(each.cmdline()):
                    return family
            except psutil.NoSuchProcess:
                continue
        assert run.poll() is None, "it ended before that phase"
        time.sleep(0.05)
    raise AssertionError(f"no process of {phase}")


@pytest.mark.long
def test_lists_that_do_not_fit_are_refused_before_anything_runs(project: Project) -> None:
    lists = project.root / "tables" / "params.yaml"
    before = tree(project.root / "tables" / "cells")
    lists.write_text(lists.read_text().replace("- wl", "- wll"))
    refused = project.tables("repro")
    assert refused.code != 0
    assert "unknown method 'wll'; did you mean 'wl'?" in refused.errors
    assert "Traceback" not in refused.errors
    assert tree(project.root / "tables" / "cells") == before


@pytest.mark.long
def test_a_second_clone_pulls_everything_and_computes_nothing(project: Project, tmp_path: Path) -> None:
    done = project.repro("evaluate")
    assert done.code == 0, done
    for directory, add in ((".", project.dvc), ("tables", lambda *words: project.tables(*words).code)):
        add("remote", "add", "--default", "store", str(tmp_path / "store" / directory))
    project.commit()
    project.dvc("push")
    pushed = project.tables("push")
    assert pushed.code == 0, pushed
    project.ok("git", "clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    project.ok("git", "reset", "--quiet", "--hard", "HEAD~1")
    clone = Project(tmp_path / "clone", project.environment)
    assert clone.fsgc("tables", "status").output.strip() == "3 current", "what is in git is enough to tell"
    pulled = clone.run(sys.executable, "-m", "dvc", "pull")
    assert pulled.returncode == 0, pulled
    again = clone.repro("evaluate")
    assert (again.code, again.ran, again.restored) == (0, [], []), again
    pulled_tables = clone.tables("pull")
    assert pulled_tables.code == 0, pulled_tables
    again = clone.tables("repro")
    assert (again.code, again.ran, again.restored) == (0, [], []), again
    run = clone.fsgc("tables", "run")
    assert (run.code, run.output) == (0, "")
    assert run.errors.strip() == "3 cells, 3 of them current"
    for name in ("results/scores.zarr", f"tables/cells/{GIN2}/scores.zarr", "tables/models/triangles_gen-wl"):
        assert tree(clone.root / name) == tree(project.root / name)
    assert clone.ok("git", "status", "--porcelain") == ""
