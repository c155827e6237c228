from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsgc.report.cells import Cell, FaultyCell, find_cells
from fsgc.tables.grid import CellKey
from fsgc.tables.status import State
from tests.report.made_cells import CLASSES, outcomes, write_cell, write_failed

KEY = CellKey("graph_r52", 10, "pn_tae_mu", 3)


def _only(root: Path) -> Cell | FaultyCell:
    (cell,) = find_cells(root)
    return cell


def test_a_cell_gives_back_what_was_written(tmp_path: Path) -> None:
    correct = outcomes(0, 0.7, shots=10)
    write_cell(tmp_path / "cells", KEY, correct, test_episodes="abc")
    cell = _only(tmp_path / "cells")
    assert isinstance(cell, Cell)
    assert (cell.key, cell.state) == (KEY, State.CURRENT)
    np.testing.assert_array_equal(cell.outcomes.correct, correct)
    assert cell.outcomes.classes == CLASSES
    assert np.trace(cell.outcomes.confusion) == correct.sum()
    assert cell.curves()["val_loss"] == [1.1, 0.6, 0.7]
    assert cell.protocol.fingerprint == "abc"


def test_a_cell_of_other_settings_is_stale_and_says_which(real_root: Path, tmp_path: Path) -> None:
    shutil.copytree(real_root.parents[1], tmp_path / "project")
    params = tmp_path / "project" / "params.yaml"
    cells = tmp_path / "project" / "tables" / "cells"
    assert [cell.state for cell in find_cells(cells)] == [*[State.CURRENT] * 3, State.MISSING]
    params.write_text(params.read_text().replace("width: 8", "width: 9"))
    for cell in find_cells(cells)[:3]:
        assert isinstance(cell, Cell)
        assert (cell.state, cell.stale) == (State.STALE, ("method.width was 8, is 9",))


def test_cells_that_the_project_lists_are_missed(real_root: Path) -> None:
    missing = find_cells(real_root)[-1]
    assert isinstance(missing, FaultyCell)
    assert (missing.key.model, missing.reason) == ("wl", "it has not been computed yet")


def test_the_model_of_a_cell_is_where_the_project_keeps_it(real_root: Path) -> None:
    cell = find_cells(real_root)[0]
    assert isinstance(cell, Cell)
    assert (cell.model / "model.pt").is_file()


def test_other_directories_are_no_cells(tmp_path: Path) -> None:
    for name in ("notes", "x-seed0", "triangles-5shot-pn-seedx", ".triangles-5shot-pn-seed0.partial-1-aa"):
        (tmp_path / name).mkdir()
    (tmp_path / "triangles-5shot-pn-seed0").write_text("a file")
    assert find_cells(tmp_path) == []
    assert find_cells(tmp_path / "missing") == []


def test_failed_and_missing_cells_say_why(tmp_path: Path) -> None:
    root = tmp_path / "cells"
    write_failed(root, KEY, "no \x1b[31mmemory\ud800")
    (root / "triangles-5shot-pn-seed0").mkdir(parents=True)
    note = write_failed(root, CellKey("triangles", 5, "wl", 0), "")
    note.write_text("[]")
    failed, missing, unknown = find_cells(root)
    assert isinstance(failed, FaultyCell)
    assert isinstance(missing, FaultyCell)
    assert isinstance(unknown, FaultyCell)
    assert (failed.state, failed.reason) == (State.FAILED, "no �[31mmemory�"), "nothing that a terminal would obey"
    assert failed.command == "python -m pipeline.train"
    assert (missing.state, missing.reason) == (State.MISSING, "it has not been computed yet")
    assert (unknown.state, unknown.reason) == (State.FAILED, f"{note} does not say why")


def _changed(**values: Any) -> Callable[[Path], object]:
    """Damage that gives entries of the metrics other values; `None` takes one out."""

    def damage(path: Path) -> None:
        content = json.loads((path / "metrics.json").read_text()) | values
        (path / "metrics.json").write_text(json.dumps({k: v for k, v in content.items() if v is not None}))

    return damage


def _written(content: bytes, name: str = "metrics.json") -> Callable[[Path], object]:
    return lambda path: (path / name).write_bytes(content)


def _directory(path: Path) -> None:
    (path / "metrics.json").unlink()
    (path / "metrics.json").mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_written(b"{"), "it cannot be read as JSON"),
        (_written(b"\xff\xfe{}"), "it cannot be read as JSON"),
        (_written(b"[" * 100_000), "it cannot be read as JSON"),
        (_written(b'{"a": ' + b"1" * 5000 + b"}"), "it cannot be read as JSON"),
        (_written(b'"\\ud800"'), "it cannot be read as JSON"),
        (_directory, "it cannot be read as JSON"),
        (_written(b"[1]"), "input should be a valid dictionary"),
        (_written(b'{"model": "pn"}'), "dataset is missing"),
        (_changed(accuracy="high"), "accuracy: input should be a valid number, got 'high'"),
        (_changed(accuracy=float("nan")), "accuracy: "),
        (_changed(accuracy=1.5), "accuracy: input should be less than or equal to 1, got 1.5"),
        (_changed(queries=[5]), "queries: input should be a valid integer, got [5]"),
        (_changed(way=0), "way: input should be greater than or equal to 1"),
        (_changed(train="long"), "train: input should be a valid dictionary"),
        (_changed(train={"seconds": "60"}), "train.seconds: input should be a valid number"),
        (_changed(test_seconds="1.5"), "test_seconds: input should be a valid number"),
        (_changed(versions={"torch": 2}), "versions.torch: input should be a valid string"),
        (_changed(settings=[]), "settings: input should be a valid dictionary"),
        (_changed(threads=None, episodes=None), "episodes is missing"),
        (_changed(model="pn"), "it is of graph_r52-10shot-pn-seed3"),
        (_changed(accuracy=0.123), "it says the accuracy is 0.123000, outcomes.bin says 0."),
        (_changed(episodes=10), "it has the outcomes of 600 episodes with 10 queries, metrics.json says 10 with 10"),
        (_written(b"", "outcomes.bin"), "outcomes.bin is damaged"),
        (_written(b"{}", "outcomes.bin"), "does not hold outcomes"),
        (lambda path: (path / "outcomes.bin").unlink(), "outcomes.bin is missing"),
    ],
)
def test_damage_names_the_file_and_is_never_raised(
    cells_root: Path, damage: Callable[[Path], object], reason: str
) -> None:
    damage(write_cell(cells_root, KEY, outcomes(0, 0.7, shots=10)))
    cell = _only(cells_root)
    assert isinstance(cell, FaultyCell)
    assert cell.state is State.DAMAGED
    assert reason in cell.reason
    assert str(cells_root / KEY.name) in cell.reason, "which file"


def test_damaged_curves_are_left_out_and_odd_values_kept(tmp_path: Path) -> None:
    write_cell(tmp_path / "cells", KEY, outcomes(0, 0.7, shots=10))
    directory = tmp_path / "models" / KEY.name / "curves" / "plots" / "metrics"
    (directory / "loss.tsv").write_text("step\tloss\n0\tinf\n1\tnan\n2\t0.5\n")
    (directory / "val_loss.tsv").write_text("step\tval_loss\n0\n")
    (directory / "val_accuracy.tsv").write_bytes(b"\xff\xfe")
    cell = _only(tmp_path / "cells")
    assert isinstance(cell, Cell)
    assert list(cell.curves()) == ["loss"]
    np.testing.assert_array_equal(cell.curves()["loss"], [np.inf, np.nan, 0.5])
