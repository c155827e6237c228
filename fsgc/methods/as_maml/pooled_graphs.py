"""The graphs of several episodes side by side, and pooling that drops nodes of them.

Pooling keeps `⌈ratio · n⌉` nodes of a graph, whatever the weights: where the nodes of every level come to be is known
beforehand, and only which nodes are kept is found anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.nn.adjacency import Adjacency
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.padded import PaddedNodes


@dataclass(frozen=True, eq=False)
class PooledGraphs:
    """The graphs of `B` episodes, `M` each, before anything is computed on them.

    Attributes:
        x: `[B, n, F]`, node features.
        neighbour_mean: `[B, n, F]`, their averages over neighbours, which depend on no weights.
        adjacency: of the `B · n` rows.
        levels: where the nodes are, of the input and of each pooled level.
    """

    x: Tensor
    neighbour_mean: Tensor
    adjacency: Adjacency
    levels: tuple[PaddedNodes, ...]

    @classmethod
    def make(cls, tensors: GraphTensors, graphs: Tensor, levels: int, ratio: float) -> PooledGraphs:
        """Take the given graphs, `[B, M]`, to be pooled `levels` times."""
        batch = tensors.batch(graphs)
        counts = [batch.num_nodes.view(graphs.shape)]
        for _ in range(levels):
            counts.append(pooled_counts(counts[-1], ratio))
        nodes, *pooled = (PaddedNodes.make(level) for level in counts)
        x, adjacency = nodes.place(batch.features.rows()), nodes.place_edges(batch.adjacency)
        means = neighbour_mean(x.flatten(0, 1), adjacency).view(x.shape)
        return cls(x, means, adjacency, (nodes, *pooled))


def pooled_counts(counts: Tensor, ratio: float) -> Tensor:
    """`⌈ratio · n⌉`, as PyG's pooling keeps them."""
    return (ratio * counts.float()).ceil().long()


def neighbour_mean(x: Tensor, adjacency: Adjacency) -> Tensor:
    """Average over the neighbours of each row, zero where there are none: `[n, d]` to `[n, d]`."""
    return adjacency.neighbour_sum(x) / adjacency.degree.clamp(min=1).to(x.dtype).unsqueeze(1)


def mean_of_graphs(x: Tensor, nodes: PaddedNodes) -> Tensor:
    """Average over the nodes of each graph: `[B, n, d]` to `[B, M, d]`."""
    return nodes.mean(x)[:, :-1]


def max_of_graphs(x: Tensor, nodes: PaddedNodes) -> Tensor:
    """Largest of the nodes of each graph: `[B, n, d]` to `[B, M, d]`."""
    rows = x.flatten(0, 1)
    largest = rows.new_zeros(len(nodes.segments.sizes), rows.shape[1])
    index = nodes.segments.index.unsqueeze(1).expand_as(rows)
    largest = largest.scatter_reduce(0, index, rows, "amax", include_self=False)
    return largest.view(len(x), -1, x.shape[2])[:, :-1]


def keep_best(
    x: Tensor, score: Tensor, adjacency: Adjacency, before: PaddedNodes, after: PaddedNodes
) -> tuple[Tensor, Adjacency]:
    """Keep the nodes of highest score of each graph and the edges among them (SAGPool; Lee et al. 2019).

    Args:
        x: `[B, n, d]`.
        score: `[B, n]`, before its tanh.
        adjacency: of the `B · n` rows.
        before: where the nodes of this level are.
        after: where those of the next are.

    Returns:
        `tanh(score) · x` of the nodes kept, `[B, n', d]`, in their former order, and the edges among them.
    """
    gate = score.flatten().tanh()
    row, new_row = _choose(gate.detach(), before, after)
    source = new_row.index_select(0, adjacency.source)
    target = new_row.index_select(0, adjacency.target)
    inside = (source >= 0) & (target >= 0)
    degree = torch.bincount(target[inside], minlength=len(row))
    kept = x.flatten(0, 1).index_select(0, row) * gate.index_select(0, row).unsqueeze(1)
    return kept.view(len(x), after.size, -1), Adjacency.from_degree(source[inside], degree)


def _choose(gate: Tensor, before: PaddedNodes, after: PaddedNodes) -> tuple[Tensor, Tensor]:
    """The former row of each row of the next level, and the next row of each former one, -1 where it is dropped.

    What fills up the next level repeats the first row of its episode: gathering is then all there is to do.
    """
    segments = before.segments
    # One key orders rows by segment and, as gates are within ±1, the best of each segment first.
    order = (4 * segments.index - gate.double()).argsort(stable=True)
    rank = torch.arange(len(order), device=gate.device) - segments.pointer.index_select(0, segments.index)
    keep = F.pad(after.counts, (0, 1)).flatten().index_select(0, segments.index)
    chosen = torch.zeros_like(rank, dtype=torch.bool).index_put((order,), rank < keep)
    kept = chosen.nonzero().flatten()
    first = torch.arange(len(after.counts), device=gate.device) * before.size
    row = first.repeat_interleave(after.size).index_put((after.rows,), kept)
    return row, torch.full_like(rank, -1).index_put((kept,), after.rows)
