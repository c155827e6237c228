"""Pooling: from the nodes of a graph to the graph."""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.nn.segments import Segments

_LEAST_VARIANCE = 1e-10
"""Below it a deviation counts as zero and has no gradient: that of a square root at zero is infinite."""


def deviation(x: Tensor, segments: Segments, mean: Tensor) -> Tensor:
    """Standard deviation over the nodes of each graph (divided by their number): `[n, d]` to `[g, d]`."""
    return root_of_variance(segments.mean((x - segments.spread(mean)).square()))


def root_of_variance(variance: Tensor) -> Tensor:
    """Standard deviations from variances, of any shape; zero, without a gradient, where nothing varies."""
    varies = variance > _LEAST_VARIANCE
    return torch.where(varies, torch.where(varies, variance, 1.0).sqrt(), 0.0)


def mean_std(x: Tensor, segments: Segments) -> Tensor:
    """Mean and standard deviation side by side: `[n, d]` to `[g, 2·d]`."""
    mean = segments.mean(x)
    return torch.cat([mean, deviation(x, segments, mean)], 1)
