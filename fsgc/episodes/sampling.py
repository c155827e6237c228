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

BLOCK = 2500  # episodes drawn from one generator; a stream of episodes is a sequence of blocks

IntArray = npt.NDArray[np.integer[Any]]


def draw_distinct(rng: np.random.Generator, sizes: IntArray, count: int) -> npt.NDArray[np.int32]:
    """Draw `count` distinct numbers below `sizes[r]` for every row `r`, in uniformly random order; int32 `[R, count]`.

    Narrow ranges are shuffled; where a range has at least `count²` numbers, a row of independent draws is distinct
    more often than not, so that redrawing is cheaper than enumerating the range. Rows that did not come out are drawn
    again in both cases, which makes every ordered choice exactly equally likely.
    """
    is_wide = sizes >= count * count
    if is_wide.all() or not is_wide.any():
        return _draw_until_distinct(rng, sizes, count, bool(is_wide[0]))
    drawn = np.empty((len(sizes), count), dtype=np.int32)
    for wide in (False, True):
        drawn[is_wide == wide] = _draw_until_distinct(rng, sizes[is_wide == wide], count, wide)
    return drawn


def _draw_until_distinct(rng: np.random.Generator, sizes: IntArray, count: int, is_wide: bool) -> npt.NDArray[np.int32]:
    draw = _independent if is_wide else _first_of_shuffled
    numbers, again = draw(rng, sizes, count)
    while len(again):
        numbers[again], still = draw(rng, sizes[again], count)
        again = again[still]
    return numbers


def _words(rng: np.random.Generator, rows: int, columns: int) -> npt.NDArray[np.uint32]:
    """Random bits, `[rows, columns]`; raw words, whose stream is Philox's own whatever the version of NumPy."""
    words = rng.bit_generator.random_raw((rows * columns + 1) // 2)
    return words.view(np.uint32)[: rows * columns].reshape(rows, columns)


def _rows_with(mark: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """The rows in which anything is marked; the common case, none, is found without a reduction by rows."""
    return np.flatnonzero(np.any(mark, axis=1)) if mark.any() else np.zeros(0, dtype=np.intp)


def _first_of_shuffled(
    rng: np.random.Generator, sizes: IntArray, count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp]]:
    """Sort the numbers of each range by random keys; also gives the rows with equal keys among the first.

    A key is 32 random bits whose low ones give way to the number itself, so that sorting keys sorts numbers.
    """
    width = int(sizes.max())
    low = np.uint32((1 << (width - 1).bit_length()) - 1)
    keys = _words(rng, len(sizes), width)
    keys &= ~low
    keys |= np.arange(width, dtype=np.uint32)
    if int(sizes.min()) < width:
        keys[np.arange(width) >= sizes[:, None]] = np.iinfo(np.uint32).max
    keys.sort(axis=1)
    first = keys[:, : count + 1]
    again = _rows_with((first[:, 1:] ^ first[:, :-1]) <= low)
    return (first[:, :count] & low).view(np.int32), again


def _independent(
    rng: np.random.Generator, sizes: IntArray, count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp]]:
    """Draw every number on its own; also gives the rows with a repetition or a draw that would favour some numbers.

    The number is the high half of word times size; dropping the lowest `2^32 mod size` low halves leaves each number
    equally many words (Lemire, Fast random integer generation in an interval, 2019).
    """
    limit = sizes.astype(np.uint64)[:, None]
    product = _words(rng, len(sizes), count) * limit
    numbers = (product >> np.uint64(32)).astype(np.int32)
    biased = (product & np.uint64(2**32 - 1)) < np.uint64(2**32) % limit
    ordered = np.sort(numbers, axis=1)
    biased[:, 1:] |= ordered[:, 1:] == ordered[:, :-1]
    return numbers, _rows_with(biased)


def _draw_block(
    members: npt.NDArray[np.int32],
    first: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.int32],
    way: int,
    per_class: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.int32]:
    """One block `[BLOCK, way, per_class]`; class `c` owns `members[first[c] : first[c] + sizes[c]]`."""
    classes = draw_distinct(rng, np.full(BLOCK, len(sizes)), way).reshape(-1)
    place = draw_distinct(rng, sizes[classes], per_class)
    place += first[classes, None]
    return np.take(members, place).reshape(BLOCK, way, per_class)


def stream_key(dataset: str, part: str, way: int, shots: int, queries: int, seed: int) -> tuple[str | int, ...]:
    """The name of the stream that the episodes of a part of a dataset's split are drawn from."""
    return ("episodes", dataset, part, way, shots, queries, seed)


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
    sizes = np.array([len(pool) for pool in pools], dtype=np.int32)
    if way > len(pools):
        raise SettingsError(f"{way}-way episodes need {way} classes, there are {len(pools)}")
    if sizes.min() < per_class:
        raise SettingsError(f"{per_class} graphs per class wanted, the smallest class has {sizes.min()}")
    members = np.concatenate(pools).astype(np.int32)
    first = np.cumsum(sizes, dtype=np.int32) - sizes

    def draw(block: int) -> npt.NDArray[np.int32]:
        return _draw_block(members, first, sizes, way, per_class, generator(*key, block=block))

    # NumPy releases the interpreter lock while it draws and sorts; blocks do not depend on each other.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        blocks = list(pool.map(draw, range(-(-episodes // BLOCK))))
    return np.concatenate(blocks)[:episodes] if blocks else np.empty((0, way, per_class), dtype=np.int32)
