"""The graphs of several episodes side by side, and pooling that drops nodes of them.

Pooling keeps `⌈ratio · n⌉` nodes of a graph, whatever the weights: where the nodes of every level come to be is known
beforehand, and only which nodes are kept is found anew. What the first convolution takes depends on no weights and is
computed once for all steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.as_maml.read_outs import GraphRows
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.padded import PaddedNodes


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The neighbours of each of `R` rows, and the row itself; what fills up has an empty neighbourhood.

    Attributes:
        source: int64 `[E]`, members of the neighbourhood of row 0, then of row 1, …
        target: int64 `[E]`, whose neighbourhood it is, ascending.
        pointer: int64 `[R+1]`; row `v` has the members `source[pointer[v]:pointer[v+1]]`.
        root: whether a convolution takes the row itself beside the mean over the others, or the mean over all.
    """

    source: Tensor
    target: Tensor
    pointer: Tensor
    root: bool

    @classmethod
    def of(cls, source: Tensor, target: Tensor, rows: int, root: bool) -> Neighbourhoods:
        """From members and whose they are, ordered by the latter."""
        return cls(source, target, F.pad(torch.bincount(target, minlength=rows).cumsum(0), (1, 0)), root)

    @property
    def others(self) -> Tensor:
        """Members of each neighbourhood but for the row itself, int64 `[R, 1]`."""
        return self.pointer.diff().sub_(1).clamp_(min=0).unsqueeze(1)

    def sum(self, x: Tensor) -> Tensor:
        """`Σ x[u]` over the neighbourhood of each row: `[R, d]` to `[R, d]`. Graphs are undirected: its own adjoint."""
        return torch.embedding_bag(x, self.source, self.pointer, include_last_offset=True)[0]

    def sum_of_others(self, x: Tensor) -> Tensor:
        """The same without the row itself, of one column: `[B, n]` to `[B, n]`."""
        return self.sum(x.reshape(-1, 1)).view(x.shape).sub_(x)

    def average(self, x: Tensor) -> Tensor:
        """What a convolution takes: `[B, n, d]` to the mean over the neighbourhood, `[B, n, d]`.

        With `root` the mean over the others and, beside it, the row itself, `[B, n, 2·d]`.
        """
        rows = x.flatten(0, 1)
        total = self.sum(rows)
        if not self.root:
            return total.mul_(self._share(x.dtype)).view(x.shape)
        return torch.cat([total.sub_(rows).mul_(self._share(x.dtype)).view(x.shape), x], 2)

    def average_adjoint(self, grad: Tensor) -> Tensor:
        """The adjoint of `average`."""
        if not self.root:
            return self.sum(grad.flatten(0, 1) * self._share(grad.dtype)).view(grad.shape)
        means, own = grad.chunk(2, 2)
        means = means.flatten(0, 1) * self._share(grad.dtype)
        return own + self.sum(means).sub_(means).view(own.shape)

    def among(self, new_row: Tensor, rows: int) -> Neighbourhoods:
        """Those of the rows that are kept; `new_row` is where a row goes, -1 where it is dropped."""
        source, target = new_row.index_select(0, self.source), new_row.index_select(0, self.target)
        inside = (source | target).ge(0).nonzero().view(-1)  # -1 has every bit set
        return Neighbourhoods.of(source.index_select(0, inside), target.index_select(0, inside), rows, self.root)

    def _share(self, dtype: torch.dtype) -> Tensor:
        """One over the rows that a mean is taken of, `[R, 1]`."""
        if dtype not in self._shares:
            members = self.others if self.root else self.others + 1
            self._shares[dtype] = members.clamp(min=1).to(dtype).reciprocal_()
        return self._shares[dtype]

    @cached_property
    def _shares(self) -> dict[torch.dtype, Tensor]:
        return {}


class Kept(NamedTuple):
    """Which nodes a pooling keeps.

    Attributes:
        row: int64 `[B · n']`, the former row of each row of the next level.
        new_row: int64 `[B · n]`, the next row of each former one, -1 where it is dropped.
    """

    row: Tensor
    new_row: Tensor


class Pooling:
    """From one level to the next, as far as it does not depend on weights.

    Args:
        before: where the nodes of this level are.
        after: where those of the next are.
    """

    def __init__(self, before: PaddedNodes, after: PaddedNodes) -> None:
        self.after = after
        self.graphs = GraphRows(after)
        segments = before.segments
        device = segments.index.device
        # One key orders rows by segment and, as gates are within ±1, the best of each segment first.
        self.key = 4.0 * segments.index.double()
        rank = torch.arange(len(segments.index), device=device) - segments.pointer.index_select(0, segments.index)
        keep = F.pad(after.counts, (0, 1)).flatten().index_select(0, segments.index)
        self.best = (rank < keep).nonzero().flatten()
        # What fills up the next level repeats the first row of its episode: gathering is then all there is to do.
        self.filled = (torch.arange(len(after.counts), device=device) * before.size).repeat_interleave(after.size)

    def choose(self, gate: Tensor) -> Kept:
        """The nodes of highest gate, `[B, n]`, of each graph, the first of equal ones; they stay in their order."""
        # An episode that has diverged must not disturb the order of the others.
        gates = gate.flatten().double().nan_to_num_(nan=-1.0)
        best = (self.key - gates).argsort(stable=True).index_select(0, self.best)
        none = torch.full_like(self.key, -1, dtype=torch.int64)
        place = torch.zeros_like(none).index_fill_(0, best, 1).cumsum_(0).index_select(0, best).sub_(1)
        place = self.after.rows.index_select(0, place)
        return Kept(self.filled.index_copy(0, place, best), none.index_copy_(0, best, place))


@dataclass(frozen=True, eq=False)
class PooledGraphs:
    """The graphs of `B` episodes, `M` each, before anything is computed on them.

    Attributes:
        inputs: `[B, n, F]`, or `[B, n, 2·F]`, what the first convolution takes (`Neighbourhoods.average`).
        near: the neighbourhoods of the `B · n` rows.
        poolings: from each level to the next.
    """

    inputs: Tensor
    near: Neighbourhoods
    poolings: tuple[Pooling, ...]

    @classmethod
    def make(cls, tensors: GraphTensors, graphs: Tensor, levels: int, ratio: float, root: bool) -> PooledGraphs:
        """Take the given graphs, `[B, M]`, to be pooled `levels` times; `root` as in `Neighbourhoods`."""
        batch = tensors.batch(graphs)
        counts = [batch.num_nodes.view(graphs.shape)]
        for _ in range(levels):
            counts.append(pooled_counts(counts[-1], ratio))
        nodes = [PaddedNodes.make(level) for level in counts]
        rows = nodes[0].rows
        target, source = (rows.index_select(0, ends) for ends in (batch.adjacency.target, batch.adjacency.source))
        # Each node itself, then its neighbours: an edge moves up by the nodes up to its target.
        place = torch.arange(len(source), device=rows.device) + batch.adjacency.target + 1
        own = batch.adjacency.pointer[:-1] + torch.arange(len(rows), device=rows.device)
        source, target = (
            ends.new_empty(len(place) + len(own)).index_copy_(0, place, ends).index_copy_(0, own, rows)
            for ends in (source, target)
        )
        near = Neighbourhoods.of(source, target, len(nodes[0].segments.index), root)
        x = nodes[0].place(batch.features.rows())
        return cls(near.average(x), near, tuple(Pooling(*pair) for pair in pairwise(nodes)))


def pooled_counts(counts: Tensor, ratio: float) -> Tensor:
    """`⌈ratio · n⌉`, as PyG's pooling keeps them."""
    return (ratio * counts.float()).ceil().long()
