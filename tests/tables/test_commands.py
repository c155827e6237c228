"""Cells chosen by name, and recorded ones computed again: what is said if they come out otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fsgc.cli import main as fsgc
from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import OUTCOMES, Outcomes
from fsgc.tables import check as module
from fsgc.tables import worker
from fsgc.tables.check import check
from fsgc.tables.grid import CELLS
from fsgc.tables.plan import Work
from fsgc.tables.processes import Worker
from tests.pipeline.project import tree
from tests.small_tables import make_project

GIN, WL = (f"triangles_gen-2shot-{model}-seed0" for model in ("gin", "wl"))
Made = tuple[Path, dict[str, Work]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A project with two cells that are computed, and what computes each."""
    project = tmp_path_factory.mktemp("projects") / "project"
    works = {work.cell.name: work for work in make_project(project)}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        for name in (GIN, WL):
            worker.compute([works[name]])
    return project, works


@pytest.fixture
def project(made: Made, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as the working directory."""
    monkeypatch.chdir(made[0])
    return Path()


@pytest.fixture
def works(made: Made) -> dict[str, Work]:
    """What computes each cell."""
    return made[1]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are no processes of their own."""
    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)

    class Quick(Worker):
        def compute(self, words: Sequence[str]) -> str | None:
            code = worker.main(list(words))
            return f"exit code {code}" if code else None

    monkeypatch.setattr(module, "Worker", Quick)


def test_a_cell_comes_out_the_same_and_nothing_is_touched(project: Path, works: dict[str, Work]) -> None:
    before = tree(project)
    (found,) = check([works[GIN]])
    assert (found.same, found.changed, found.queries) == (True, 0, 20 * 3 * 3)
    assert found.found == found.recorded
    assert tree(project) == before


@pytest.mark.usefixtures("quick")
def test_an_answer_that_differs_is_counted(project: Path, works: dict[str, Work]) -> None:
    path = project / CELLS / WL / OUTCOMES
    kept, outcomes = path.read_bytes(), Outcomes.load(path)
    correct = outcomes.correct.copy()
    correct[3, 1:3] ^= True
    replace(outcomes, correct=correct).save(path)
    try:
        other, same = check([works[WL], works[GIN]])
    finally:
        path.write_bytes(kept)
    assert (other.same, other.changed) == (False, 2)
    assert same.same


@pytest.mark.usefixtures("quick")
def test_another_wrong_answer_is_noticed(project: Path, works: dict[str, Work]) -> None:
    path = project / CELLS / WL / OUTCOMES
    kept, outcomes = path.read_bytes(), Outcomes.load(path)
    confusion = outcomes.confusion.copy()
    confusion[0, 1:] = np.roll(confusion[0, 1:], 1)
    assert (confusion != outcomes.confusion).any()
    replace(outcomes, confusion=confusion).save(path)
    try:
        (other,) = check([works[WL]])
    finally:
        path.write_bytes(kept)
    assert (other.same, other.changed) == (False, 0)


@pytest.mark.usefixtures("quick", "project")
def test_other_episodes_are_not_compared(works: dict[str, Work]) -> None:
    path = CELLS / WL / OUTCOMES
    kept = path.read_bytes()
    replace(Outcomes.load(path), test_episodes="0" * 64).save(path)
    try:
        (found,) = check([works[WL]])
    finally:
        path.write_bytes(kept)
    assert (found.same, found.reason) == (False, "its test episodes are others")


@pytest.mark.usefixtures("project")
def test_stores_that_cannot_be_made_are_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is full\nFree some space")

    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)
    monkeypatch.setattr(worker, "ensure_episodes", fail)
    assert worker.main(["--into", str(tmp_path), "--stores", GIN]) == worker.EXIT_FAILED
    assert capsys.readouterr().out == "Error: the disk is full\nFree some space\n"


@pytest.mark.usefixtures("quick", "project")
def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    done = CliRunner().invoke(fsgc, ["tables", "check", "--only", GIN])
    assert done.exit_code == 0, done.output
    assert "the same" in done.output
    none = CliRunner().invoke(fsgc, ["tables", "check", "--only", "*-untrained-*"])
    assert none.exit_code == 1
    assert "none of these cells is current" in none.output
    monkeypatch.setattr(f"{module.__name__}.Worker.compute", lambda *_: "the disk is full")
    failed = CliRunner().invoke(fsgc, ["tables", "check"])
    assert failed.exit_code == 1
    assert "the disk is full" in failed.output
    assert "2 of 2 cells did not come out the same" in failed.output


@pytest.mark.usefixtures("project")
def test_cells_are_chosen_by_their_names() -> None:
    listed = CliRunner().invoke(fsgc, ["tables", "run", "--list", "--only", "*-2shot-wl-*"])
    assert listed.output.split() == [WL]
    none = CliRunner().invoke(fsgc, ["tables", "run", "--only", "letter_*"])
    assert none.exit_code == 1
    assert "no cell of tables/params.yaml fits letter_*" in none.output


def test_lists_that_do_not_fit_are_refused(project: Path) -> None:
    lists = project / "tables" / "params.yaml"
    kept = lists.read_text()
    lists.write_text(kept.replace("- wl", "- wll"))
    try:
        refused = CliRunner().invoke(fsgc, ["tables", "run"])
    finally:
        lists.write_text(kept)
    assert refused.exit_code == 1
    assert "unknown method 'wll'; did you mean 'wl'?" in refused.output
