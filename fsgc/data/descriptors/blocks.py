"""Matrix algebra on many graphs at once: graphs of similar size side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fsgc.arrays import Floats, Ints
from fsgc.data.laplacian import Folded

_ENTRIES = 2**21
"""Entries of a block's dense matrices, at least those of one graph: few enough for the processor's caches."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some graphs of similar size; `n` nodes together, at most `s` in one.

    Attributes:
        rows: `[n]`, which nodes of the folded graphs these are.
        graph: `[n]`, the graph of each.
        column: `[n]`, the number of each within its graph.
        size: s.
        matrix: sparse `[n, n]`, block-diagonal.
    """

    rows: Ints
    graph: Ints
    column: Ints
    size: int
    matrix: csr_array

    def identity(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[np.floating]:
        """The identity of every graph in dense form, `[n, s]`: row v has the entries of v and all nodes of its graph.

        `matrix @` such a dense form is the product of every graph's matrix with its own.
        """
        dense = np.zeros((len(self.rows), self.size), dtype)
        dense[np.arange(len(self.rows)), self.column] = 1
        return dense


def blocks(folded: Folded, weight: Floats) -> Iterator[Block]:
    """Folded graphs in blocks; `weight` `[E]` are the entries of their matrices."""
    sizes = folded.sizes
    order = np.argsort(sizes, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes[order])])
    offset = np.empty(len(sizes), np.int64)  # where the nodes of each graph begin when the graphs are ordered by size
    offset[order] = start[:-1]
    shift = offset[folded.edge_graph]
    nodes = int(start[-1])
    matrix = csr_array((weight, (folded.target + shift, folded.source + shift)), shape=(nodes, nodes))
    first = np.cumsum(sizes) - sizes
    part = np.cumsum(sizes[order] ** 2) // _ENTRIES
    for members in np.split(np.arange(len(order)), np.flatnonzero(np.diff(part)) + 1):
        if len(members) == 0:
            continue
        own = sizes[order[members]]
        low, high = int(start[members[0]]), int(start[members[-1] + 1])
        column = np.arange(low, high) - np.repeat(start[members], own)
        yield Block(
            rows=np.repeat(first[order[members]], own) + column,
            graph=np.repeat(order[members], own),
            column=column,
            size=int(own.max()),
            matrix=matrix[low:high, low:high],
        )
