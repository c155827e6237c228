from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from fsgc.episodes.sampling import BLOCK, draw_distinct, sample_episodes
from fsgc.errors import SettingsError
from fsgc.random import generator

KEY = ("test", 0)


@st.composite
def pools_and_shape(draw: st.DrawFn) -> tuple[list[np.ndarray[tuple[int], np.dtype[np.int64]]], int, int]:
    per_class = draw(st.integers(1, 6))
    sizes = draw(st.lists(st.integers(per_class, 60), min_size=2, max_size=8))
    graphs = np.random.default_rng(draw(st.integers(0, 99))).permutation(sum(sizes))
    way = draw(st.integers(1, len(sizes)))
    return np.split(graphs, np.cumsum(sizes)[:-1]), way, per_class


@given(pools_and_shape(), st.integers(1, 1200), st.integers(0, 2**31))
def test_every_episode_is_one(
    case: tuple[list[np.ndarray[tuple[int], np.dtype[np.int64]]], int, int], episodes: int, seed: int
) -> None:
    pools, way, per_class = case
    drawn = sample_episodes(pools, episodes, way, per_class, ("test", seed))
    assert drawn.shape == (episodes, way, per_class)
    assert drawn.dtype == np.int32
    class_of = np.empty(sum(map(len, pools)), dtype=int)
    for c, pool in enumerate(pools):
        class_of[pool] = c
    classes = class_of[drawn]
    assert (classes == classes[:, :, :1]).all(), "the graphs of a row are of one class"
    ordered = np.sort(classes[:, :, 0], axis=1)
    assert (ordered[:, 1:] != ordered[:, :-1]).all(), "the classes are distinct"
    graphs = np.sort(drawn, axis=2)
    assert (graphs[:, :, 1:] != graphs[:, :, :-1]).all(), "supports and queries are distinct"


@given(st.integers(0, 2 * BLOCK + 10), st.integers(0, 2 * BLOCK + 10))
def test_more_episodes_leave_the_first_unchanged(some: int, more: int) -> None:
    pools = [np.arange(20), np.arange(20, 50), np.arange(50, 900)]
    shorter, longer = sorted((some, more))
    long = sample_episodes(pools, longer, 2, 5, KEY)
    np.testing.assert_array_equal(long[:shorter], sample_episodes(pools, shorter, 2, 5, KEY))


def test_another_key_gives_other_episodes() -> None:
    pools = [np.arange(20), np.arange(20, 50)]
    assert (sample_episodes(pools, 10, 2, 5, ("a", 1)) != sample_episodes(pools, 10, 2, 5, ("a", 2))).any()


def test_blocks_do_not_repeat() -> None:
    drawn = sample_episodes([np.arange(30), np.arange(30, 60)], 3 * BLOCK, 2, 10, KEY)
    assert len(np.unique(drawn.reshape(len(drawn), -1), axis=0)) == len(drawn)


@pytest.mark.parametrize("size", [4, 5, 8, 9, 200])  # below 3² ranges are shuffled, above drawn and redrawn
def test_ordered_choices_are_equally_likely(size: int) -> None:
    count = 3
    drawn = draw_distinct(generator(*KEY), np.full(120_000, size), count)
    assert drawn.min() == 0
    assert drawn.max() == size - 1
    for place in range(count):
        assert chisquare(np.bincount(drawn[:, place], minlength=size)).pvalue > 1e-4
    if size <= 9:
        seen = Counter(map(tuple, drawn.tolist()))
        expected = list(permutations(range(size), count))
        assert set(seen) == set(expected)
        assert chisquare([seen[choice] for choice in expected]).pvalue > 1e-4


def test_a_range_no_longer_than_the_draw_is_a_permutation() -> None:
    drawn = draw_distinct(generator(*KEY), np.array([6, 6, 40, 7]), 6)
    assert sorted(drawn[0].tolist()) == sorted(drawn[1].tolist()) == list(range(6))
    assert drawn[2].max() < 40
    assert drawn[3].max() < 7


def test_every_class_is_drawn_about_equally_often() -> None:
    """Whatever the classes' sizes: the class is drawn first, the graphs then."""
    sizes = [25, 26, 40, 100, 1000, 4000]
    pools = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    drawn = sample_episodes(pools, 20_000, 2, 20, KEY)
    classes = np.searchsorted(np.cumsum(sizes), drawn[:, :, 0], side="right")
    assert chisquare(np.bincount(classes.reshape(-1), minlength=6)).pvalue > 1e-4


def test_renumbering_graphs_renumbers_episodes_if_the_order_within_classes_stays() -> None:
    pools = [np.array([0, 1, 2, 3]), np.array([4, 5, 6, 7]), np.array([8, 9, 10, 11])]
    renumber = np.array([1, 4, 7, 10, 0, 3, 6, 9, 2, 5, 8, 11])  # interleaves the classes, keeps each in order
    moved = [renumber[pool] for pool in pools]
    assert all((np.diff(pool) > 0).all() for pool in moved)
    original = sample_episodes(pools, 100, 2, 3, KEY)
    np.testing.assert_array_equal(sample_episodes(moved, 100, 2, 3, KEY), renumber[original])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SettingsError, match="3-way episodes need 3 classes, there are 2"):
        sample_episodes([np.arange(5), np.arange(5)], 1, 3, 2, KEY)
    with pytest.raises(SettingsError, match="6 graphs per class wanted, the smallest class has 5"):
        sample_episodes([np.arange(5), np.arange(5, 20)], 1, 2, 6, KEY)
