from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fsgc.report.cells import State, find_cells
from fsgc.tables.grid import CellKey
from tests.report.made_cells import accuracies, scores_of, write_cell, write_failed

KEY = CellKey("graph_r52", 10, "pn_tae_mu", 3)


def test_a_cell_gives_back_what_was_written(tmp_path: Path) -> None:
    accuracy = accuracies(0, 0.7)
    write_cell(tmp_path, KEY, accuracy, test_episodes="abc")
    (cell,) = find_cells(tmp_path)
    assert (cell.key, cell.state, cell.reason) == (KEY, State.DONE, "")
    np.testing.assert_array_equal(cell.accuracy, accuracy)
    np.testing.assert_array_equal(cell.scores(), scores_of(accuracy))
    assert cell.curves()["val_loss"] == [1.1, 0.6, 0.7]
    assert cell.protocol.fingerprint == "abc"
    assert cell.hyperparameters() == {}, "there is no model file"


@pytest.mark.parametrize("name", ["graph_r52-10shot-pn_tae_mu-seed3", "a-1shot-b-seed0"])
def test_names_and_keys_are_the_same_thing(name: str) -> None:
    key = CellKey.parse(name)
    assert key is not None
    assert key.name == name


def test_other_directories_are_no_cells(tmp_path: Path) -> None:
    for name in ("notes", "x-seed0", "triangles-5shot-pn-seedx", ".triangles-5shot-pn-seed0.partial-1-aa"):
        (tmp_path / name).mkdir()
    (tmp_path / "triangles-5shot-pn-seed0").write_text("a file")
    assert find_cells(tmp_path) == []
    assert find_cells(tmp_path / "missing") == []


def test_failed_and_unfinished_cells_say_why(tmp_path: Path) -> None:
    write_failed(tmp_path, KEY, "no memory")
    (tmp_path / "triangles-5shot-pn-seed0").mkdir()
    (tmp_path / "triangles-5shot-wl-seed0").mkdir()
    (tmp_path / "triangles-5shot-wl-seed0" / "failed.json").write_text("[]")
    failed, unfinished, unknown = find_cells(tmp_path)
    assert (failed.state, failed.reason, failed.command) == (State.FAILED, "no memory", "python -m pipeline.train")
    assert (unfinished.state, unfinished.reason) == (State.UNFINISHED, "no metrics.json and no episodes.parquet yet")
    assert (unknown.state, unknown.reason) == (State.FAILED, "failed.json does not say why")


def _other_model(path: Path) -> None:
    content = json.loads((path / "metrics.json").read_text())
    (path / "metrics.json").write_text(json.dumps({**content, "model": "pn"}))


def _other_mean(path: Path) -> None:
    content = json.loads((path / "metrics.json").read_text())
    (path / "metrics.json").write_text(json.dumps({**content, "accuracy": content["accuracy"] + 1e-6}))


def _accuracy_in_words(path: Path) -> None:
    content = json.loads((path / "metrics.json").read_text())
    (path / "metrics.json").write_text(json.dumps({**content, "accuracy": "high"}))


def _fewer_rows(path: Path) -> None:
    pl.read_parquet(path / "episodes.parquet").head(10).write_parquet(path / "episodes.parquet")


def _nan(path: Path) -> None:
    frame = pl.read_parquet(path / "episodes.parquet")
    frame.with_columns(accuracy=pl.lit(float("nan"))).write_parquet(path / "episodes.parquet")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: (path / "metrics.json").write_text("{"), "metrics.json cannot be read"),
        (lambda path: (path / "metrics.json").write_text("[1]"), "metrics.json lacks model, dataset"),
        (lambda path: (path / "metrics.json").write_text('{"model": "pn"}'), "metrics.json lacks dataset"),
        (lambda path: (path / "episodes.parquet").write_bytes(b"PAR1"), "episodes.parquet cannot be read"),
        (_accuracy_in_words, "metrics.json cannot be read"),
        (_other_model, "metrics.json is of graph_r52-10shot-pn-seed3"),
        (_other_mean, "the episodes' mean accuracy is"),
        (_fewer_rows, "episodes.parquet has 10 rows, metrics.json speaks of 200"),
        (_nan, "the episodes' mean accuracy is nan"),
    ],
)
def test_damage_is_named_and_never_raised(tmp_path: Path, damage: Callable[[Path], object], reason: str) -> None:
    damage(write_cell(tmp_path, KEY, accuracies(0, 0.7)))
    (cell,) = find_cells(tmp_path)
    assert cell.state is State.DAMAGED
    assert reason in cell.reason


def test_damaged_curves_are_left_out_and_odd_values_kept(tmp_path: Path) -> None:
    directory = write_cell(tmp_path, KEY, accuracies(0, 0.7)) / "curves" / "plots" / "metrics"
    (directory / "loss.tsv").write_text("step\tloss\n0\tinf\n1\tnan\n2\t0.5\n")
    (directory / "val_loss.tsv").write_text("step\tval_loss\n0\n")
    (directory / "val_accuracy.tsv").write_bytes(b"\xff\xfe")
    (cell,) = find_cells(tmp_path)
    assert list(cell.curves()) == ["loss"]
    np.testing.assert_array_equal(cell.curves()["loss"], [np.inf, np.nan, 0.5])
