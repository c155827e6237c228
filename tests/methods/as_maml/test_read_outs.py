"""Read-outs against `scatter_reduce` and autograd."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fsgc.methods.as_maml.read_outs import GraphRows, ReadOut
from fsgc.nn.padded import PaddedNodes

pytestmark = pytest.mark.usefixtures("double")
COUNTS = torch.tensor([[3, 1, 7], [2, 2, 2]])


def plain(x: Tensor) -> Tensor:
    """Graph by graph."""
    rows = []
    for episode, counts in zip(x, COUNTS.tolist(), strict=True):
        parts = episode[: sum(counts)].split(counts)
        rows.append(torch.stack([torch.cat([part.amax(0), part.mean(0)]) for part in parts]))
    return torch.stack(rows)


@pytest.mark.parametrize("distinct", [10_000, 2])
def test_values_change_and_adjoint(distinct: int) -> None:
    """With few distinct values many nodes share the largest one, and then its gradient."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(-distinct, distinct, (2, 11, 4), generator=draw).double().requires_grad_()
    read_out = ReadOut.of(x.detach(), GraphRows(PaddedNodes.make(COUNTS)))
    expected = plain(x)
    torch.testing.assert_close(read_out.values, expected.detach())
    grad = torch.randn(expected.shape, generator=draw)
    (by_autograd,) = torch.autograd.grad(expected, x, grad)
    adjoint = read_out.change_adjoint(grad)
    torch.testing.assert_close(adjoint, by_autograd)
    change = torch.randn(x.shape, generator=draw)
    torch.testing.assert_close((read_out.change(change) * grad).sum(), (change * adjoint).sum())
