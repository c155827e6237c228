from __future__ import annotations

from fsgc.tables.grid import CellKey
from fsgc.tables.plan import work_of
from fsgc.tables.runner import starting_order
from fsgc.tables.status import CellStatus, State, expected_seconds


def _cell(model: str, shots: int = 5, seed: int = 0, dataset: str = "enzymes") -> CellKey:
    return CellKey(dataset, shots, model, seed)


def test_a_cell_is_expected_to_take_what_it_took_else_what_its_like_took() -> None:
    known = [CellStatus(_cell("pn", seed=seed), State.CURRENT, seconds=each) for seed, each in enumerate((10, 20, 90))]
    before = CellStatus(_cell("gsm"), State.STALE, seconds=500)
    slow = CellStatus(_cell("pn", 10, dataset="reddit"), State.CURRENT, seconds=1000)
    cells = {
        "other seeds": _cell("pn", seed=3),
        "other shots": _cell("pn", 10),
        "other shots of Reddit": _cell("pn", dataset="reddit"),
        "other inputs": CellKey("reddit", 5, "pn", 0, "structural"),
        "all of pn": _cell("pn", dataset="coil_del"),
        "all cells": _cell("maml"),
    }
    new = [CellStatus(cell, State.MISSING) for cell in cells.values()]
    expected = expected_seconds([*known, before, slow, *new])
    assert expected[before.cell] == 500
    assert {like: expected[cell] for like, cell in cells.items()} == {
        "other seeds": 20,
        "other shots": 20,
        "other shots of Reddit": 1000,
        "other inputs": 1000,
        "all of pn": 55,  # the median of 10, 20, 90 and 1000
        "all cells": 90,  # and 500
    }
    assert expected_seconds(new) == {}


def test_the_models_that_take_longest_begin_first_and_stay_together() -> None:
    # The two cells of gin share a model: together they take longer than the one of maml.
    cells = {_cell("pn"): 5.0, _cell("gin"): 30.0, _cell("maml"): 50.0, _cell("gin", 10): 40.0}
    works = [work_of(cell, {}) for cell in cells]
    assert [work.cell for work in starting_order(works, cells)] == [
        _cell("gin"),
        _cell("gin", 10),
        _cell("maml"),
        _cell("pn"),
    ]
    wanted = starting_order(works, cells, ["*-pn-*", "*-10shot-gin-*", "*"])
    assert [work.cell.model for work in wanted] == ["pn", "gin", "gin", "maml"], "as they were asked for"
    ungrouped = [work.cell for work in starting_order(works, {})]
    assert ungrouped == [_cell("pn"), _cell("gin"), _cell("gin", 10), _cell("maml")], "as they were listed"
