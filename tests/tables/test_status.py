"""What is said of computed cells: current, stale, missing, failed or damaged."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.evaluation.outcomes import OUTCOMES
from fsgc.report.cells import find_cells
from fsgc.tables.grid import CELLS, CellKey
from fsgc.tables.status import FAILED, METRICS, CellStatus, State, minutes_left, recorded_times, status_of
from tests.computed_cells import GIN2, GIN3, PARAMS, WL2, edit, works_of


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
    found = status_of(works_of(project)[GIN2], project)
    assert (found.state, found.reasons) == (State.STALE, (reason,))
    assert found.seconds is not None
    if "transfer" in change:
        assert status_of(works_of(project)[WL2], project).state is State.CURRENT


def test_changed_code_makes_a_cell_stale_and_is_named(project: Path) -> None:
    def older(record: dict[str, Any]) -> None:
        record["code"]["fsgc.nn.heads"] = "0" * 16
        record["recipes"]["train"] = "0" * 16
        del record["code"]["fsgc.nn.segments"]

    edit(project, GIN2, older)
    found = status_of(works_of(project)[GIN2], project)
    assert (found.state, found.reasons) == (State.STALE, ("code of fsgc.nn.heads", "code of fsgc.nn.segments"))


def test_a_difference_of_another_kind_names_the_step(project: Path) -> None:
    edit(project, GIN2, lambda record: record["recipes"].update(graphs="0" * 16))
    assert status_of(works_of(project)[GIN2], project).reasons == ("the recipe of graphs",)


def test_missing_and_failed_cells(project: Path) -> None:
    works = works_of(project)
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
    found = status_of(works_of(project)[GIN2], project)
    assert found.state is State.DAMAGED
    assert "delete it and compute it again" in found.reasons[0]


def test_a_record_without_its_outcomes_is_damaged_here_as_in_the_tables(project: Path) -> None:
    path = project / CELLS / GIN2 / OUTCOMES
    path.write_bytes(path.read_bytes()[:-1])
    found = status_of(works_of(project)[GIN2], project)
    assert found.state is State.DAMAGED
    assert "outcomes.bin is damaged (its SHA-256 is another)" in found.reasons[0]
    path.unlink()
    found = status_of(works_of(project)[GIN2], project)
    assert found.state is State.DAMAGED
    assert "outcomes.bin does not exist" in found.reasons[0]
    (shown,) = [cell for cell in find_cells(project / CELLS) if cell.key.name == GIN2]
    assert shown.state is State.DAMAGED


def test_what_failed_and_was_computed_since_is_shown_as_computed(project: Path) -> None:
    mark = project / FAILED / f"{GIN2}.json"
    mark.parent.mkdir()
    mark.write_text(json.dumps({"reason": "the loss is NaN", "command": "x"}))
    assert {cell.state for cell in find_cells(project / CELLS)} == {State.CURRENT}
    edit(project, GIN2, lambda record: record["recipes"].update(graphs="0" * 16))
    (shown,) = [cell for cell in find_cells(project / CELLS) if cell.key.name == GIN2]
    assert (shown.state, getattr(shown, "reason", "")) == (State.FAILED, "the loss is NaN")


@pytest.mark.parametrize("name", ["recipes", "code", "settings", "train", "test_seconds"])
@pytest.mark.parametrize("value", [None, 5, "x", [1], {}, [["a", "b"]]])
def test_a_record_with_a_part_of_another_kind_is_not_current(project: Path, name: str, value: Any) -> None:
    edit(project, GIN2, lambda record: record.update({name: value}))
    found = status_of(works_of(project)[GIN2], project)
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


def test_the_time_of_cells_not_asked_for_counts(project: Path) -> None:
    """With `--only`, cells that are missing are compared with all that are recorded."""
    (project / CELLS / GIN3 / METRICS).write_text("{")
    works = works_of(project)
    others = recorded_times({works[GIN2].cell}, project)
    assert {each.cell.model for each in others} == {"wl"}, "all but the one that is asked for and a damaged one"
    assert minutes_left([CellStatus(works[GIN2].cell, State.MISSING), *others], {works[GIN2].cell: "gin"})
