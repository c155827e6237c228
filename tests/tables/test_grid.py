from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.errors import FsgcError
from fsgc.tables.grid import CellKey, Grid

LISTS = "datasets: [enzymes, reddit]\nshots: [5, 10]\nmodels: [pn, pn_tae]\nseeds: [0, 3]\n"


def _load(tmp_path: Path, text: str) -> Grid:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return Grid.load(path)


def test_the_cells_are_the_product_of_the_lists(tmp_path: Path) -> None:
    cells = _load(tmp_path, LISTS).cells()
    assert len(cells) == len(set(cells)) == 16
    assert cells[0] == CellKey("enzymes", 5, "pn", 0)
    assert cells[-1] == CellKey("reddit", 10, "pn_tae", 3)


def test_a_name_tells_the_cell() -> None:
    cell = CellKey("coil_del", 10, "pn_tae_mu", 2)
    assert cell.name == "coil_del-10shot-pn_tae_mu-seed2"
    assert CellKey.parse(cell.name) == cell
    assert CellKey.parse("coil_del-10shot-pn_tae_mu") is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("enzymes", "enzyms", "enzyms"),
        ("pn_tae", "pn_tea", "did you mean 'pn_tae'"),
        ("[5, 10]", "5", "shots must be a list"),
        ("[5, 10]", "[]", "shots must be a list with at least one item"),
        ("[5, 10]", "[five]", "shots: 'five' is no int"),
        ("[0, 3]", "[0, 0]", "seeds: 0 is no int or is listed twice"),
        ("seeds: [0, 3]\n", "", "seeds must be a list"),
    ],
)
def test_bad_lists_are_refused_by_name(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(FsgcError, match=message):
        _load(tmp_path, LISTS.replace(old, new))


def test_the_lists_of_the_project_are_valid() -> None:
    grid = Grid.load(Path(__file__).parents[2] / "tables" / "params.yaml")
    assert len(grid.cells()) == len(grid.datasets) * len(grid.shots) * len(grid.models) * len(grid.seeds)
