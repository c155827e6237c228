from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.catalog import dataset, load_catalog
from fsgc.data.splits import PARTS, Split, SplitSettings, make_split
from fsgc.errors import SettingsError, StoreError
from fsgc.integrity import write_sealed

# Table 5 of the paper.
TABLE_5 = {
    "triangles": (3, {1, 3, 4, 6, 7, 8, 9}, set(), {2, 5, 10}),
    "letter_high": (4, {0, 1, 2, 3, 5, 7, 9, 10, 12, 13, 14}, set(), {4, 6, 8, 11}),
    "enzymes": (2, {1, 3, 5, 6}, set(), {2, 4}),
    "reddit": (4, {1, 3, 5, 6, 7, 9, 11}, set(), {2, 4, 8, 10}),
    "coil_del": (5, set(range(64)), set(range(64, 80)), set(range(80, 100))),
    "graph_r52": (
        2,
        {3, 4, 6, 7, 8, 9, 10, 12, 15, 18, 19, 21, 22, 23, 24, 25, 26, 27},
        {2, 5, 11, 13, 14},
        {0, 1, 16, 17, 20},
    ),
}


@pytest.mark.parametrize("key", TABLE_5)
def test_the_catalog_is_table_5(key: str) -> None:
    entry = dataset(key)
    assert (entry.way, set(entry.base), set(entry.validation), set(entry.novel)) == TABLE_5[key]


def _classes(key: str, per_class: int, shuffle: int = 0) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    y = np.repeat(np.array(dataset(key).classes), per_class)
    return np.random.default_rng(shuffle).permutation(y)


@given(st.sampled_from(sorted(load_catalog())), st.integers(5, 40), st.integers(0, 2**31), st.integers(0, 99))
def test_parts_are_disjoint_complete_and_of_the_right_classes(key: str, size: int, seed: int, order: int) -> None:
    entry, y = dataset(key), _classes(key, size, order)
    split = make_split(entry, y, seed)
    pools = {part: split.pools(y, part) for part in PARTS}
    every = np.concatenate([graphs for part in PARTS for graphs in pools[part].values()])
    assert sorted(every.tolist()) == list(range(len(y)))
    assert set(pools["train"]) == set(entry.base)
    assert set(pools["val"]) == set(entry.validation or entry.base)
    assert set(pools["test"]) == set(entry.novel)
    for part in PARTS:
        for c, graphs in pools[part].items():
            assert (y[graphs] == c).all()


@pytest.mark.parametrize(("key", "size", "kept"), [("enzymes", 100, 20), ("reddit", 101, 20), ("triangles", 201, 40)])
def test_a_fifth_of_each_base_class_is_held_out(key: str, size: int, kept: int) -> None:
    y = _classes(key, size)
    split = make_split(dataset(key), y)
    assert {len(graphs) for graphs in split.pools(y, "val").values()} == {kept}
    assert {len(graphs) for graphs in split.pools(y, "train").values()} == {size - kept}


def test_the_seed_and_nothing_else_decides_what_is_held_out() -> None:
    y = _classes("triangles", 30)
    first, again, other = (make_split(dataset("triangles"), y, seed).held_out for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_novel_graphs_do_not_influence_the_split() -> None:
    entry, y = dataset("triangles"), _classes("triangles", 30)
    fewer = y[~np.isin(y, entry.novel) | (np.arange(len(y)) % 2 == 0)]
    kept = np.flatnonzero(~np.isin(y, entry.novel) | (np.arange(len(y)) % 2 == 0))
    np.testing.assert_array_equal(kept[make_split(entry, fewer).held_out], make_split(entry, y).held_out)


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    y = _classes("letter_high", 20)
    split = make_split(dataset("letter_high"), y, seed=3)
    split.save(tmp_path / "a.json")
    split.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    loaded = Split.load(tmp_path / "a.json")
    assert (loaded.base, loaded.validation, loaded.novel) == (split.base, split.validation, split.novel)
    np.testing.assert_array_equal(loaded.held_out, split.held_out)


def test_bad_splits_are_refused(tmp_path: Path) -> None:
    entry, y = dataset("enzymes"), _classes("enzymes", 10)
    split = make_split(entry, y)
    with pytest.raises(StoreError, match="is in 0 parts"):
        replace(split, novel=(2,)).check(y)
    with pytest.raises(StoreError, match="is in 2 parts"):
        replace(split, novel=(1, 2, 4)).check(y)
    with pytest.raises(StoreError, match="leaves no val graphs in class 1"):
        replace(split, held_out=split.held_out[:0]).check(y)
    with pytest.raises(StoreError, match="for 60 graphs, but there are 59"):
        split.pools(y[:-1], "train")
    with pytest.raises(SettingsError, match=r"^held_out_share must be below 1, got 1\.5$"):
        SplitSettings(held_out_share=1.5)
    with pytest.raises(StoreError, match="does not exist"):
        Split.load(tmp_path / "no.json")
    write_sealed(tmp_path / "bad.json", {"kind": "fsgc.split", "version": 1})
    with pytest.raises(StoreError, match="damaged"):
        Split.load(tmp_path / "bad.json")
    write_sealed(tmp_path / "bad.json", {"kind": "x", "version": 1})
    with pytest.raises(StoreError, match="not a split"):
        Split.load(tmp_path / "bad.json")


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    """A held-out graph that is another one would be trained on."""
    split = make_split(dataset("enzymes"), _classes("enzymes", 10))
    split.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    content["held_out"][0] += 1
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(StoreError, match=r"x\.json is damaged: its content and its SHA-256 do not agree; delete it"):
        Split.load(tmp_path / "x.json")
    del content["sha256"]
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(StoreError, match="has no digest"):
        Split.load(tmp_path / "x.json")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_validation_classes_are_base_classes_that_do_not_train(seed: int) -> None:
    entry = dataset("triangles")
    y = np.repeat(entry.classes, 50)
    split = make_split(entry, y, seed, SplitSettings(validation="classes"))
    assert len(split.validation) == entry.way
    assert set(split.validation) | set(split.base) == set(entry.base)
    assert not set(split.validation) & set(split.base)
    assert split.novel == entry.novel
    train, val = (np.concatenate(list(split.pools(y, part).values())) for part in ("train", "val"))
    assert len(split.held_out) == 0
    assert set(y[train]) == set(split.base)
    assert set(y[val]) == set(split.validation)


def test_other_seeds_take_other_validation_classes() -> None:
    entry = dataset("triangles")
    y = np.repeat(entry.classes, 50)
    chosen = {make_split(entry, y, seed, SplitSettings(validation="classes")).validation for seed in range(8)}
    assert len(chosen) > 3


def test_too_few_base_classes_cannot_spare_any() -> None:
    entry = replace(dataset("enzymes"), way=3, novel=(2, 4, 5), base=(1, 3, 6))
    with pytest.raises(SettingsError, match="must leave 3 to train on, but there are 3"):
        make_split(entry, np.repeat([1, 2, 3, 4, 5, 6], 40), 0, SplitSettings(validation="classes"))
