from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsgc.report.cells import Cell, find_cells
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from fsgc.tables.status import State
from tests.report.made_cells import outcomes, write_cell, write_failed


def test_seeds_are_averaged_episode_by_episode(tmp_path: Path) -> None:
    values = [outcomes(seed, 0.7) for seed in range(3)]
    root = tmp_path / "cells"
    for seed, value in enumerate(values):
        write_cell(root, CellKey("enzymes", 5, "pn", seed), value)
    write_failed(root, CellKey("enzymes", 5, "pn", 3), "no memory")
    results = Results(find_cells(root))
    result = results.result("enzymes", 5, "pn")
    assert result is not None
    assert result.seeds == (0, 1, 2)
    np.testing.assert_allclose(result.per_episode, sum(value.mean(axis=1) for value in values) / 3)
    assert result.mean == pytest.approx(np.mean(values))
    gap = results.gap("enzymes", 5, "pn")
    assert gap is not None
    assert (gap.state, gap.reason) == (State.FAILED, "seed 3: no memory"), "a failed seed is not hidden by the others"


def test_one_stale_seed_makes_a_result_stale(cells_root: Path) -> None:
    for seed in range(2):
        write_cell(cells_root, CellKey("enzymes", 5, "pn", seed), outcomes(seed, 0.7))
    current, other = find_cells(cells_root)
    assert isinstance(other, Cell)
    (result,) = Results([current, replace(other, stale=("code of fsgc.nn.norms",))]).found.values()
    assert result.stale == ("code of fsgc.nn.norms",)


def test_seeds_of_different_episodes_are_no_result(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 1), outcomes(1, 0.7, episodes=100))
    results = Results(find_cells(cells_root))
    assert results.result("enzymes", 5, "pn") is None
    gap = results.gap("enzymes", 5, "pn")
    assert gap is not None
    assert gap.reason == "its seeds were tested on different episodes"


def test_what_there_is(example: Results) -> None:
    assert example.columns == [
        ("coil_del", 5),
        ("enzymes", 5),
        ("reddit", 5),
        ("triangles", 5),
        ("triangles", 10),
        ("triangles_gen", 5),
    ]
    assert example.variants == ["maml", "my_method", "pn", "pn_tae_mu", "wl"]
    assert [result.model for result in example.column("triangles", 5)] == ["pn", "pn_tae_mu", "wl"]


def test_other_inputs_are_another_variant(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0, "structural"), outcomes(1, 0.8))
    results = Results(find_cells(cells_root))
    assert results.variants == ["pn", "pn-structural"]
    other = results.result("enzymes", 5, "pn-structural")
    assert other is not None
    assert (other.model, other.features, other.name) == ("pn", "structural", "enzymes-5shot-pn-structural")
    assert results.with_own_inputs().variants == ["pn"]
