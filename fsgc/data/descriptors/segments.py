"""Sums, moments and quantiles over the nodes (or eigenvalues) of each graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.arrays import Floats, Ints


def owners(pointer: Ints) -> Ints:
    """The graph of each row, `[V]`, given where each graph's rows begin, `[G+1]`."""
    return np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))


def sums(values: npt.NDArray[Any], pointer: Ints) -> Floats:
    """Sums of the rows `[V, …]` of each graph, `[G, …]`; every graph has a node."""
    if len(pointer) == 1:
        return np.zeros((0, *values.shape[1:]))
    return np.asarray(np.add.reduceat(values.astype(np.float64, copy=False), pointer[:-1], axis=0))


def means(values: npt.NDArray[Any], pointer: Ints) -> Floats:
    """Means of the rows `[V, …]` of each graph, `[G, …]`."""
    sizes = np.diff(pointer).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(sums(values, pointer) / sizes)


def deviations(values: npt.NDArray[Any], pointer: Ints) -> Floats:
    """Standard deviations of the rows `[V, …]` of each graph, `[G, …]`."""
    centred = values - np.repeat(means(values, pointer), np.diff(pointer), axis=0)
    return np.asarray(np.sqrt(means(centred**2, pointer)))


def ordered(values: npt.NDArray[Any], pointer: Ints) -> npt.NDArray[Any]:
    """The values `[V]` sorted within each graph, ascending."""
    return np.asarray(values[np.lexsort((values, owners(pointer)))])


def quantiles(values: npt.NDArray[Any], pointer: Ints, levels: Sequence[float]) -> Floats:
    """Quantiles of values `[V]` that ascend within each graph, `[G, levels]`; between two values, linearly."""
    sizes = np.diff(pointer)[:, None]
    place = np.asarray(levels) * (sizes - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, sizes - 1)
    first = pointer[:-1, None]
    low, high = values[first + below], values[first + above]
    return np.asarray(low + (place - below) * (high - low), dtype=np.float64)


def largest(values: npt.NDArray[Any], pointer: Ints, count: int) -> Floats:
    """The largest of values `[V]` that ascend within each graph, descending, `[G, count]`; 0 where there are fewer."""
    place = np.diff(pointer)[:, None] - 1 - np.arange(count)
    found = values[pointer[:-1, None] + np.maximum(place, 0)]
    return np.where(place >= 0, found, 0.0)


def histogram(group: Ints, column: Ints, groups: int, columns: int, weights: Floats | None = None) -> Floats:
    """How often each column occurs in each group, `[groups, columns]`."""
    counts = np.bincount(group * columns + column, weights, minlength=groups * columns)
    return counts.reshape(groups, columns).astype(np.float64)
