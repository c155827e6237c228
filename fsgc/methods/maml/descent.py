"""Gradient descent on the supports of episodes side by side, and the gradient of what follows through its steps.

With `w' = w - lr · ∇L(w)` a gradient `v` at `w'` is `v - lr · ∇²L(w) v` at `w`: from the query loss at the last weights
back to the first, each step costs one Hessian product (Finn et al. 2017, equation 1 and section 2.2).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.maml.episode_network import EpisodeNetwork, Pull, Run
from fsgc.methods.maml.hessian import hessian_product
from fsgc.methods.maml.scorer import cross_entropy_error


class Step(NamedTuple):
    """What a step of descent keeps: the two passes and the softmax of the logits."""

    run: Run
    pull: Pull
    share: Tensor


class Descent:
    """Steps on the mean cross-entropy of each episode's supports.

    Args:
        network: the network on the supports.
        target: their one-hot labels, `[S, N]`.
        lr: the size of a step.
    """

    def __init__(self, network: EpisodeNetwork, target: Tensor, lr: float) -> None:
        self.network, self.target, self.lr = network, target, lr

    def descend(self, vectors: Tensor, steps: int, keep: bool) -> tuple[Tensor, list[Step]]:
        """The weights after so many steps, `[B, W]` to `[B, W]`, and with `keep` what `ascend` needs of each step."""
        kept: list[Step] = []
        for _ in range(steps):
            run = self.network.run(vectors)
            error, share = cross_entropy_error(run.scored.logits, self.target)
            grad, pull = self.network.gradient(run, error)
            vectors = torch.sub(vectors, grad, alpha=self.lr)
            if keep:
                kept.append(Step(run, pull, share))
        return vectors, kept

    def ascend(self, grad: Tensor, steps: list[Step]) -> Tensor:
        """A gradient at the weights after the steps, `[B, W]`, to that at the weights before them; empties the list."""
        while steps:
            step = steps.pop()
            grad = torch.sub(grad, hessian_product(self.network, *step, grad), alpha=self.lr)
        return grad
