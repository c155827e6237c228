from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsgc.report.cells import State, find_cells
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell, write_failed


def test_seeds_are_averaged_episode_by_episode(tmp_path: Path) -> None:
    values = [outcomes(seed, 0.7) for seed in range(3)]
    for seed, value in enumerate(values):
        write_cell(tmp_path, CellKey("enzymes", 5, "pn", seed), value)
    write_failed(tmp_path, CellKey("enzymes", 5, "pn", 3), "no memory")
    results = Results(find_cells(tmp_path))
    result = results.result("enzymes", 5, "pn")
    assert result is not None
    assert result.seeds == (0, 1, 2)
    np.testing.assert_allclose(result.per_episode, sum(value.mean(axis=1) for value in values) / 3)
    assert result.mean == pytest.approx(np.mean(values))
    gap = results.gap("enzymes", 5, "pn")
    assert gap is not None
    assert (gap.state, gap.reason) == (State.FAILED, "seed 3: no memory"), "a failed seed is not hidden by the others"


def test_one_stale_seed_makes_a_result_stale(tmp_path: Path) -> None:
    for seed in range(2):
        write_cell(tmp_path, CellKey("enzymes", 5, "pn", seed), outcomes(seed, 0.7))
    found = find_cells(tmp_path, lambda key, _: "code of fsgc.nn.norms" if key.seed else "")
    (result,) = Results(found).found.values()
    assert result.stale == "code of fsgc.nn.norms"


def test_seeds_of_different_episodes_are_no_result(tmp_path: Path) -> None:
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 1), outcomes(1, 0.7, episodes=100))
    results = Results(find_cells(tmp_path))
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
    assert example.models == ["maml", "my_method", "pn", "pn_tae_mu", "wl"]
    assert [result.model for result in example.column("triangles", 5)] == ["pn", "pn_tae_mu", "wl"]
