"""The steps of AS-MAML's episodes, and the gradient through them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.as_maml.curvature import plus_curvature
from fsgc.methods.as_maml.network_pass import Backward, Forward, backward, forward, losses_of
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs
from fsgc.methods.as_maml.stacked_weights import StackedWeights
from fsgc.nn.known_gradient import known_gradient

MOST_KEPT = 400_000
"""So many rows of nodes, over all steps, may have their passes kept for second derivatives (about 2 GB at width 128);
beyond it they are computed again."""


class Supports(NamedTuple):
    """What the episodes of a batch learn from.

    Attributes:
        graphs: `M` of each of `B` episodes.
        labels: int64 `[B, M]`.
        lr: learning rate of a step.
    """

    graphs: PooledGraphs
    labels: Tensor
    lr: float


class Step(NamedTuple):
    """A gradient step.

    Attributes:
        start: the weights before it.
        done: the pass at these.
        back: the way back.
        losses: `[B]`, before it.
    """

    start: StackedWeights
    done: Forward
    back: Backward
    losses: Tensor


def take_step(weights: StackedWeights, supports: Supports, information: bool = False) -> tuple[StackedWeights, Step]:
    """One gradient step of every episode: the weights after it, and what it was."""
    done = forward(weights, supports.graphs, information)
    losses, grad = losses_of(done.logits, supports.labels)
    moved, back = backward(done, weights, grad, weights, -supports.lr)
    return moved, Step(weights, done, back, losses)


@cache
def keep_freed_memory() -> None:
    """Let the allocator keep what is freed at the end of a step for the next one.

    glibc hands large blocks back to the system, and takes them anew page by page: a fifth of the time of a step. It
    stops doing so for blocks that are smaller than one that was freed before, up to 32 MiB.
    """
    torch.empty(30 * 2**20, dtype=torch.uint8)


def adapted(weights: StackedWeights, supports: Supports, steps: int) -> StackedWeights:
    """The weights after so many steps; nothing of the steps is kept."""
    keep_freed_memory()
    for _ in range(steps):
        weights = take_step(weights, supports)[0]
    return weights


class Path:
    """The steps of a batch of episodes, as they are taken, and the way back through them.

    Args:
        start: weights before the first step.
        supports: what the episodes learn from.
        most_steps: how many there may be.
    """

    def __init__(self, start: StackedWeights, supports: Supports, most_steps: int) -> None:
        keep_freed_memory()
        self.supports = supports
        self.points = [start]
        self._steps: list[Step] = []
        self._keep = supports.graphs.inputs[..., 0].numel() * most_steps <= MOST_KEPT

    def go_on(self) -> tuple[Tensor, Tensor]:
        """Take a step; the losses and the average node information before it, `[B]` each."""
        moved, step = take_step(self.points[-1], self.supports, information=True)
        self.points.append(moved)
        if self._keep:
            self._steps.append(step)
        assert step.done.information is not None
        return step.losses, step.done.information

    def ends(self, steps: list[int]) -> StackedWeights:
        """The weights of each episode after its own number of steps."""
        counts = torch.tensor(steps, device=self.supports.labels.device)
        last = self.points[max(steps)]
        for count in sorted(set(steps))[:-1]:
            last = self.points[count].where(counts == count, last)
        return last

    def back(self, grad: StackedWeights, steps: list[int]) -> StackedWeights:
        """The gradient by the first weights, given that by the last weights of each episode."""
        counts = torch.tensor(steps, device=self.supports.labels.device)
        for place in reversed(range(max(steps))):
            step = self._steps[place] if self._keep else take_step(self.points[place], self.supports)[1]
            moved = plus_curvature(step.done, step.back, step.start, grad, -self.supports.lr)
            # An episode that had ended before has its last gradient still.
            grad = moved if place < min(steps) else moved.where(counts > place, grad)
        return grad


def outer_loss(named: dict[str, Tensor], value: Tensor, gradient: Callable[[], dict[str, Tensor]]) -> Tensor:
    """`value` as a function of weights whose gradient is known another way; it is computed at once if it is wanted."""
    if not torch.is_grad_enabled():
        return value
    grads = gradient()
    return known_gradient(value, [grads[name] for name in named], list(named.values()))
