"""GraphNorm and ReLU of the rows of episodes, with first and second derivatives written out.

Cai et al., GraphNorm, ICML 2021. With rows `x`, a bias `b` that precedes the norm, `m` the mean of `x + b` over a graph
and `r` one over the standard deviation:

    u = r · (x + b - a · m),    y = ReLU(w · u + s),    r = (mean((x + b - a · m)²) + eps)^-½

Means and deviations are values of graphs, `[B, m, d]`; weights `[B, 1, d]`. Each of the four functions below is a few
passes over the rows, in place where it can be: autograd needs three times as many for second derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.maml.row_maps import Parts, relu_back_
from fsgc.nn.fused_norm import EPS

WEIGHTS = 4
"""Rows of the weights of a norm, `[B, 4, d]`: `b`, `w`, `s`, `a`."""


class Normed(NamedTuple):
    """What the forward pass keeps: `u` and `y` of rows, `m` and `r` of graphs."""

    weights: Tensor
    unit: Tensor
    result: Tensor
    mean: Tensor
    root: Tensor


class Pulled(NamedTuple):
    """What the backward pass keeps.

    Attributes:
        passed: `G`, the gradient past ReLU, rows.
        inner: the gradient at `x` divided by `w · r`, rows.
        slope: `k`, the mean of `G · u`, of graphs.
        level: `e`, the mean of `G - k · u`, of graphs.
    """

    passed: Tensor
    inner: Tensor
    slope: Tensor
    level: Tensor


class Pushed(NamedTuple):
    """What the tangent pass keeps: the tangent `du` of rows, `dm` and `-dr / r` of graphs, and those of the weights."""

    weights: Tensor
    unit: Tensor
    mean: Tensor
    shrink: Tensor


class NormRelu:
    """The norm over given parts of the rows.

    Args:
        parts: what is normalised together.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def forward(self, x: Tensor, weights: Tensor) -> Normed:
        """Rows `[B, n, d]`, which are overwritten, and weights `[B, 4, d]`."""
        before, scale, after, mean_scale = torch.split(weights, 1, 1)
        mean = self.parts.mean(x)
        # Not as a · (m + b) - b: with a = 1, equal rows have to become zeros exactly.
        unit = x.sub_(self.parts.spread(mean * mean_scale + before * (mean_scale - 1)))
        root = self.parts.mean(unit * unit).add_(EPS).rsqrt_()
        unit.mul_(self.parts.spread(root))
        return Normed(weights, unit, torch.addcmul(after, unit, scale).clamp_(min=0), mean.add_(before), root)

    def backward(self, at: Normed, grad: Tensor) -> tuple[Tensor, Tensor, Pulled]:
        """The gradient at `y`, which is overwritten, to those at `x`, `[B, n, d]`, and the weights, `[B, 4, d]`."""
        _, scale, _, mean_scale = torch.split(at.weights, 1, 1)
        passed = relu_back_(grad, at.result)
        sizes, total, slope = self.parts.sizes, self.parts.mean(passed), self.parts.mean(passed * at.unit)
        level = total - at.root * (1 - mean_scale) * at.mean * slope
        inner = torch.addcmul(passed, at.unit, self.parts.spread(slope), value=-1)
        inner.sub_(self.parts.spread(level * mean_scale))
        factor = at.root * scale
        of_centred = sizes * factor * level
        found = torch.stack([of_centred * (1 - mean_scale), sizes * slope, sizes * total, -of_centred * at.mean], 1)
        return inner * self.parts.spread(factor), found.sum(2), Pulled(passed, inner, slope, level)

    def push(self, at: Normed, x: Tensor, weights: Tensor) -> tuple[Tensor, Pushed]:
        """Tangents of `x`, which are overwritten, and of the weights to that of `y`."""
        before, scale, after, mean_scale = torch.split(weights, 1, 1)
        _, at_scale, _, at_mean_scale = torch.split(at.weights, 1, 1)
        mean = self.parts.mean(x).add_(before)
        unit = x.sub_(self.parts.spread(mean * at_mean_scale + at.mean * mean_scale - before))
        unit.mul_(self.parts.spread(at.root))
        shrink = self.parts.mean(at.unit * unit)
        unit.addcmul_(at.unit, self.parts.spread(shrink), value=-1)
        result = torch.addcmul(after, unit, at_scale).addcmul_(at.unit, scale)
        return relu_back_(result, at.result), Pushed(weights, unit, mean, shrink)

    def push_back(self, at: Normed, pulled: Pulled, pushed: Pushed, grad: Tensor) -> tuple[Tensor, Tensor]:
        """The tangent of the gradient at `y`, overwritten, to those of the gradients at `x` and at the weights."""
        spread, mean = self.parts.spread, self.parts.mean
        _, at_scale, _, at_mean_scale = torch.split(at.weights, 1, 1)
        _, scale, _, mean_scale = torch.split(pushed.weights, 1, 1)
        passed = relu_back_(grad, at.result)
        sizes, total = self.parts.sizes, mean(passed)
        slope = mean((passed * at.unit).addcmul_(pulled.passed, pushed.unit))
        root, kept = -at.root * pushed.shrink, 1 - at_mean_scale
        at_unit_mean = at.root * kept * at.mean
        unit_mean = root * kept * at.mean + at.root * (kept * pushed.mean - mean_scale * at.mean)
        level = total - unit_mean * pulled.slope - at_unit_mean * slope
        at_factor, factor = at.root * at_scale, root * at_scale + at.root * scale
        passed.sub_(spread(mean_scale * pulled.level + at_mean_scale * level))
        passed.addcmul_(pushed.unit, spread(pulled.slope), value=-1).addcmul_(at.unit, spread(slope), value=-1)
        passed.mul_(spread(at_factor)).addcmul_(pulled.inner, spread(factor))
        at_centred = sizes * at_factor * pulled.level
        of_centred = sizes * (factor * pulled.level + at_factor * level)
        found = torch.stack(
            [
                of_centred * kept - at_centred * mean_scale,
                sizes * slope,
                sizes * total,
                -of_centred * at.mean - at_centred * pushed.mean,
            ],
            1,
        )
        return passed, found.sum(2)
