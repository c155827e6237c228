"""The nodes of several episodes side by side, `[B, n, d]`, every episode filled up to the largest.

Where episodes have weights of their own, a linear layer is one batched product `[B, n, d] · [B, d, d']`, which takes as
many rows of every episode. What fills up is a segment of its own at the end of each episode, so that the rows of every
graph are contiguous and sums over them stay one pass over memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fsgc.nn.adjacency import Adjacency
from fsgc.nn.segments import Segments


@dataclass(frozen=True, eq=False)
class PaddedNodes:
    """Where the nodes of `M` graphs of each of `B` episodes are among `B · n` rows.

    Attributes:
        counts: int64 `[B, M]`, nodes of each graph.
        size: `n`, the rows of an episode.
        segments: `B · (M + 1)` segments over the rows: of each episode its graphs, then what fills it up.
        rows: int64 `[V]`, the row of each node, ascending.
    """

    counts: Tensor
    size: int
    segments: Segments
    rows: Tensor

    @classmethod
    def make(cls, counts: Tensor) -> PaddedNodes:
        """The layout for graphs of so many nodes, `[B, M]`."""
        nodes = counts.sum(1)
        size = int(nodes.max())
        sizes = torch.cat([counts, (size - nodes).unsqueeze(1)], 1)
        segments = Segments.from_sizes(sizes.flatten(), len(counts) * size)
        is_node = torch.arange(size, device=counts.device) < nodes.unsqueeze(1)
        return cls(counts, size, segments, is_node.flatten().nonzero().flatten())

    def place(self, values: Tensor) -> Tensor:
        """The values of nodes at their rows, zero where there is no node: `[V, …]` to `[B, n, …]`."""
        rows = values.new_zeros(len(self.segments.index), *values.shape[1:]).index_copy(0, self.rows, values)
        return rows.view(len(self.counts), self.size, *values.shape[1:])

    def place_edges(self, adjacency: Adjacency) -> Adjacency:
        """The edges between nodes as edges between their rows; what fills up has no neighbours."""
        source = self.rows.index_select(0, adjacency.source)
        return Adjacency.from_degree(source, self.place(adjacency.degree).flatten())

    def sum(self, x: Tensor) -> Tensor:
        """Sum the nodes of each graph and, last, what fills up: `[B, n, d]` to `[B, M+1, d]`."""
        return self.segments.sum(x.flatten(0, 1)).view(len(x), -1, x.shape[2])

    def mean(self, x: Tensor) -> Tensor:
        """Average the same: `[B, n, d]` to `[B, M+1, d]`."""
        return self.segments.mean(x.flatten(0, 1)).view(len(x), -1, x.shape[2])

    def spread(self, values: Tensor) -> Tensor:
        """Repeat each graph's value on all of its rows: `[B, M+1, d]` to `[B, n, d]`."""
        return self.segments.spread(values.flatten(0, 1)).view(len(values), self.size, -1)
