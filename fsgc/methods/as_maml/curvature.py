"""Second derivatives of AS-MAML's support losses: the Hessian times a direction, by hand.

A step `w' = w - α ∇L(w)` turns a gradient `λ` by `w'` into `λ - α H λ` by `w`, as the Hessian `H` is symmetric. `H λ`
is the change of `∇L` along `λ` (Pearlmutter, Fast exact multiplication by the Hessian, 1994): everything that a pass
there and back has computed changes a little, and the changes are computed in the same order. Which nodes are kept,
which are largest, and on which side of zero a value is do not change.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.as_maml.network_pass import (
    Backward,
    Forward,
    Level,
    LevelGrads,
    leaky_grad,
    score_grads,
    score_plus,
    scores_of,
)
from fsgc.methods.as_maml.stacked_weights import Layer, StackedWeights


class _Change(NamedTuple):
    """How the tensors of a level change: `u` (not at the first level), `y`, `g` and `y` of the nodes kept."""

    inputs: Tensor | None
    rows: Tensor
    gate: Tensor
    chosen: Tensor


def plus_curvature(
    done: Forward,
    back: Backward,
    weights: StackedWeights,
    direction: StackedWeights,
    scale: float,
) -> StackedWeights:
    """`λ + scale · H λ` for a direction `λ`, where `H` is the Hessian of the mean cross-entropy at `weights`.

    Args:
        done: the pass at `weights`.
        back: the way back from the gradient of the mean cross-entropy of each episode.
        weights: of each episode.
        direction: `λ`.
        scale: number.
    """
    changes, total = _levels_up(done, weights, direction)
    hidden = [total]
    for place in (0, 1):
        changed = _both(direction.head[place], weights.head[place], done.hidden[place], hidden[-1])
        hidden.append(leaky_grad(changed, done.hidden[place + 1]))
    logits = _both(direction.head[2], weights.head[2], done.hidden[2], hidden[2])
    share = done.logits.softmax(2)
    grad = share * (logits - (share * logits).sum(2, keepdim=True)) / logits.shape[1]
    head: list[Layer] = []
    for place in (2, 1, 0):
        moved = direction.head[place].plus(scale, grad, done.hidden[place])
        moved.weight.baddbmm_(hidden[place].mT, back.head[place], alpha=scale)
        head.insert(0, moved)
        grad = torch.bmm(grad, weights.head[place].weight.mT)
        grad.baddbmm_(back.head[place], direction.head[place].weight.mT)
        if place:
            grad = leaky_grad(grad, done.hidden[place])
    convs: list[Layer] = []
    scores: list[Layer] = []
    above: Tensor | None = None
    for place in reversed(range(len(done.levels))):
        level, grads, change = done.levels[place], back.levels[place], changes[place]
        pooled = level.read_out.change_adjoint(leaky_grad(grad, level.read_out.values))
        if above is not None:
            pooled.add_(above)
        parts, rows = _level_down(level, grads, change, pooled, weights.scores[place], direction.scores[place])
        conv = direction.convs[place].plus(scale, rows, level.inputs)
        score = score_plus(direction.scores[place], scale, parts, level.rows)
        score.weight.baddbmm_(grads.scores, change.rows, alpha=scale)
        if change.inputs is not None:
            conv.weight.baddbmm_(change.inputs.mT, grads.rows, alpha=scale)
            by_inputs = torch.bmm(rows, weights.convs[place].weight.mT)
            by_inputs.baddbmm_(grads.rows, direction.convs[place].weight.mT)
            above = level.near.average_adjoint(by_inputs)
        convs.insert(0, conv)
        scores.insert(0, score)
    return StackedWeights(tuple(convs), tuple(scores), tuple(head))


def _levels_up(done: Forward, weights: StackedWeights, direction: StackedWeights) -> tuple[list[_Change], Tensor]:
    """The changes of all levels, and that of the sum of their read-outs, `[B, M, 2·d]`."""
    changes: list[_Change] = []
    inputs: Tensor | None = None
    total: Tensor | None = None
    for place, level in enumerate(done.levels):
        rows = leaky_grad(_both(direction.convs[place], weights.convs[place], level.inputs, inputs), level.rows)
        score, turned = weights.scores[place], direction.scores[place]
        parts = torch.bmm(turned.weight, level.rows.mT).baddbmm_(score.weight, rows.mT)
        changed = scores_of(level.near, parts, turned.bias)
        gate = changed.flatten().index_select(0, level.kept).view(level.gate.shape)
        gate.mul_(1 - level.gate.square())
        chosen = rows.flatten(0, 1).index_select(0, level.kept).view(level.chosen.shape)
        pooled = torch.addcmul(level.chosen * gate, chosen, level.gate)
        changes.append(_Change(inputs, rows, gate, chosen))
        read_out = leaky_grad(level.read_out.change(pooled), level.read_out.values)
        total = read_out if total is None else total.add_(read_out)
        if place + 1 < len(done.levels):
            inputs = done.levels[place + 1].near.average(pooled)
    assert total is not None
    return changes, total


def _level_down(
    level: Level, grads: LevelGrads, change: _Change, pooled: Tensor, score: Layer, turned: Layer
) -> tuple[Tensor, Tensor]:
    """The changes of `LevelGrads.scores` and `LevelGrads.rows`, given that of `LevelGrads.pooled`."""
    by_gate = torch.addcmul(pooled * level.chosen, grads.pooled, change.chosen).sum(2, keepdim=True)
    kept = by_gate * (1 - level.gate.square()) - 2 * level.gate * change.gate * grads.gate
    parts = score_grads(level, kept)
    rows = torch.bmm(parts.mT, score.weight).baddbmm_(grads.scores.mT, turned.weight)
    of_kept = torch.addcmul(pooled * level.gate, grads.pooled, change.gate)
    rows.flatten(0, 1).index_add_(0, level.kept, of_kept.flatten(0, 1))
    return parts, leaky_grad(rows, level.rows)


def _both(turned: Layer, layer: Layer, rows: Tensor, changed: Tensor | None) -> Tensor:
    """The change of `x W + b`, where weights and, unless that is None, rows change."""
    result = turned.of(rows)
    return result if changed is None else result.baddbmm_(changed, layer.weight)
