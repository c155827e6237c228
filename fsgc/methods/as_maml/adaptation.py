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


class End(NamedTuple):
    """The queries of `B` episodes after all their steps.

    Attributes:
        logits: `[B, N·Q, N]`.
        losses: `[B]`, mean cross-entropies.
        gradient: of the mean of these by the weights before the first step, by their names in a `SagNetwork`.
    """

    logits: Tensor
    losses: Tensor
    gradient: Callable[[], dict[str, Tensor]]


class Path:
    """The steps of a batch of episodes, as they are taken, and the way back through them.

    Args:
        start: weights before the first step.
        supports: what the episodes learn from.
        queries: what they are tried on.
        labels: of the queries, int64 `[B, N·Q]`.
        most_steps: how many there may be.
    """

    def __init__(
        self, start: StackedWeights, supports: Supports, queries: PooledGraphs, labels: Tensor, most_steps: int
    ) -> None:
        keep_freed_memory()
        self._supports, self._queries, self._labels = supports, queries, labels
        self._points = [start]
        self._steps: list[Step] = []
        self._keep = supports.graphs.inputs[..., 0].numel() * most_steps <= MOST_KEPT

    def go_on(self) -> tuple[Tensor, Tensor]:
        """Take a step; the losses and the average node information before it, `[B]` each."""
        moved, step = take_step(self._points[-1], self._supports, information=True)
        self._points.append(moved)
        if self._keep:
            self._steps.append(step)
        assert step.done.information is not None
        return step.losses, step.done.information

    def scores(self, step: int) -> Tensor:
        """The logits of the queries after so many steps, `[B, N·Q, N]`."""
        return forward(self._points[step], self._queries).logits

    def end(self, steps: list[int], first_order: bool) -> End:
        """The queries after each episode's own number of steps."""
        counts = torch.tensor(steps, device=self._labels.device)
        ends = self._points[max(steps)]
        for count in sorted(set(steps))[:-1]:
            ends = self._points[count].where(counts == count, ends)
        last = forward(ends, self._queries)
        losses, grad = losses_of(last.logits, self._labels)

        def gradient() -> dict[str, Tensor]:
            by_ends, _ = backward(last, ends, grad, ends.zeros(), 1.0)
            by_start = by_ends if first_order else self._back(by_ends, steps, counts)
            return by_start.mean(self._queries.near.root)

        return End(last.logits, losses, gradient)

    def _back(self, grad: StackedWeights, steps: list[int], counts: Tensor) -> StackedWeights:
        """The gradient by the first weights, given that by the last weights of each episode."""
        for place in reversed(range(max(steps))):
            step = self._steps[place] if self._keep else take_step(self._points[place], self._supports)[1]
            moved = plus_curvature(step.done, step.back, step.start, grad, -self._supports.lr)
            # An episode that had ended before has its last gradient still.
            grad = moved if place < min(steps) else moved.where(counts > place, grad)
        return grad


def outer_loss(named: dict[str, Tensor], value: Tensor, gradient: Callable[[], dict[str, Tensor]]) -> Tensor:
    """`value` as a function of weights whose gradient is known another way; it is computed at once if it is wanted."""
    if not torch.is_grad_enabled():
        return value
    grads = gradient()
    return known_gradient(value, [grads[name] for name in named], list(named.values()))
