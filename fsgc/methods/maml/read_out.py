"""LayerNorm, ReLU and pooling of the rows of episodes, with first and second derivatives written out.

The rows `t` come with the mean over their features taken off. With `r = (mean(t²) + eps)^-½` of each row:

    u = r · t,    y = ReLU(w · u + s),    z = the mean, or the sum, of y over the nodes of a graph

Weights are `[B, 1, d]`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.maml.row_maps import Parts, relu_back_
from fsgc.nn.fused_norm import EPS


class Read(NamedTuple):
    """What the forward pass keeps: weights `[B, 2, d]`, `u` and `y` of rows, `r` `[B, n, 1]`."""

    weights: Tensor
    unit: Tensor
    result: Tensor
    root: Tensor


class Pulled(NamedTuple):
    """What the backward pass keeps: `G`, `G · u` and the gradient at `t` of rows; `k`, the mean of `w · G · u`."""

    passed: Tensor
    product: Tensor
    grad: Tensor
    slope: Tensor


class Pushed(NamedTuple):
    """What the tangent pass keeps: tangents of the weights and of `u`, and `-dr / r`, `[B, n, 1]`."""

    weights: Tensor
    unit: Tensor
    shrink: Tensor


class ReadOut:
    """Rows to graphs.

    Args:
        parts: the graphs of each episode and, last, what fills it up.
        mean: whether pooling takes the mean, not the sum.
    """

    def __init__(self, parts: Parts, mean: bool) -> None:
        self.parts, self.mean = parts, mean

    def forward(self, t: Tensor, weights: Tensor) -> tuple[Tensor, Read]:
        """Rows `[B, n, d]`, which are overwritten, to graphs `[B, M, d]`."""
        scale, shift = torch.split(weights, 1, 1)
        square = torch.linalg.vector_norm(t, dim=-1, keepdim=True).square_()
        root = square.div_(t.shape[2]).add_(EPS).rsqrt_()
        unit = t.mul_(root)
        result = torch.addcmul(shift, unit, scale).clamp_(min=0)
        return self._pool(result), Read(weights, unit, result, root)

    def backward(self, at: Read, grad: Tensor) -> tuple[Tensor, Tensor, Pulled]:
        """The gradient at graphs to those at `t` and at the weights."""
        scale, _ = torch.split(at.weights, 1, 1)
        passed = self._unpool(at, grad)
        product = passed * at.unit
        slope = torch.bmm(product, scale.mT).div_(product.shape[2])
        found = (passed * scale).addcmul_(at.unit, slope, value=-1).mul_(at.root)
        return found, torch.stack([product.sum(1), passed.sum(1)], 1), Pulled(passed, product, found, slope)

    def push(self, at: Read, t: Tensor, weights: Tensor) -> tuple[Tensor, Pushed]:
        """Tangents of `t`, which are overwritten, and of the weights to that of graphs."""
        scale, shift = torch.split(weights, 1, 1)
        unit = t.mul_(at.root)
        shrink = (at.unit * unit).sum(-1, keepdim=True).div_(t.shape[2])
        unit.addcmul_(at.unit, shrink, value=-1)
        result = torch.addcmul(shift, unit, at.weights[:, :1]).addcmul_(at.unit, scale)
        return self._pool(relu_back_(result, at.result)), Pushed(weights, unit, shrink)

    def push_back(self, at: Read, pulled: Pulled, pushed: Pushed, grad: Tensor) -> tuple[Tensor, Tensor]:
        """The tangent of the gradient at graphs to those of the gradients at `t` and at the weights."""
        at_scale, scale = at.weights[:, :1], pushed.weights[:, :1]
        passed = self._unpool(at, grad)
        product = (passed * at.unit).addcmul_(pulled.passed, pushed.unit)
        found = torch.stack([product.sum(1), passed.sum(1)], 1)
        slope = torch.baddbmm(torch.bmm(product, at_scale.mT), pulled.product, scale.mT).div_(product.shape[2])
        rows = passed.mul_(at_scale).addcmul_(pulled.passed, scale)
        rows.addcmul_(pushed.unit, pulled.slope, value=-1).addcmul_(at.unit, slope, value=-1)
        return rows.mul_(at.root).addcmul_(pulled.grad, pushed.shrink, value=-1), found

    def _pool(self, rows: Tensor) -> Tensor:
        return (self.parts.mean(rows) if self.mean else self.parts.sum(rows))[:, :-1]

    def _unpool(self, at: Read, grad: Tensor) -> Tensor:
        grad = F.pad(grad, (0, 0, 0, 1))
        rows = self.parts.spread(grad / self.parts.sizes if self.mean else grad)
        return relu_back_(rows, at.result)
