"""Sums over neighbours, the one operation of a graph convolution that is not a matrix product.

It is computed as an embedding bag over each node's neighbours, whose cost grows with the edges.

Graphs are undirected, so the adjacency matrix is symmetric and the gradient of a neighbour sum is the same
neighbour sum of the gradient: the fast forward kernel serves both ways, and derivatives of any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.nn.segments import fold_batch


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Who is whose neighbour among the `n` nodes of a batch.

    Attributes:
        source: int64 `[E]`, neighbours of node 0, then of node 1, …; every edge comes in both directions.
        pointer: int64 `[n+1]`; node `v` has neighbours `source[pointer[v]:pointer[v+1]]`.
    """

    source: Tensor
    pointer: Tensor

    @classmethod
    def from_degree(cls, source: Tensor, degree: Tensor) -> Adjacency:
        """Take the neighbours of all nodes, one node after the other, and how many each node has, int64 `[n]`."""
        return cls(source, F.pad(degree.cumsum(0), (1, 0)))

    @property
    def degree(self) -> Tensor:
        """Neighbours of each node, int64 `[n]`."""
        return self.pointer.diff()

    @cached_property
    def target(self) -> Tensor:
        """The node whose neighbour `source` is, int64 `[E]`, ascending."""
        nodes = torch.arange(len(self.pointer) - 1, device=self.pointer.device)
        return nodes.repeat_interleave(self.degree, output_size=len(self.source))

    @cached_property
    def reverse(self) -> Tensor:
        """The position of the same edge in the other direction, int64 `[E]`.

        Edges are ordered by (target, source); ordered by (source, target) they are the reversed ones.
        """
        return self.source.argsort(stable=True)

    def neighbour_sum(self, x: Tensor) -> Tensor:
        """`out[v] = Σ x[u]` over the neighbours `u` of `v`: `[n, d]` to `[n, d]`."""
        return _NeighbourSum.apply(x, self)  # type: ignore[no-untyped-call]

    def weighted_sum(self, x: Tensor, weight: Tensor) -> Tensor:
        """`out[v] = Σ weight[e] · x[source[e]]` over the edges `e` into `v`: `[n, d]`, `[E]` to `[n, d]`."""
        return _WeightedSum.apply(x, weight, self)  # type: ignore[no-untyped-call]


def _bag(adjacency: Adjacency, x: Tensor, weight: Tensor | None = None) -> Tensor:
    source, pointer = adjacency.source, adjacency.pointer
    return F.embedding_bag(source, x, pointer, mode="sum", per_sample_weights=weight, include_last_offset=True)


class _NeighbourSum(torch.autograd.Function):
    """`A x` with `A` symmetric; its own adjoint."""

    @staticmethod
    def forward(x: Tensor, adjacency: Adjacency) -> Tensor:
        return _bag(adjacency, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Adjacency], output: Tensor) -> None:  # noqa: ARG004
        ctx.adjacency = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.adjacency.neighbour_sum(grads[0].contiguous()), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None], x: Tensor, adjacency: Adjacency) -> tuple[Tensor, int]:
        return adjacency.neighbour_sum(fold_batch(x, in_dims[0])).view(
            len(adjacency.pointer) - 1, info.batch_size, -1
        ), 1


class _WeightedSum(torch.autograd.Function):
    """`A_w x`; the adjoint in `x` is the same sum with the weights of the reversed edges."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, adjacency: Adjacency) -> Tensor:
        return _bag(adjacency, x, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Adjacency], output: Tensor) -> None:  # noqa: ARG004
        x, weight, ctx.adjacency = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight = ctx.saved_tensors
        adjacency: Adjacency = ctx.adjacency
        grad = grads[0].contiguous()
        grad_x = adjacency.weighted_sum(grad, weight.index_select(0, adjacency.reverse))
        at_target, at_source = grad.index_select(0, adjacency.target), x.index_select(0, adjacency.source)
        return grad_x, (at_target * at_source).sum(1), None
