"""A number whose gradient was computed by other means than autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def known_gradient(value: Tensor, grads: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """`value`, a scalar, with `grads` as its gradients at the weights; `backward` hands them on."""
    return _KnownGradient.apply(value, grads, *weights)  # type: ignore[no-untyped-call]


class _KnownGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, grads: Sequence[Tensor], *_weights: Tensor) -> Tensor:
        ctx.grads = grads
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(outer[0] * grad for grad in ctx.grads)
