"""Graphs of several tasks side by side, each task with weights of its own, and pooling that drops nodes of them.

Rows are `[B, M, d]`: the nodes of a task's graphs one after the other, filled up to the largest task. What fills up
belongs to a segment of its own at the end of each task, so that the rows of every graph are contiguous and sums over
them stay one pass. Pooling keeps `⌈ratio · n⌉` nodes of a graph, whatever the weights: all shapes are known beforehand,
and only which nodes are kept is found anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.nn.adjacency import Adjacency
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.segments import Segments


@dataclass(frozen=True, eq=False)
class LevelShape:
    """Where the nodes of a level are.

    Attributes:
        counts: int64 `[B, G]`, nodes of each graph.
        segments: of `B · (G + 1)` segments over `B · M` rows: per task its graphs and what fills up.
        rows: int64 `[n]`, the rows of nodes, ascending.
        filler: int64 `[B · M]`, the first row of each row's task in the level before.
    """

    counts: Tensor
    segments: Segments
    rows: Tensor
    filler: Tensor

    @classmethod
    def of(cls, counts: Tensor, rows_before: int) -> LevelShape:
        """The shape for the given counts, `[B, G]`, after a level with `rows_before` rows per task."""
        tasks = len(counts)
        totals = counts.sum(1)
        size = int(totals.max())
        sizes = torch.cat([counts, (size - totals).unsqueeze(1)], 1).flatten()
        segments = Segments.from_sizes(sizes, tasks * size)
        place = torch.arange(size, device=counts.device)
        rows = (place < totals.unsqueeze(1)).flatten().nonzero().flatten()
        task = torch.arange(tasks, device=counts.device).repeat_interleave(size)
        return cls(counts, segments, rows, task * rows_before)

    @property
    def size(self) -> int:
        """`M`, the rows of a task."""
        return len(self.filler) // len(self.counts)

    def mean(self, x: Tensor) -> Tensor:
        """Average over the nodes of each graph: `[B, M, d]` to `[B, G, d]`."""
        return self._graphs(self.segments.mean(x.flatten(0, 1)))

    def max(self, x: Tensor) -> Tensor:
        """Largest of the nodes of each graph: `[B, M, d]` to `[B, G, d]`."""
        rows = x.flatten(0, 1)
        largest = rows.new_zeros(len(self.segments.sizes), rows.shape[1])
        index = self.segments.index.unsqueeze(1).expand_as(rows)
        return self._graphs(largest.scatter_reduce(0, index, rows, "amax", include_self=False))

    def _graphs(self, per_segment: Tensor) -> Tensor:
        tasks, graphs = self.counts.shape
        return per_segment.view(tasks, graphs + 1, -1)[:, :graphs]


@dataclass(frozen=True, eq=False)
class TaskGraphs:
    """The graphs of `B` tasks, `G` each, before anything is computed on them.

    Attributes:
        x: `[B, M, F]`, node features.
        neighbour_mean: `[B, M, F]`, their averages over neighbours, which depend on no weights.
        adjacency: of the `B · M` rows.
        shapes: of the input and of each pooled level.
    """

    x: Tensor
    neighbour_mean: Tensor
    adjacency: Adjacency
    shapes: tuple[LevelShape, ...]

    @classmethod
    def of(cls, tensors: GraphTensors, graphs: Tensor, levels: int, ratio: float) -> TaskGraphs:
        """Take the given graphs, `[B, G]`, to be pooled `levels` times."""
        batch = tensors.batch(graphs)
        counts = batch.num_nodes.view(graphs.shape)
        # The nodes of the batch are compact: a task's filler is its first node there.
        shape = LevelShape.of(counts, 0)
        starts = F.pad(counts.sum(1).cumsum(0), (1, 0))[:-1]
        node = starts.repeat_interleave(shape.size).index_put((shape.rows,), torch.arange(len(shape.rows)).to(starts))
        degree = torch.zeros_like(node).index_put((shape.rows,), batch.adjacency.degree)
        source = shape.rows.index_select(0, batch.adjacency.source)
        adjacency = Adjacency.from_degree(source, degree)
        features = batch.features.rows().index_select(0, node)
        means = neighbour_mean(features, adjacency)
        shapes = [shape]
        for _ in range(levels):
            counts = pooled_counts(counts, ratio)
            shapes.append(LevelShape.of(counts, shapes[-1].size))
        tasks = len(graphs)
        return cls(features.view(tasks, shape.size, -1), means.view(tasks, shape.size, -1), adjacency, tuple(shapes))


def pooled_counts(counts: Tensor, ratio: float) -> Tensor:
    """`⌈ratio · n⌉`, as PyG's pooling keeps them."""
    return (ratio * counts.float()).ceil().long()


def neighbour_mean(x: Tensor, adjacency: Adjacency) -> Tensor:
    """Average over the neighbours of each row, zero where there are none: `[n, d]` to `[n, d]`."""
    return adjacency.neighbour_sum(x) / adjacency.degree.clamp(min=1).to(x.dtype).unsqueeze(1)


def keep_best(
    x: Tensor, score: Tensor, adjacency: Adjacency, before: LevelShape, after: LevelShape
) -> tuple[Tensor, Adjacency]:
    """Keep the nodes of highest score of each graph and the edges among them (SAGPool; Lee et al. 2019).

    Args:
        x: `[B, M, d]`.
        score: `[B, M]`, before its tanh.
        adjacency: of the `B · M` rows.
        before: the shape of this level.
        after: that of the next.

    Returns:
        `tanh(score) · x` of the nodes kept, `[B, M', d]`, in their former order, and the edges among them.
    """
    gate = score.flatten().tanh()
    node, new_row = _choose(gate.detach(), before, after)
    source = new_row.index_select(0, adjacency.source)
    target = new_row.index_select(0, adjacency.target)
    inside = (source >= 0) & (target >= 0)
    degree = torch.bincount(target[inside], minlength=len(node))
    kept = x.flatten(0, 1).index_select(0, node) * gate.index_select(0, node).unsqueeze(1)
    return kept.view(len(x), after.size, -1), Adjacency.from_degree(source[inside], degree)


def _choose(gate: Tensor, before: LevelShape, after: LevelShape) -> tuple[Tensor, Tensor]:
    """The former row of each row of the next level, and the next row of each former one, -1 where it is dropped."""
    segments = before.segments
    # One key orders rows by segment and, as gates are within ±1, the best of each segment first.
    order = (4 * segments.index - gate.double()).argsort(stable=True)
    rank = torch.arange(len(order), device=gate.device) - segments.pointer.index_select(0, segments.index)
    keep = F.pad(after.counts, (0, 1)).flatten().index_select(0, segments.index)
    chosen = torch.zeros_like(rank, dtype=torch.bool).index_put((order,), rank < keep)
    kept = chosen.nonzero().flatten()
    node = after.filler.index_put((after.rows,), kept)
    return node, torch.full_like(rank, -1).index_put((kept,), after.rows)
