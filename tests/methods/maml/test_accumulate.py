from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from fsgc.methods.maml.accumulate import accumulated


@pytest.mark.usefixtures("double")
def test_the_sum_and_its_gradient_are_those_of_one_graph() -> None:
    weights = [torch.randn(3, requires_grad=True), torch.randn(2, requires_grad=True)]
    rows = torch.randn(4, 3)

    def loss(row: Tensor) -> Tensor:
        return (row @ weights[0]).sin() * weights[1].prod()

    expected = torch.stack([loss(row) for row in rows]).sum()
    total = accumulated((loss(row) for row in rows), weights)
    torch.testing.assert_close(total, expected)
    (3 * total).backward()  # type: ignore[no-untyped-call]
    for weight, grad in zip(weights, torch.autograd.grad(3 * expected, weights), strict=True):
        torch.testing.assert_close(weight.grad, grad)


def test_only_one_graph_is_alive_at_a_time() -> None:
    weight = torch.ones(1, requires_grad=True)
    alive: list[int] = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: Any, x: Tensor) -> Tensor:
            alive.append(1)
            return x.clone()

        @staticmethod
        def backward(_ctx: Any, *grads: Tensor) -> Tensor:
            alive.pop()
            return grads[0]

    def parts() -> Iterator[Tensor]:
        for _ in range(3):
            assert alive == []
            yield Watched.apply(weight).sum()  # type: ignore[no-untyped-call]

    accumulated(parts(), [weight])
    assert alive == []


def test_no_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="no part"):
        accumulated([], [torch.ones(1, requires_grad=True)])
