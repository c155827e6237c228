"""Gradient descent on the supports of episodes side by side, and the gradient of what follows through its steps.

With `w' = w - lr · ∇L(w)` a gradient `v` at `w'` is `v - lr · ∇²L(w) v` at `w`: from the query loss at the last weights
back to the first, each step costs one Hessian product (Finn et al. 2017, equation 1 and section 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.maml.episode_network import EpisodeNetwork, Pull, Run
from fsgc.methods.maml.hessian import hessian_product
from fsgc.methods.maml.scorer import cross_entropy_error


class Passes(NamedTuple):
    """What is kept of the passes of one network: forward, backward, and the softmax of the logits between them."""

    run: Run
    pull: Pull
    share: Tensor


class MeanLoss:
    """The mean cross-entropy of certain graphs of each episode, as a function of the episode's weights.

    A sum over graphs may be taken in parts: arrays then stay near the processor, and are used over and over.

    Args:
        networks: the network on each part of the graphs.
        targets: their one-hot labels, `[M, N]` each.
    """

    def __init__(self, networks: Sequence[EpisodeNetwork], targets: Sequence[Tensor]) -> None:
        self.parts = list(zip(networks, targets, strict=True))
        self.count = sum(len(target) for target in targets)

    def logits(self, vectors: Tensor) -> list[Tensor]:
        """Weights `[B, W]` to the logits of each part, `[B, M, N]`."""
        return [network.run(vectors).scored.logits for network, _ in self.parts]

    def gradient(self, vectors: Tensor, keep: bool) -> tuple[Tensor, list[Tensor], list[Passes]]:
        """Weights `[B, W]` to the gradient, `[B, W]`, the logits, and with `keep` what `hessian_product` needs."""
        grads, logits, kept = [], [], []
        for network, target in self.parts:
            run = network.run(vectors)
            error, share = cross_entropy_error(run.scored.logits, target, self.count)
            grad, pull = network.gradient(run, error)
            grads.append(grad)
            logits.append(run.scored.logits)
            if keep:
                kept.append(Passes(run, pull, share))
        return _sum(grads), logits, kept

    def hessian_product(self, kept: list[Passes], direction: Tensor) -> Tensor:
        """The derivative of the gradient in a direction, both `[B, W]`."""
        pairs = zip(self.parts, kept, strict=True)
        return _sum([hessian_product(network, *passes, self.count, direction) for (network, _), passes in pairs])


def descend(
    loss: MeanLoss, vectors: Tensor, steps: int, lr: float, keep: bool = False
) -> tuple[Tensor, list[list[Passes]]]:
    """The weights after so many steps, `[B, W]` to `[B, W]`, and with `keep` what `ascend` needs of each step."""
    kept: list[list[Passes]] = []
    for _ in range(steps):
        grad, _, passes = loss.gradient(vectors, keep)
        vectors = torch.sub(vectors, grad, alpha=lr)
        if keep:
            kept.append(passes)
    return vectors, kept


def ascend(loss: MeanLoss, grad: Tensor, kept: list[list[Passes]], lr: float) -> Tensor:
    """A gradient at the weights after the steps, `[B, W]`, to that at the weights before them; empties the list."""
    while kept:
        grad = torch.sub(grad, loss.hessian_product(kept.pop(), grad), alpha=lr)
    return grad


def _sum(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)
