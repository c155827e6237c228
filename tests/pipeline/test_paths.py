"""No value of a setting makes a stage, or DVC, remove or write anything outside `data/`, `results/` and `tables/`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from fsgc.cli import main as fsgc_command
from fsgc.recipes import STEPS
from fsgc.tables.plan import load_works, write_plan
from tests.pipeline.project import ROOT, Project, copy_project, tree

KEYS = ("dataset", "model", "shots", "seed", "features", "preset")
OWN = ("data", "results", "tables", ".dvc", ".git")


def _values(outside: Path) -> list[Any]:
    paths = ["../../docs", "../docs", "..", ".", "/", "docs", str(outside), f"../../../{outside.name}", "a/../../docs"]
    shell = [
        "~",
        "~/x",
        "$HOME",
        "`id`",
        "$(id)",
        "*",
        "**",
        "doc?",
        "[d]ocs",
        "{docs,x}",
        "a;b",
        "-h",
        "--tables=docs",
    ]
    strange = ["", " ", " \t", "a\nb", "\n", "\0", "\uff44ocs", "triangles_gen\u202e", "\U0001f600", "é" * 300]
    kinds = [None, [], {}, ["../../docs"], {"a": 1}, True, -1, 1.5, 10**40]
    return [*paths, *shell, *strange, *kinds]


def _outside(root: Path) -> dict[str, bytes]:
    """Everything of a project but what fsgc and DVC own."""
    return {name: content for name, content in tree(root).items() if name.split("/")[0] not in OWN}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to run stages in, with directories of a user's inside and beside it."""
    root = tmp_path / "project"
    for directory in (root / "docs", tmp_path / "outside"):
        directory.mkdir(parents=True)
        (directory / "mine.txt").write_text("mine")
    (root / "tables").mkdir()
    monkeypatch.chdir(root)
    return root


def test_no_path_of_the_experiment_comes_from_a_setting() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    assert "${" not in text
    for name, stage in yaml.safe_load(text)["stages"].items():
        for out in (*stage.get("outs", []), *stage.get("plots", []), *stage.get("metrics", [])):
            path = next(iter(out)) if isinstance(out, dict) else out
            assert path.startswith(("data/", "results/")) or (name, path) == ("evaluate", "metrics.json")


@pytest.mark.parametrize("key", KEYS)
def test_no_stage_takes_a_strange_value(place: Path, key: str) -> None:
    stages = [importlib.import_module(f"pipeline.{step}").main for step in (*STEPS, "recipes")]
    before = _outside(place.parent)
    good = {"dataset": "triangles_gen", "model": "pn", "shots": 5, "seed": 0}
    for value in _values(place.parent / "outside"):
        Path("params.yaml").write_text(yaml.safe_dump({**good, key: value}, allow_unicode=True))
        for stage in stages:
            done = CliRunner().invoke(stage, [])
            assert done.exit_code == 1, (value, done.output)
            assert isinstance(done.exception, SystemExit), (value, done.exc_info)
            assert done.output.startswith("Error: "), (value, done.output)
        Path("params.yaml").unlink()
        assert _outside(place.parent) == before, value
        assert not Path("data").exists()


@pytest.mark.parametrize("name", ["datasets", "models", "shots", "seeds", "features"])
def test_no_list_of_the_tables_takes_a_strange_value(place: Path, name: str) -> None:
    stage = importlib.import_module("pipeline.tables").main
    Path("params.yaml").write_text("preset: paper\n")
    before = tree(place.parent)
    good = {"datasets": ["triangles_gen"], "shots": [5], "models": ["pn"], "seeds": [0]}
    for value in _values(place.parent / "outside"):
        block = {**good, name: value if name == "features" else [value]}
        path = Path("tables/params.yaml")
        path.write_text(yaml.safe_dump({"small": block}, allow_unicode=True))
        for command, words in ((stage, []), (fsgc_command, ["tables", "plan"]), (fsgc_command, ["tables", "run"])):
            done = CliRunner().invoke(command, words)
            assert done.exit_code == 1, (value, done.output)
            assert isinstance(done.exception, SystemExit), (value, done.exc_info)
        path.unlink()
        assert tree(place.parent) == before, value


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy in which nothing was computed, beside a directory of a user's."""
    root = tmp_path_factory.mktemp("paths")
    (root / "outside").mkdir()
    (root / "outside" / "mine.txt").write_text("mine")
    project = copy_project(root / "project")
    project.set_tables(small={"datasets": ["triangles_gen"], "shots": [5], "models": ["pn"], "seeds": [0]})
    write_plan(load_works(project.root), project.root)
    project.commit()
    return project


def test_dvc_removes_nothing(project: Project) -> None:
    before = _outside(project.root)
    done = project.run(sys.executable, "-m", "dvc", "exp", "run", "--set-param", "dataset=../../docs")
    assert done.returncode != 0
    assert "Error: unknown dataset '../../docs'" in done.stderr
    assert "Traceback" not in done.stderr
    # That is DVC's to write; git may not see the change if it came within the second in which DVC wrote git's index.
    (project.root / "params.yaml").write_bytes(before["params.yaml"])
    assert _outside(project.root) == before
    assert tree(project.root.parent / "outside") == {"mine.txt": b"mine"}


def test_dvc_removes_nothing_for_the_tables(project: Project) -> None:
    """Neither for a list nor for a plan that was tampered with."""
    before, path = _outside(project.root), "../../../docs"  # as seen from tables/data/raw
    lists = {"small": {"datasets": [path], "shots": [5], "models": ["pn"], "seeds": [0]}}
    (project.root / "tables" / "params.yaml").write_text(yaml.safe_dump(lists))
    refused = project.tables("repro")
    assert refused.code != 0
    assert f"unknown dataset '{path}'" in refused.errors
    plan = project.root / "tables" / "plan.yaml"
    text = plan.read_text()
    plan.write_text(
        text.replace("- triangles_gen\n", f"- {path}\n").replace("dataset: triangles_gen", f"dataset: {path}")
    )
    assert plan.read_text() != text
    assert project.tables("repro", "--keep-going").code != 0
    project.restore()
    assert _outside(project.root) == before
    assert tree(project.root.parent / "outside") == {"mine.txt": b"mine"}
