"""Weights of edges from similarities, and the average over neighbours that they give."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_NO_EDGE = -1e9


def attention(similarity: Tensor, threshold: float) -> Tensor:
    """Similarities to weights that sum to 1 in each row; what is at or below the threshold has none."""
    return torch.softmax(similarity.masked_fill(similarity <= threshold, _NO_EDGE), -1)


def average_over_neighbours(unit: Tensor, values: Tensor, edges: Tensor, threshold: float) -> Tensor:
    """`attention(U Uᵀ + edges) V`, for a graph of all samples: `[B, R, d]`, `[B, R, v]` and `[R, R]` to `[B, R, v]`."""
    return _Average.apply(unit, values, edges, threshold)  # type: ignore[no-untyped-call]


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
