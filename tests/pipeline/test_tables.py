"""The tables' own pipeline, run for real on generated graphs with small settings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.pipeline.project import SMALL, Project, copy_project

PN, WL = "triangles_gen-5shot-pn-seed0", "triangles_gen-5shot-wl-seed0"


def _run(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    return project.run(sys.executable, "-m", "fsgc", "tables", "run", *options)


def _written(project: Project) -> Mapping[str, int]:
    """When the files of each cell were written last."""
    cells = project.root / "tables" / "cells"
    return {cell: (cells / cell / "metrics.json").stat().st_mtime_ns for cell in (PN, WL)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two cells, computed."""
    project = copy_project(tmp_path_factory.mktemp("tables"))
    lists = {"datasets": ["triangles_gen"], "shots": [5], "models": ["pn", "wl"], "seeds": [0]}
    (project.root / "tables" / "params.yaml").write_text(yaml.safe_dump(lists))
    (project.root / "tables" / "dvc.lock").unlink(missing_ok=True)
    project.set_params(episodes=SMALL, train={"default": {"max_epochs": 1}})
    project.commit()
    done = _run(project, "-j", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def test_every_cell_is_computed_and_nothing_is_left_for_git(project: Project) -> None:
    for cell, model in ((PN, "pn"), (WL, "wl")):
        metrics = json.loads((project.root / "tables" / "cells" / cell / "metrics.json").read_text())
        assert (metrics["model"], metrics["dataset"], metrics["episodes"]) == (model, "triangles_gen", SMALL["test"])
    assert project.ok("git", "status", "--porcelain").split() == ["??", "tables/dvc.lock"]


def test_a_changed_method_recomputes_its_own_row_and_nothing_else(project: Project) -> None:
    before = _written(project)
    with (project.root / "fsgc" / "methods" / "kernel.py").open("a") as file:
        file.write("# changed\n")
    assert _run(project).returncode == 0
    after = _written(project)
    assert after[PN] == before[PN]
    assert after[WL] > before[WL]


def test_a_cell_that_fails_says_why_stops_no_other_and_is_tried_again(project: Project) -> None:
    params = project.root / "params.yaml"
    good = params.read_text()
    broken = yaml.safe_load(good)
    broken["prototypical"]["triangles_gen"]["lr"] = 1e30
    broken["svc"]["default"]["c"] = 2.0  # so that the other cell has something to do as well
    params.write_text(yaml.safe_dump(broken))
    before = _written(project)
    failed = _run(project, "-j", "2")
    assert failed.returncode == 1
    assert "1 of 2 cells failed; the next run tries them again" in failed.stderr
    assert "Traceback" not in failed.stderr
    mark = project.root / "tables" / "cells" / PN / "failed.json"
    assert "the loss is nan" in json.loads(mark.read_text())["reason"]
    metrics = project.root / "tables" / "cells" / WL / "metrics.json"
    assert metrics.stat().st_mtime_ns > before[WL]
    params.write_text(good)
    assert _run(project, "--only", "*-pn-*").returncode == 0
    assert not mark.exists()


def test_cells_are_chosen_by_their_names(project: Project) -> None:
    assert _run(project, "--list", "--only", "*-wl-*").stdout.split() == [WL]
    nothing = _run(project, "--only", "letter_*")
    assert nothing.returncode == 1
    assert "no cell of tables/params.yaml fits letter_*" in nothing.stderr


def test_a_setting_that_does_not_fit_is_refused_before_any_cell(project: Project) -> None:
    lists = project.root / "tables" / "params.yaml"
    good = lists.read_text()
    lists.write_text(good.replace("- wl", "- wll"))
    refused = _run(project)
    lists.write_text(good)
    assert refused.returncode == 1
    assert "unknown method 'wll'; did you mean 'wl'?" in refused.stderr


def test_the_projects_own_grid_is_one_dvc_can_read() -> None:
    root = Path(__file__).parents[2]
    listed = subprocess.run(
        [sys.executable, "-m", "dvc", "stage", "list", "tables/dvc.yaml", "--name-only"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "evaluate@triangles-5-pn-0" in listed.stdout
