"""Weights of edges from similarities, and the average over neighbours that they give."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsgc.methods.faith.neighbour_kernel import find_neighbours, is_compiled_for

_NO_EDGE = -1e9


def attention(similarity: Tensor, threshold: float) -> Tensor:
    """Similarities to weights that sum to 1 in each row; what is at or below the threshold has none."""
    return torch.softmax(similarity.masked_fill(similarity <= threshold, _NO_EDGE), -1)


def average_over_neighbours(unit: Tensor, values: Tensor, place: Tensor, edges: Tensor, threshold: float) -> Tensor:
    """`attention(U Uᵀ + edges) V`, for a graph of all samples, where a sample is one of `D` distinct graphs.

    Args:
        unit: unit vectors of the distinct graphs, `[D, d]`.
        values: what is averaged, `[D, v]`.
        place: which of them each sample is, `[B, R]`.
        edges: added to the similarities, `[R, R]`.
        threshold: at or below which two samples are no neighbours.

    Returns:
        `[B, R, v]`.
    """
    if is_compiled_for(unit, place):
        neighbours = find_neighbours(unit, place[0], edges, threshold)
        if neighbours is not None:
            return neighbours.average(unit, values).unsqueeze(0)
    rows = (F.embedding(place, table) for table in (unit, values))
    return _Average.apply(*rows, edges, threshold)  # type: ignore[no-untyped-call]


class _Average(torch.autograd.Function):
    """With a gradient worked out by hand.

    The similarities `S = U Uᵀ` take `U` from both sides: `dU = (dS + dSᵀ) U` is one product of `R · R · d`, where
    autograd has two. With `O = A V`, `dS = A · (dO Vᵀ − Σ dO · O)`, the sum over a row of `O` in place of one of `S`.
    """

    @staticmethod
    def forward(ctx: Any, unit: Tensor, values: Tensor, edges: Tensor, threshold: float) -> Tensor:
        similarity = torch.baddbmm(edges.to(unit), unit, unit.mT)
        # Of a row without any edge the weights are equal whatever the similarities: there is no gradient through them.
        connected = (similarity.amax(-1, keepdim=True) > threshold).to(unit)
        weights = torch.softmax(similarity.masked_fill_(similarity <= threshold, _NO_EDGE), -1)
        averaged = weights @ values
        ctx.save_for_backward(unit, values, weights, averaged, connected)
        return averaged

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        unit, values, weights, averaged, connected = ctx.saved_tensors
        of_values = weights.mT @ grad
        grad = grad * connected
        of_similarity = torch.baddbmm((grad * averaged).sum(-1, keepdim=True), grad, values.mT, beta=-1).mul_(weights)
        return (of_similarity + of_similarity.mT) @ unit, of_values, None, None
