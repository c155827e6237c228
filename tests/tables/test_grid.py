from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.catalog import load_catalog
from fsgc.data.features import FEATURES
from fsgc.errors import FsgcError
from fsgc.methods.registry import METHODS
from fsgc.tables.grid import CellKey, Grid

ROOT = Path(__file__).parents[2]
LISTS = "paper:\n  datasets: [enzymes, reddit]\n  shots: [5, 10]\n  models: [pn, pn_tae]\n  seeds: [0, 3]\n"


def _load(tmp_path: Path, text: str) -> Grid:
    (tmp_path / "tables").mkdir(exist_ok=True)
    (tmp_path / "tables" / "params.yaml").write_text(text)
    return Grid.load(tmp_path)


def test_the_cells_are_the_product_of_the_lists(tmp_path: Path) -> None:
    cells = _load(tmp_path, LISTS).cells
    assert list(cells) == [CellKey(*each) for each in product(["enzymes", "reddit"], [5, 10], ["pn", "pn_tae"], [0, 3])]


def test_what_does_not_vary_with_the_seed_is_one_cell_for_all(tmp_path: Path) -> None:
    cells = _load(tmp_path, LISTS.replace("pn_tae", "wl").replace("[0, 3]", "[3, 7]")).cells
    assert len(cells) == len(set(cells)) == 2 * 2 * (2 + 1)
    assert {cell.seed for cell in cells if cell.model == "wl"} == {0}
    assert {cell.seed for cell in cells if cell.model == "pn"} == {3, 7}


def test_blocks_add_up_and_a_cell_of_two_blocks_is_one(tmp_path: Path) -> None:
    more = "more:\n  datasets: [enzymes]\n  shots: [5]\n  models: [pn]\n  seeds: [0, 1]\n"
    assert set(_load(tmp_path, LISTS + more).cells) == {*_load(tmp_path, LISTS).cells, CellKey("enzymes", 5, "pn", 1)}
    other = _load(tmp_path, LISTS + more + "  features: degree\n").cells
    assert len(other) == 16 + 2
    assert other[-1].name == "enzymes-5shot-pn-degree-seed1"


@given(
    st.sampled_from(sorted(load_catalog())),
    st.integers(1, 10**6),
    st.sampled_from(sorted(METHODS)),
    st.integers(0, 2**31 - 1),
    st.sampled_from(["dataset", *FEATURES]),
)
def test_a_name_tells_the_cell(dataset: str, shots: int, model: str, seed: int, features: str) -> None:
    cell = CellKey(dataset, shots, model, seed, features)
    assert CellKey.parse(cell.name) == cell


@pytest.mark.parametrize(
    "name", ["", "coil_del-10shot-pn", "coil_del-pn-seed0", "../x-5shot-pn-seed0", "a-5shot-b-seed0\n"]
)
def test_other_names_tell_none(name: str) -> None:
    assert CellKey.parse(name) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("enzymes", "enzyms", "did you mean 'enzymes'"),
        ("pn_tae", "pn_tea", "did you mean 'pn_tae'"),
        ("[5, 10]", "5", r"tables/params\.yaml: paper\.shots must be a list with at least one item"),
        ("[5, 10]", "[]", r"paper\.shots must be a list with at least one item"),
        ("[5, 10]", "[five]", r"paper\.shots: 'five' is not allowed"),
        ("[5, 10]", "[0]", r"paper\.shots: 0 is not allowed"),
        ("[5, 10]", "[5.0]", r"paper\.shots: 5\.0 is not allowed"),
        ("[0, 3]", "[true]", r"paper\.seeds: True is not allowed"),
        ("[0, 3]", "[-1]", r"paper\.seeds: -1 is not allowed"),
        ("[0, 3]", "[2147483648]", r"paper\.seeds: 2147483648 is not allowed"),
        ("[0, 3]", "[0, 0]", r"paper\.seeds: 0 is listed twice"),
        ("[enzymes, reddit]", "[[enzymes]]", r"paper\.datasets: \['enzymes'\] is not allowed"),
        ("[enzymes, reddit]", "[../../docs]", r"unknown dataset '\.\./\.\./docs'"),
        ("[pn, pn_tae]", "[{a: 1}]", r"paper\.models: \{'a': 1\} is not allowed"),
        ("pn_tae", "examples/cosine_prototypes.py:CosinePrototypes", r"cannot be a row of the tables.*registry\.py"),
        ("  seeds: [0, 3]\n", "", r"paper\.seeds must be a list"),
        ("seeds", "seed", r"paper\.seed is unknown; did you mean 'seeds'\?"),
        ("  seeds: [0, 3]\n", "  seeds: [0, 3]\n  features: colour\n", "features must be 'dataset', 'str"),
        ("  seeds: [0, 3]\n", "  seeds: [0]\n  features: degree+label\n", r"paper\.features must be one word, got 'd"),
        ("  seeds: [0, 3]\n", "  seeds: [0]\n  features: [degree]\n", r"paper\.features must be one word, got \['d"),
        (LISTS, "paper: [1]", r"paper must be a block with the lists datasets, shots, models, seeds, got \[1\]"),
        (LISTS, "- a", "must have keys and values at the top level"),
    ],
)  # fmt: skip
def test_bad_lists_are_refused_by_name(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(FsgcError, match=message):
        _load(tmp_path, LISTS.replace(old, new))


def test_the_lists_of_the_project_are_valid() -> None:
    blocks = yaml.safe_load((ROOT / "tables" / "params.yaml").read_text())
    cells = Grid.load(ROOT).cells
    assert len(cells) == len(set(cells))
    assert {cell.dataset for cell in cells} == {name for block in blocks.values() for name in block["datasets"]}
    assert {cell.model for cell in cells} == {name for block in blocks.values() for name in block["models"]}
