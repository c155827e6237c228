from __future__ import annotations

import torch

from fsgc.nn.pooling import mean_std
from fsgc.nn.segments import Segments
from tests.nn.oracle import assert_same

SIZES = [1, 4, 2, 7]
SEGMENTS = Segments.from_sizes(torch.tensor(SIZES), sum(SIZES))


def _direct(x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    graphs = torch.split(x, sizes)
    return torch.stack([torch.cat([rows.mean(0), rows.std(0, unbiased=False)]) for rows in graphs])


def test_mean_std_equals_the_formula() -> None:
    x = torch.randn(sum(SIZES), 3, generator=torch.Generator().manual_seed(0)) + 2
    torch.testing.assert_close(mean_std(x, SEGMENTS), _direct(x, SIZES))
    larger = Segments.from_sizes(torch.tensor(SIZES[1:]), sum(SIZES[1:]))
    # Gradients of graphs with more than one node: at one node that of the direct formula is not a number.
    assert_same(lambda v: mean_std(v, larger), lambda v: _direct(v, SIZES[1:]), x[1:])


def test_gradient_is_finite_where_nodes_are_alike() -> None:
    x = torch.full((sum(SIZES), 3), 0.1, requires_grad=True)
    pooled = mean_std(x, SEGMENTS)
    assert torch.equal(pooled[:, 3:], torch.zeros(4, 3))
    (gradient,) = torch.autograd.grad(pooled.sum(), x)
    torch.testing.assert_close(gradient, SEGMENTS.spread(1 / torch.tensor(SIZES).unsqueeze(1)).expand(-1, 3))
