"""From pooled graphs to logits, with first and second derivatives written out: three small linear layers.

The last layer of the embedder, then the two of the head with ReLU between them. Matrices have the bias as their last
row, `[B, d+1, d']`, and rows a one as their last column, so that a gradient is one product.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Matrices = tuple[Tensor, Tensor, Tensor]
"""Of the embedder's last layer, the head's first and its second; or gradients or tangents of the three."""


class Scored(NamedTuple):
    """What the forward pass keeps: the matrices, what enters each, `[B, M, d+1]`, and the logits `[B, M, N]`."""

    matrices: Matrices
    pooled: Tensor
    embedded: Tensor
    hidden: Tensor
    logits: Tensor


class Pulled(NamedTuple):
    """What the backward pass keeps: the gradients at the results of the three layers, the last of them `error`."""

    embedded: Tensor
    hidden: Tensor
    error: Tensor


class Pushed(NamedTuple):
    """What the tangent pass keeps: tangents of the matrices, of what enters each (last column 0), of the logits."""

    matrices: Matrices
    pooled: Tensor
    embedded: Tensor
    hidden: Tensor
    logits: Tensor


def forward(pooled: Tensor, ones: Tensor, matrices: Matrices) -> Scored:
    """Pooled graphs `[B, M, d]`, the column that takes the first bias `[B, M, 1]`, and the matrices."""
    embed, hidden, scores = matrices
    entering = torch.cat([pooled, ones], 2)
    embedded = F.pad(torch.bmm(entering, embed), (0, 1), value=1.0)
    between = F.pad(torch.bmm(embedded, hidden).clamp_(min=0), (0, 1), value=1.0)
    return Scored(matrices, entering, embedded, between, torch.bmm(between, scores))


def backward(at: Scored, error: Tensor) -> tuple[Tensor, Matrices, Pulled]:
    """The gradient at the logits to those at the pooled graphs and at the matrices."""
    embed, hidden, scores = at.matrices
    at_hidden = _relu_back(torch.bmm(error, _matrix(scores).mT), at.hidden)
    at_embedded = torch.bmm(at_hidden, _matrix(hidden).mT)
    entering, grads = (at.pooled, at.embedded, at.hidden), (at_embedded, at_hidden, error)
    first, second, third = (torch.bmm(x.mT, grad) for x, grad in zip(entering, grads, strict=True))
    return torch.bmm(at_embedded, _matrix(embed).mT), (first, second, third), Pulled(*grads)


def push(at: Scored, pooled: Tensor, matrices: Matrices) -> Pushed:
    """Tangents of the pooled graphs and of the matrices to those of all that follows."""
    entering = F.pad(pooled, (0, 1))
    embedded = F.pad(_product_rule(entering, at.matrices[0], at.pooled, matrices[0]), (0, 1))
    hidden = _product_rule(embedded, at.matrices[1], at.embedded, matrices[1])
    hidden = F.pad(_relu_back(hidden, at.hidden), (0, 1))
    logits = _product_rule(hidden, at.matrices[2], at.hidden, matrices[2])
    return Pushed(matrices, entering, embedded, hidden, logits)


def push_back(at: Scored, pulled: Pulled, pushed: Pushed, error: Tensor) -> tuple[Tensor, Matrices]:
    """The tangent of the gradient at the logits to those of the gradients at the pooled graphs and the matrices."""
    embed, hidden, scores = (_matrix(matrix).mT for matrix in at.matrices)
    d_embed, d_hidden, d_scores = (_matrix(matrix).mT for matrix in pushed.matrices)
    at_hidden = _relu_back(_product_rule(error, scores, pulled.error, d_scores), at.hidden)
    at_embedded = _product_rule(at_hidden, hidden, pulled.hidden, d_hidden)
    first, second, third = (
        _product_rule(tangent.mT, grad, x.mT, grad_tangent)
        for x, tangent, grad, grad_tangent in zip(
            (at.pooled, at.embedded, at.hidden), (pushed.pooled, pushed.embedded, pushed.hidden),
            pulled, (at_embedded, at_hidden, error), strict=True,
        )
    )  # fmt: skip
    return _product_rule(at_embedded, embed, pulled.embedded, d_embed), (first, second, third)


def cross_entropy_error(logits: Tensor, target: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The gradient of each episode's cross-entropy at its logits `[B, M, N]`, and the softmax it is made of.

    Args:
        logits: the logits.
        target: one-hot labels, `[M, N]`.
        count: what the sum over rows is divided by.
    """
    share = torch.softmax(logits, 2)
    return (share - target).div_(count), share


def cross_entropy_push(share: Tensor, logits: Tensor, count: int) -> Tensor:
    """The tangent of that gradient for one of the logits."""
    return (share * (logits - (share * logits).sum(2, keepdim=True))).div_(count)


def _matrix(with_bias: Tensor) -> Tensor:
    return with_bias[:, :-1]


def _relu_back(grad: Tensor, result: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward(grad, result[:, :, :-1], 0)


def _product_rule(left_tangent: Tensor, right: Tensor, left: Tensor, right_tangent: Tensor) -> Tensor:
    return torch.bmm(left_tangent, right).baddbmm_(left, right_tangent)
