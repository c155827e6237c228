"""Gradient descent on the supports of episodes side by side by autograd, for networks that are not written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]
"""The weights of a network by name, each with a leading dimension `B`: one network per episode."""
Network = Callable[[Weights], Tensor]
"""Weights to the logits `[B, g, N]` of certain graphs of the episodes."""


def adapt(network: Network, weights: Weights, labels: Tensor, steps: int, lr: float, second_order: bool) -> Weights:
    """Take `steps` steps of gradient descent on each episode's supports.

    Args:
        network: the logits of the supports, `[B, S, N]`, as a function of the weights.
        weights: where the episodes start.
        labels: int64 `[S]`, the same in every episode.
        steps: how many steps.
        lr: their size.
        second_order: whether the result can be differentiated through the steps; else their gradients are constants.
    """
    for _ in range(steps):
        logits = network(weights)
        # The sum over episodes of means over supports: each network sees the loss of its own episode only.
        targets = labels.to(logits.device).repeat(len(logits))  # evaluation leaves the indices on the host
        loss = F.cross_entropy(logits.flatten(0, 1), targets, reduction="sum") / len(labels)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=second_order)
        weights = {name: weight - lr * grad for (name, weight), grad in zip(weights.items(), grads, strict=True)}
    return weights
