"""Orders fulfilled in this process: what a worker does, without Ray."""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsgc.cluster.parcels import pack, unpack
from fsgc.cluster.task import Answer, Order, Orders, cell_places, fulfil, model_places, places_of
from fsgc.errors import FsgcError
from fsgc.methods.registry import method_entry
from fsgc.provenance import commit
from fsgc.steps import evaluate, train
from fsgc.tables.plan import Work, load_works
from fsgc.tables.runner import by_model
from fsgc.tables.status import State, status_of
from tests.small_tables import PARAMS, outcomes, timeless


def _groups() -> dict[str, list[Work]]:
    return {group[0].cell.model: group for group in by_model(load_works()).values()}


def _send(order: Order) -> Answer:
    return fulfil(order, *(pack(Path("tables") / place) for place in order.stores))


def _write(answer: Answer) -> None:
    for place, parcel in answer.files.items():
        unpack(parcel, Path("tables") / place)


@pytest.mark.parametrize("model", ["wl", "untrained", "gin"])
def test_a_worker_computes_what_one_machine_computes(project: Path, computed: Path, model: str) -> None:
    group = _groups()[model]
    order = Orders(PARAMS).of(group)
    answer = _send(order)
    assert answer.reason == ""
    assert tuple(answer.files) == places_of(group)
    _write(answer)
    for work in group:
        assert timeless(project, work.cell.name) == timeless(computed, work.cell.name)
        assert outcomes(project, work.cell.name) == outcomes(computed, work.cell.name)
        assert status_of(work).state is State.CURRENT
    model_file = Path("tables") / model_places(group[0])[0]
    assert (project / model_file).read_bytes() == (computed / model_file).read_bytes()


def test_a_model_that_is_there_travels_and_is_not_trained_again(
    project: Path, computed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = _groups()["gin"]
    shutil.copytree(computed / "tables" / "models", project / "tables" / "models")
    order = Orders(PARAMS).of(group[1:])
    assert set(model_places(group[0])) < set(order.stores)
    monkeypatch.setattr(train, "run", None)
    answer = _send(order)
    assert (answer.reason, tuple(answer.files)) == ("", cell_places(group[1]))


def test_the_commit_is_the_drivers(project: Path) -> None:
    order = Orders(PARAMS).of(_groups()["untrained"])
    assert order.commit == commit()
    _write(_send(dataclasses.replace(order, commit="0123456789ab")))
    name = order.cells[0]
    assert '"commit": "0123456789ab"' in timeless(project, name)


@pytest.mark.usefixtures("project")
def test_a_worker_of_other_code_or_settings_refuses() -> None:
    order = Orders(PARAMS).of(_groups()["wl"])
    name = order.cells[0]
    other = {**order.recipes, name: {**order.recipes[name], "train": "0" * 16, "evaluate": "1" * 16}}
    answer = _send(dataclasses.replace(order, recipes=other))
    assert answer == Answer(
        {},
        f"{name}: the code or settings of this worker are not the driver's (they differ in train, evaluate); install "
        f"the same version of fsgc on all machines",
    )
    changed = dataclasses.replace(order, params={**PARAMS, "svc": {"default": {"c": 2.0}}})
    assert "(they differ in train, evaluate)" in _send(changed).reason


@pytest.mark.usefixtures("project")
def test_what_is_no_cell_is_refused() -> None:
    order = dataclasses.replace(Orders(PARAMS).of(_groups()["wl"]), cells=("../../x",))
    assert _send(order).reason == "'../../x' is not the name of a cell"
    unknown = dataclasses.replace(order, cells=("triangles_gen-2shot-wll-seed0",))
    assert "unknown method 'wll'" in _send(unknown).reason


@pytest.mark.usefixtures("project")
def test_a_missing_store_is_named() -> None:
    order = Orders(PARAMS).of(_groups()["wl"])
    left = tuple(place for place in order.stores if "/episodes/" not in place)
    reason = _send(dataclasses.replace(order, stores=left)).reason
    assert reason.startswith("tables/data/episodes/triangles_gen-2shot-seed0.zarr does not exist")


def _fails(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FsgcError("the loss is NaN"), "the loss is NaN"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), f"on the worker: [Errno {errno.ENOSPC}] No space left"),
        (MemoryError("4 GiB"), "MemoryError: 4 GiB"),
        (ZeroDivisionError("a bug"), "ZeroDivisionError: a bug"),
    ],
)
def test_an_error_is_an_answer(monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str) -> None:
    monkeypatch.setattr(train, "run", _fails(error))
    answer = _send(Orders(PARAMS).of(_groups()["untrained"]))
    assert answer.files == {}
    assert reason in answer.reason


@pytest.mark.usefixtures("project")
def test_a_full_disk_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    order = Orders(PARAMS).of(_groups()["untrained"])
    parcels = [pack(Path("tables") / place) for place in order.stores]
    monkeypatch.setattr(Path, "write_bytes", _fails(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    answer = fulfil(order, *parcels)
    assert answer.files == {}
    assert "No space left on device; free some space and run this again" in answer.reason


@pytest.mark.usefixtures("project")
def test_what_was_finished_before_a_failure_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    group, plain = _groups()["gin"], evaluate.run

    def fails_for_three(workspace: Any, experiment: Any, *rest: Any) -> Any:
        if experiment.keys.shots == 3:
            raise FsgcError("no")
        return plain(workspace, experiment, *rest)

    monkeypatch.setattr(evaluate, "run", fails_for_three)
    answer = _send(Orders(PARAMS).of(group))
    assert (answer.reason, tuple(answer.files)) == ("no", (*model_places(group[0]), *cell_places(group[0])))


@pytest.mark.usefixtures("project")
def test_checkpoints_go_to_the_shared_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared, plain, seen = tmp_path / "shared", train.run, []
    scope = method_entry("gin").method().trained_for

    def watched(workspace: Any, experiment: Any, *rest: Any) -> Any:
        seen.append(workspace.training(experiment.keys, scope).resolve().parent)
        return plain(workspace, experiment, *rest)

    monkeypatch.setattr(train, "run", watched)
    assert _send(Orders(PARAMS, str(shared)).of(_groups()["gin"])).reason == ""
    assert seen == [shared.resolve()]


@pytest.mark.usefixtures("project")
def test_a_worker_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    assert _send(Orders(PARAMS).of(_groups()["untrained"])).reason == ""
    assert list(own.iterdir()) == []
