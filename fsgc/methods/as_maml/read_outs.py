"""The read-out of a level, max ‖ mean over the nodes of each graph, as a linear map of the rows and its adjoint.

Where the largest value stands is found once in a pass. What a small change of the rows does to the read-out, and what a
gradient of the read-out means for the rows, are then sums and gathers; nodes that share the largest value share its
gradient, as in `scatter_reduce`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from fsgc.nn.padded import PaddedNodes


class GraphRows:
    """Which rows belong to which graph, as read-outs take it.

    Args:
        nodes: where the nodes of a level are; `n` rows of each of `B` episodes.
    """

    def __init__(self, nodes: PaddedNodes) -> None:
        self.index = nodes.segments.index
        self._pointer, self._sizes = nodes.segments.pointer, nodes.segments.sizes.view(len(nodes.counts), -1, 1)
        self._order = torch.arange(len(self.index), device=self.index.device)
        self._counts: dict[torch.dtype, Tensor] = {}

    def counts(self, dtype: torch.dtype) -> Tensor:
        """Rows of each graph and, last, of what fills up, at least 1, `[B, M+1, 1]`."""
        if dtype not in self._counts:
            self._counts[dtype] = self._sizes.clamp(min=1).to(dtype)
        return self._counts[dtype]

    def sum(self, x: Tensor) -> Tensor:
        """Sum the same: `[B, n, d]` to `[B, M+1, d]`."""
        sums = torch.embedding_bag(x.flatten(0, 1), self._order, self._pointer, include_last_offset=True)[0]
        return sums.view(len(x), -1, x.shape[2])

    def spread(self, values: Tensor) -> Tensor:
        """Repeat each graph's value on all of its rows, the adjoint: `[B, M+1, d]` to `[B, n, d]`."""
        rows = values.flatten(0, 1).index_select(0, self.index)
        return rows.view(len(values), -1, values.shape[2])

    def largest(self, x: Tensor) -> Tensor:
        """The largest value of each column: `[B, n, d]` to `[B, M+1, d]`."""
        rows = x.flatten(0, 1)
        result = rows.new_zeros(self._sizes.numel(), rows.shape[1])
        result.scatter_reduce_(0, self.index.unsqueeze(1).expand_as(rows), rows, "amax", include_self=False)
        return result.view(len(x), -1, x.shape[2])


@dataclass(frozen=True, eq=False)
class ReadOut:
    """The read-out of the rows of `B` episodes.

    Attributes:
        rows: `[B, n, d]`.
        graphs: which graph they belong to.
        largest: `[B, M+1, d]`, over the nodes of each graph.
        values: `[B, M, 2·d]`, the read-out.
    """

    rows: Tensor
    graphs: GraphRows
    largest: Tensor
    values: Tensor

    @classmethod
    def of(cls, x: Tensor, graphs: GraphRows) -> ReadOut:
        """Read out rows `[B, n, d]`."""
        largest = graphs.largest(x)
        mean = graphs.sum(x).div_(graphs.counts(x.dtype))
        return cls(x, graphs, largest, torch.cat([largest, mean], 2)[:, :-1])

    def change(self, x: Tensor) -> Tensor:
        """How a change of the rows, `[B, n, d]`, changes the read-out, `[B, M, 2·d]`."""
        total = self.graphs.sum(x)
        largest = self.graphs.sum(self._below * x).add_(total).div_(self._shared)
        return torch.cat([largest, total.div_(self.graphs.counts(x.dtype))], 2)[:, :-1]

    def change_adjoint(self, grad: Tensor) -> Tensor:
        """The adjoint of `change`: gradient of the read-out, `[B, M, 2·d]`, to that of the rows, `[B, n, d]`."""
        largest, mean = torch.constant_pad_nd(grad, (0, 0, 0, 1)).chunk(2, 2)
        largest = largest / self._shared
        both = torch.addcdiv(largest, mean, self.graphs.counts(grad.dtype))
        return self.graphs.spread(both).addcmul_(self._below, self.graphs.spread(largest))

    @cached_property
    def _below(self) -> Tensor:
        """0 where a row has the largest value of its graph, else -1, `[B, n, d]`.

        Arithmetic, since comparisons are slower. One more than this is the share of a row in the largest value.
        """
        at_rows = self.graphs.spread(self.largest)
        return torch.sub(self.rows, at_rows, out=at_rows).sign_()

    @cached_property
    def _shared(self) -> Tensor:
        """How many rows share the largest value, `[B, M+1, d]`."""
        return self.graphs.sum(self._below).add_(self.graphs.counts(self.rows.dtype)).clamp_(min=1)
