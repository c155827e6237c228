"""Drawing episodes, many at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.errors import SettingsError
from fsgc.random import generator

BLOCK = 500  # episodes drawn from one generator; a stream of episodes is a sequence of blocks

IntArray = npt.NDArray[np.integer[Any]]


def draw_distinct(rng: np.random.Generator, sizes: IntArray, count: int) -> npt.NDArray[np.int32]:
    """Draw `count` distinct numbers below `sizes[r]` for every row `r`, in uniformly random order; int32 `[R, count]`.

    Narrow ranges are shuffled; where a range has at least `count²` numbers, a row of independent draws is distinct more
    often than not, so that redrawing is cheaper than enumerating the range. Rows with a repetition are drawn anew in
    both cases, which makes every ordered choice exactly equally likely.
    """
    drawn = np.empty((len(sizes), count), dtype=np.int32)
    for rows, draw in (
        (np.flatnonzero(sizes < count * count), _first_of_shuffled),
        (np.flatnonzero(sizes >= count * count), _independent),
    ):
        pending = rows
        while len(pending):
            numbers, repeated = draw(rng, sizes[pending], count)
            drawn[pending] = numbers
            pending = pending[repeated]
    return drawn


def _first_of_shuffled(
    rng: np.random.Generator, sizes: IntArray, count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Sort the numbers of each range by random keys; tells which rows had equal keys among the first.

    A key is 32 random bits whose low ones give way to the number itself, so that sorting keys sorts numbers.
    """
    width = int(sizes.max())
    low = np.uint32((1 << (width - 1).bit_length()) - 1)
    # Raw words, not `integers`: their stream is fixed by Philox itself, whatever the version of NumPy.
    words = rng.bit_generator.random_raw((len(sizes) * width + 1) // 2)
    keys = words.view(np.uint32)[: len(sizes) * width].reshape(len(sizes), width)
    keys &= ~low
    keys |= np.arange(width, dtype=np.uint32)
    if int(sizes.min()) < width:
        keys[np.arange(width) >= sizes[:, None]] = np.iinfo(np.uint32).max
    keys.sort(axis=1)
    shuffled = keys[:, : count + 1]
    repeated = np.any((shuffled[:, 1:] ^ shuffled[:, :-1]) <= low, axis=1)
    return (keys[:, :count] & low).view(np.int32), repeated


def _independent(
    rng: np.random.Generator, sizes: IntArray, count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Draw every number on its own; tells which rows have one twice."""
    numbers = rng.integers(0, sizes[:, None], size=(len(sizes), count), dtype=np.int32)
    ordered = np.sort(numbers, axis=1)
    return numbers, (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def _draw_block(
    members: npt.NDArray[np.int32],
    first: IntArray,
    sizes: IntArray,
    way: int,
    per_class: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.int32]:
    """One block `[BLOCK, way, per_class]`; class `c` owns `members[first[c] : first[c] + sizes[c]]`."""
    classes = draw_distinct(rng, np.full(BLOCK, len(sizes)), way).reshape(-1)
    rank = draw_distinct(rng, sizes[classes], per_class)
    return np.take(members, first[classes, None] + rank).reshape(BLOCK, way, per_class)


def sample_episodes(
    pools: Sequence[IntArray], episodes: int, way: int, per_class: int, key: Sequence[str | int]
) -> npt.NDArray[np.int32]:
    """Draw `episodes` episodes of `way` distinct classes with `per_class` distinct graphs each.

    The first episodes of a longer request are those of a shorter one. What is drawn is the rank of a graph in its
    class's pool: renumbering the graphs of a dataset renumbers the episodes alike as long as the order of the graphs
    within each class stays; reordering graphs within a class changes which graphs meet.

    Args:
        pools: the graphs of each class.
        episodes: how many.
        way: N.
        per_class: K + Q.
        key: names the stream of random numbers, see `fsgc.random.generator`.

    Returns:
        int32 `[episodes, way, per_class]`, graph indices, class-major.
    """
    sizes = np.array([len(pool) for pool in pools])
    if way > len(pools):
        raise SettingsError(f"{way}-way episodes need {way} classes, there are {len(pools)}")
    if sizes.min() < per_class:
        raise SettingsError(f"{per_class} graphs per class wanted, the smallest class has {sizes.min()}")
    members = np.concatenate(pools).astype(np.int32)
    first = np.cumsum(sizes) - sizes

    def draw(block: int) -> npt.NDArray[np.int32]:
        return _draw_block(members, first, sizes, way, per_class, generator(*key, block=block))

    # NumPy releases the interpreter lock while it draws and sorts; blocks do not depend on each other.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        blocks = list(pool.map(draw, range(-(-episodes // BLOCK))))
    return np.concatenate(blocks)[:episodes] if blocks else np.empty((0, way, per_class), dtype=np.int32)
