"""The gradient of a large batch from its parts, one after the other: memory holds the graph of one part only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from fsgc.nn.known_gradient import known_gradient


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
