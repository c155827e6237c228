from __future__ import annotations

from fsgc.tables.grid import CellKey
from fsgc.tables.plan import work_of
from fsgc.tables.runner import starting_order
from fsgc.tables.status import CellStatus, State, expected_seconds


def _cell(model: str, shots: int = 5, seed: int = 0) -> CellKey:
    return CellKey("enzymes", shots, model, seed)


def test_a_cell_is_expected_to_take_what_it_took_else_what_its_like_took() -> None:
    known = [CellStatus(_cell("pn", seed=seed), State.CURRENT, seconds=each) for seed, each in enumerate((10, 20, 90))]
    before = CellStatus(_cell("gsm"), State.STALE, seconds=500)
    new = [CellStatus(_cell("pn", 10), State.MISSING), CellStatus(_cell("maml"), State.MISSING)]
    expected = expected_seconds([*known, before, *new])
    assert expected[before.cell] == 500
    assert expected[new[0].cell] == 20, "the median of pn"
    assert expected[new[1].cell] == 55, "the median of 10, 20, 90 and 500"
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
