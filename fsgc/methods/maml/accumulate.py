"""The gradient of a large batch from its parts, one after the other: memory holds the graph of one part only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor


def accumulated(parts: Iterable[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """The sum of scalar losses, each differentiated as soon as it is there; `backward` hands on the summed gradients.

    Args:
        parts: the losses; best a generator, so that the graph of one is gone before the next is made.
        weights: the leaves that gradients are for; every loss must depend on each of them.
    """
    total: Tensor | None = None
    sums: list[Tensor] = []
    for part in parts:
        grads = torch.autograd.grad(part, weights)
        value = part.detach()
        total = value if total is None else total + value
        sums = [a + b for a, b in zip(sums, grads, strict=True)] if sums else list(grads)
    if total is None:
        raise ValueError("accumulated: there is no part")
    return known_gradient(total, sums, weights)


def known_gradient(value: Tensor, grads: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """A number whose gradients at the weights are known already; `backward` hands them on."""
    return _KnownGradient.apply(value, grads, *weights)  # type: ignore[no-untyped-call]


class _KnownGradient(torch.autograd.Function):
    """A number whose gradient was computed before."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, grads: Sequence[Tensor], *_weights: Tensor) -> Tensor:
        ctx.grads = grads
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(outer[0] * grad for grad in ctx.grads)
