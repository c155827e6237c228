from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsgc.data.catalog import Dataset, dataset
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS, Split, make_split
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, FewerQueriesWarning, draw_episodes
from fsgc.errors import SettingsError, StoreError

SETTINGS = EpisodeSettings(queries=3, train_epochs=2, train_per_epoch=700, val=30, test=40)
ENTRY = dataset("enzymes")


def _graphs(per_class: int, entry: Dataset = ENTRY) -> GraphStore:
    y = np.repeat(np.array(entry.classes), per_class)
    nothing = np.zeros(0, dtype=np.int64)
    return GraphStore.from_edges(np.ones(len(y), dtype=np.int64), nothing, nothing, y)


GRAPHS = _graphs(40)
SPLIT = make_split(ENTRY, GRAPHS.y)


def _draw(path: Path, settings: EpisodeSettings = SETTINGS, seed: int = 0, split: Split = SPLIT) -> EpisodeStore:
    draw_episodes(path, GRAPHS, split, way=2, shots=5, seed=seed, settings=settings)
    return EpisodeStore.open(path)


def _files(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_shapes_attributes_and_membership(tmp_path: Path) -> None:
    store = _draw(tmp_path / "x.zarr")
    assert store.train(0).shape == store.train(1).shape == (700, 2, 8)
    assert (store.val.shape, store.test.shape) == ((30, 2, 8), (40, 2, 8))
    assert (store.way, store.shots, store.queries("test")) == (2, 5, 3)
    assert store.settings == SETTINGS
    assert store.attributes["graphs"] == GRAPHS.fingerprint()
    for part in PARTS:
        pools = SPLIT.pools(GRAPHS.y, part)
        assert set(store.attributes["classes"][part]) == set(pools)
        assert np.isin(store.part(part), np.concatenate(list(pools.values()))).all()
    assert (store.train(0) != store.train(1)).any(), "every epoch is new"


def test_one_file_per_epoch(tmp_path: Path) -> None:
    _draw(tmp_path / "x.zarr")
    assert sorted(p.name for p in (tmp_path / "x.zarr" / "train" / "c").iterdir()) == ["0", "1"]


def test_the_same_parameters_give_the_same_bytes(tmp_path: Path) -> None:
    _draw(tmp_path / "a.zarr")
    _draw(tmp_path / "b.zarr")
    assert _files(tmp_path / "a.zarr") == _files(tmp_path / "b.zarr")


def test_more_epochs_leave_the_earlier_ones_byte_for_byte(tmp_path: Path) -> None:
    few = _draw(tmp_path / "few.zarr")
    many = _draw(tmp_path / "many.zarr", replace(SETTINGS, train_epochs=5))
    for epoch in range(2):
        np.testing.assert_array_equal(few.train(epoch), many.train(epoch))
    earlier, later = _files(tmp_path / "few.zarr"), _files(tmp_path / "many.zarr")
    arrays = [name for name in earlier if "/c/" in name]
    assert arrays
    assert all(earlier[name] == later[name] for name in arrays)


def test_test_episodes_depend_on_the_test_seed_only(tmp_path: Path) -> None:
    first = _draw(tmp_path / "a.zarr")
    other_training = _draw(
        tmp_path / "b.zarr",
        replace(SETTINGS, train_epochs=1, train_per_epoch=10, val=5),
        seed=9,
        split=make_split(ENTRY, GRAPHS.y, seed=9),
    )
    other_test = _draw(tmp_path / "c.zarr", replace(SETTINGS, test_seed=1))
    np.testing.assert_array_equal(first.test, other_training.test)
    assert (first.train(0)[:10] != other_training.train(0)).any()
    assert (first.test != other_test.test).any()
    np.testing.assert_array_equal(first.train(0), other_test.train(0))


@pytest.mark.parametrize(
    ("shots", "expected"),
    # 100 graphs a class: 20 are left for validation, which for K = 10 leaves room for 10 queries instead of 15.
    [(5, {"train": 15, "val": 15, "test": 15}), (10, {"train": 15, "val": 10, "test": 15})],
)
def test_q_shrinks_to_what_the_smallest_class_allows(tmp_path: Path, shots: int, expected: dict[str, int]) -> None:
    graphs = _graphs(100)
    split = make_split(ENTRY, graphs.y)
    settings = EpisodeSettings(train_epochs=1, train_per_epoch=5, val=5, test=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draw_episodes(tmp_path / "x.zarr", graphs, split, 2, shots, 0, settings)
    store = EpisodeStore.open(tmp_path / "x.zarr")
    assert {part: store.queries(part) for part in PARTS} == expected
    assert store.val.shape[2] == shots + expected["val"]
    messages = [str(w.message) for w in caught if w.category is FewerQueriesWarning]
    if shots == 10:
        assert messages == [
            "enzymes, 10-shot, val: 10 instead of 15 queries per class, since the smallest class has 20 graphs"
        ]
    else:
        assert messages == []


def test_less_than_one_query_is_an_error_and_leaves_no_store(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"shots: 8 do not fit 'enzymes'.*8 val graphs.*use at most 7"):
        draw_episodes(tmp_path / "x.zarr", GRAPHS, SPLIT, 2, 8, 0, SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_bad_settings_and_epochs_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^train_epochs must be at least 1, got 0$"):
        EpisodeSettings(train_epochs=0)
    with pytest.raises(SettingsError, match="shots: 0"):
        draw_episodes(tmp_path / "x.zarr", GRAPHS, SPLIT, 2, 0, 0, SETTINGS)
    store = _draw(tmp_path / "x.zarr")
    with pytest.raises(SettingsError, match=r"epoch 2 is not stored.*raise episodes\.train_epochs"):
        store.train(2)


def test_damaged_and_missing_stores_are_our_errors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        EpisodeStore.open(tmp_path / "no.zarr")
    store = _draw(tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / "test" / "c" / "0" / "0" / "0").write_bytes(b"damaged")
    with pytest.raises(StoreError, match="damaged"):
        _ = store.test
    GRAPHS.save(tmp_path / "g.zarr")
    with pytest.raises(StoreError, match=r"holds 'fsgc\.graphs', expected 'fsgc\.episodes'"):
        EpisodeStore.open(tmp_path / "g.zarr")
