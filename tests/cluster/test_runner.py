"""Cells on a real cluster of three nodes, and what may happen to it. Nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.cluster.runner import OOM_RETRIES
from tests.cluster.namespace import inside, token_of_its_own, why_not
from tests.pipeline.project import ROOT, Project, copy_project
from tests.small_tables import LISTS, PARAMS, outcomes, timeless

PATIENCE = 900  # seconds; not an expectation, only so that a hanging cluster does not hang the tests
MODELS = ("wl", "untrained", "gin")
CELLS = {f"triangles_gen-{shots}shot-{model}-seed0" for shots in (2, 3) for model in MODELS}
ONCE = dict.fromkeys(MODELS, 1)
GIN = {cell for cell in CELLS if "-gin-" in cell}

Play = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def dvc_project(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the whole project, with DVC, in which the same cells are wanted and have their stores."""
    project = copy_project(tmp_path_factory.mktemp("ray"))
    tables = project.root / "tables"
    (tables / "params.yaml").write_text(yaml.safe_dump({"small": LISTS}))
    shutil.copytree(stores / "tables" / "data", tables / "data", dirs_exist_ok=True)
    project.set_params(**PARAMS)
    project.commit()
    return project


@pytest.fixture(scope="module")
def play(stores: Path, dvc_project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Plays a scene of `tests.cluster.scenes` on a cluster that is started once."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"a cluster on the loopback interface: {reason}")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        inside([sys.executable, "-m", "tests.cluster.scenes", str(stores)]),
        cwd=ROOT,
        env={
            **dvc_project.environment,
            **token_of_its_own(tmp_path_factory.mktemp("token")),
            "PYTHONPATH": path,
            "FSGC_DVC_PROJECT": str(dvc_project.root),
            "RAY_USAGE_STATS_ENABLED": "0",
            OOM_RETRIES: "1",  # Ray reads it when it is loaded: it is that of all scenes
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(scene: str) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{scene}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if ready else ""
        if not line:
            process.kill()
        assert line, f"{scene}: no answer"
        result: dict[str, Any] = json.loads(line)
        assert "error" not in result, result["error"]
        return result

    try:
        yield ask
        process.stdin.close()
        process.wait(timeout=60)
    finally:
        process.kill()  # and with it, by its namespace, every process of the cluster
        process.wait()
        process.stdout.close()


def _targets(result: dict[str, Any]) -> list[str]:
    return sorted(target for commit in result["commits"] for target in commit)


def _cells_committed(result: dict[str, Any]) -> list[str]:
    return [target.removeprefix("evaluate@") for target in _targets(result) if target.startswith("evaluate@")]


def _assert_complete(result: dict[str, Any]) -> None:
    assert result["ended"] == dict.fromkeys(CELLS)
    assert set(result["states"].values()) == {"current"}
    assert sorted(result["started"]) == sorted(CELLS)
    assert _cells_committed(result) == sorted(CELLS)


def test_cells_are_those_of_one_machine_and_are_computed_once(play: Play, computed: Path) -> None:
    result = play("all_well")
    _assert_complete(result)
    assert result["begin"] == result["end"] == ONCE
    project = Path(result["project"])
    for cell in CELLS:
        assert timeless(project, cell) == timeless(computed, cell)
        assert outcomes(project, cell) == outcomes(computed, cell)
    assert result["again"]["ended"] == {}
    assert result["again"]["begin"] == ONCE


def test_a_node_that_dies_costs_the_cells_it_was_computing_and_no_other(play: Play) -> None:
    result = play("node_dies")
    _assert_complete(result)
    assert result["begin"] == {**ONCE, "gin": 2}
    assert result["end"] == ONCE
    assert result["epochs"] == [0, 1, 2, 0, 1, 2], "trained from the start"


def test_with_a_shared_directory_a_training_resumes_on_another_node(play: Play, computed: Path) -> None:
    result = play("node_dies_and_training_resumes")
    _assert_complete(result)
    assert result["begin"] == {**ONCE, "gin": 2}
    assert result["epochs"] == [0, 1, 2, 2], "only the epoch that was under way is computed again"
    assert result["left"] == [], "checkpoints of a training that is done"
    project = Path(result["project"])
    for cell in GIN:
        assert timeless(project, cell) == timeless(computed, cell)
        assert outcomes(project, cell) == outcomes(computed, cell)


def test_a_worker_that_dies_is_run_again_only_so_often(play: Play) -> None:
    result = play("worker_dies")
    assert result["begin"] == {**ONCE, "gin": 2}
    reason = "its worker died 2 times; perhaps out of memory"
    assert result["ended"] == {cell: reason if cell in GIN else None for cell in CELLS}
    assert result["states"] == {cell: "failed" if cell in GIN else "current" for cell in CELLS}
    assert _cells_committed(result) == sorted(CELLS - GIN)
    again = result["again"]
    assert again["ended"] == dict.fromkeys(GIN)
    assert set(again["states"].values()) == {"current"}
    assert again["begin"] == {**ONCE, "gin": 3}


def test_a_worker_out_of_memory_is_run_again_only_so_often(play: Play) -> None:
    result = play("worker_is_out_of_memory")
    reason = "Ray ended its worker 2 times because the node was out of memory; reserve more --threads for each"
    assert result["ended"] == dict.fromkeys(GIN, reason)
    assert result["states"] == {cell: "failed" if cell in GIN else "missing" for cell in CELLS}
    assert (result["commits"], result["end"]) == ([], {})


def test_ray_is_told_how_often_before_it_is_loaded(tmp_path: Path) -> None:
    """A module that takes Ray's place notes what Ray reads when it is loaded; by itself Ray would try forever."""
    (tmp_path / "ray.py").write_text(f"import os; raise RuntimeError(os.environ['{OOM_RETRIES}'])")
    code = "from fsgc.cluster.runner import RayRunner; RayRunner({}, retries=5)"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = {**kept, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "RuntimeError: 5" in done.stderr


def test_a_cell_that_fails_tells_why_and_stops_no_other(play: Play) -> None:
    result = play("cell_fails")
    ended = result["ended"]
    assert set(ended) == CELLS
    for cell in CELLS:
        if "-wl-" in cell:
            assert "tables/data/prepared/triangles_gen-wl does not exist" in ended[cell]
        elif "-untrained-" in cell:
            assert ended[cell] == "Ray could not run it: RuntimeError: not ours"
        elif "-3shot-" in cell:
            assert "triangles_gen-3shot-seed0.zarr" in ended[cell]
        else:
            assert ended[cell] is None, "computed before the other cell of the same model failed"
    assert _cells_committed(result) == ["triangles_gen-2shot-gin-seed0"]


@pytest.mark.long
def test_full_object_stores_lose_nothing(play: Play) -> None:
    result = play("store_is_full")
    _assert_complete(result)
    assert result["end"] == ONCE
    assert not result["escaped"], "a worker wrote where nothing was asked for"


@pytest.mark.long
def test_a_killed_driver_does_not_compute_finished_cells_again(play: Play, dvc_project: Project) -> None:
    result = play("driver_dies")
    assert result["before"], result["first"]
    code, _, errors = result["second"]
    assert code == 0, errors
    assert f"6 cells, {len(result['before'])} of them current" in errors
    assert set(result["after"]) == CELLS
    assert {cell: result["after"][cell] for cell in result["before"]} == result["before"]
    # What the next run would go by.
    assert (result["states"], result["unrecorded"]) == (["current"] * 6, [])
    # DVC itself is asked whether it has taken over every cell.
    stages = [f"evaluate@{cell}" for cell in sorted(CELLS)]
    status = dvc_project.ok(sys.executable, "-m", "dvc", "--cd", "tables", "status", "--json", *stages)
    assert json.loads(status) == {}
