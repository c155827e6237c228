"""Graphs that occur many times in a batch, as copies of a batch that has each of them once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.nn.graph_tensors import GraphBatch
from fsgc.nn.segments import Segments


@dataclass(frozen=True, eq=False)
class Copies:
    """`n` nodes of graphs that are copies of those of a batch with `m` nodes.

    Attributes:
        segments: which of the `n` nodes belong to which copy.
        origin: int64 `[n]`, the node of the batch that each node is a copy of.
        num_origins: `m`.
    """

    segments: Segments
    origin: Tensor
    num_origins: int

    @classmethod
    def make(cls, batch: GraphBatch, graphs: Tensor) -> Copies:
        """Copies of the given graphs of the batch, int64 `[g]`, positions in the batch, in that order."""
        sizes = batch.num_nodes.index_select(0, graphs)
        segments = Segments.from_sizes(sizes, int(sizes.sum()))
        origin = segments.ranges(batch.segments.pointer[:-1].index_select(0, graphs))
        return cls(segments, origin, int(batch.segments.pointer[-1]))

    def spread(self, rows: Tensor) -> Tensor:
        """Hand the rows of the batch's nodes to all their copies: `[m, d]` to `[n, d]`."""
        return _SpreadToCopies.apply(rows, self)  # type: ignore[no-untyped-call]

    @cached_property
    def of_origin(self) -> tuple[Tensor, Tensor]:
        """The copies of node 0, then of node 1, …, int64 `[n]`, and where those of each node begin, `[m+1]`."""
        counts = torch.bincount(self.origin, minlength=self.num_origins)
        return self.origin.argsort(stable=True), F.pad(counts.cumsum(0), (1, 0))


class _SpreadToCopies(torch.autograd.Function):
    """`rows[origin]`, whose gradient is a sum over copies: one embedding bag, where PyTorch adds row by row."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, copies: Copies) -> Tensor:
        ctx.copies = copies
        return rows.index_select(0, copies.origin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        order, begin = ctx.copies.of_origin
        grad = grads[0].contiguous()
        return F.embedding_bag(order, grad, begin, mode="sum", include_last_offset=True), None
