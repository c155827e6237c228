"""A pass through AS-MAML's network and back, for episodes that have weights of their own; gradients by hand.

Autograd would keep and visit much that is not needed: here products and passes over the rows of nodes are as few as the
method has, gradients are added to weights in the products that make them, and the tensors that second derivatives
need are at hand (`curvature`). PyG's `SAGEConv` and `SAGPooling` are the oracle.

A level with inputs `u` (means over neighbourhoods), `z = u W + b`, `y = leaky(z)`, scores `s = A (y w₁) + y w₂ + c`,
keeps the nodes of highest `g = tanh(s)`; the next level begins with `x = g · y` of these.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.as_maml.pooled_graphs import Neighbourhoods, PooledGraphs, Pooling
from fsgc.methods.as_maml.read_outs import ReadOut
from fsgc.methods.as_maml.stacked_weights import Layer, StackedWeights

SLOPE = 0.1


class Level(NamedTuple):
    """One level of a pass.

    Attributes:
        near: neighbourhoods of its `B · n` rows.
        inputs: `u`, `[B, n, k]`.
        rows: `y`, `[B, n, d]`.
        kept: int64 `[B · n']`, the row that each row of the next level comes from.
        gate: `g` of these, `[B, n', 1]`.
        chosen: `y` of these, `[B, n', d]`.
        read_out: of `g · y`, before the leaky ReLU.
    """

    near: Neighbourhoods
    inputs: Tensor
    rows: Tensor
    kept: Tensor
    gate: Tensor
    chosen: Tensor
    read_out: ReadOut


class Forward(NamedTuple):
    """A pass.

    Attributes:
        levels: bottom up.
        hidden: inputs of the layers of the head, `[B, M, …]`.
        logits: `[B, M, N]`.
        information: `[B]`, the average node information of the last level, if it was asked for.
    """

    levels: tuple[Level, ...]
    hidden: tuple[Tensor, ...]
    logits: Tensor
    information: Tensor | None


class LevelGrads(NamedTuple):
    """Gradients of the sum of all losses by what is between the weights of a level.

    Attributes:
        rows: by `z`, `[B, n, d]`.
        scores: by `y w₁` and `y w₂`, `[B, 2, n]`.
        gate: by `g` of the nodes kept, `[B, n', 1]`.
        pooled: by `g · y` of these, `[B, n', d]`.
    """

    rows: Tensor
    scores: Tensor
    gate: Tensor
    pooled: Tensor


class Backward(NamedTuple):
    """The way back.

    Attributes:
        levels: bottom up.
        head: gradients by the results of the layers of the head, before the leaky ReLU.
    """

    levels: tuple[LevelGrads, ...]
    head: tuple[Tensor, ...]


def forward(weights: StackedWeights, graphs: PooledGraphs, information: bool = False) -> Forward:
    """Logits of all graphs."""
    inputs, near = graphs.inputs, graphs.near
    levels: list[Level] = []
    total: Tensor | None = None
    for place, (conv, score, pooling) in enumerate(zip(weights.convs, weights.scores, graphs.poolings, strict=True)):
        level, pooled, new_row = _level(conv, score, pooling, near, inputs)
        levels.append(level)
        read_out = F.leaky_relu(level.read_out.values, SLOPE)
        total = read_out if total is None else total.add_(read_out)
        if information or place + 1 < len(graphs.poolings):
            near = near.among(new_row, len(level.kept))
        if place + 1 < len(graphs.poolings):
            inputs = near.average(pooled)
    assert total is not None
    hidden = [total]
    for layer in weights.head[:-1]:
        hidden.append(F.leaky_relu_(layer.of(hidden[-1]), SLOPE))
    informed = node_information(pooled, near, graphs.poolings[-1]) if information else None
    return Forward(tuple(levels), tuple(hidden), weights.head[-1].of(hidden[-1]), informed)


def _level(
    conv: Layer, score: Layer, pooling: Pooling, near: Neighbourhoods, inputs: Tensor
) -> tuple[Level, Tensor, Tensor]:
    """A level, the rows of the next, and where each row goes."""
    rows = F.leaky_relu_(conv.of(inputs), SLOPE)
    gates = scores_of(near, torch.bmm(score.weight, rows.mT), score.bias).tanh_()
    kept, new_row = pooling.choose(gates)
    shape = (len(rows), pooling.after.size, -1)
    gate = gates.flatten().index_select(0, kept).view(shape)
    chosen = rows.flatten(0, 1).index_select(0, kept).view(shape)
    pooled = chosen * gate
    return Level(near, inputs, rows, kept, gate, chosen, ReadOut.of(pooled, pooling.graphs)), pooled, new_row


def scores_of(near: Neighbourhoods, parts: Tensor, bias: Tensor) -> Tensor:
    """Scores, `[B, n]`, from `y w₁` and `y w₂`, `[B, 2, n]`: the sum over neighbours is taken of one column."""
    return near.sum_of_others(parts[:, 0]).add_(parts[:, 1]).add_(bias.squeeze(2))


def backward(
    done: Forward, weights: StackedWeights, grad: Tensor, base: StackedWeights, scale: float
) -> tuple[StackedWeights, Backward]:
    """`base + scale · gradient` of the weights, and the gradients on the way; `grad` is that of the logits."""
    head: list[Tensor] = [grad]
    moved_head: list[Layer] = []
    for place in (2, 1, 0):
        moved_head.insert(0, base.head[place].plus(scale, head[0], done.hidden[place]))
        grad = torch.bmm(head[0], weights.head[place].weight.mT)
        if place:
            head.insert(0, leaky_grad(grad, done.hidden[place]))
    convs: list[Layer] = []
    scores: list[Layer] = []
    levels: list[LevelGrads] = []
    above: Tensor | None = None
    for place in reversed(range(len(done.levels))):
        level, score = done.levels[place], weights.scores[place]
        pooled = level.read_out.change_adjoint(leaky_grad(grad, level.read_out.values))
        if above is not None:
            pooled.add_(above)
        gate = (pooled * level.chosen).sum(2, keepdim=True)
        parts = score_grads(level, gate * (1 - level.gate.square()))
        rows = torch.bmm(parts.mT, score.weight)
        rows.flatten(0, 1).index_add_(0, level.kept, (pooled * level.gate).flatten(0, 1))
        rows = leaky_grad(rows, level.rows)
        levels.insert(0, LevelGrads(rows, parts, gate, pooled))
        convs.insert(0, base.convs[place].plus(scale, rows, level.inputs))
        scores.insert(0, score_plus(base.scores[place], scale, parts, level.rows))
        if place:
            above = level.near.average_adjoint(torch.bmm(rows, weights.convs[place].weight.mT))
    return StackedWeights(tuple(convs), tuple(scores), tuple(moved_head)), Backward(tuple(levels), tuple(head))


def score_grads(level: Level, kept: Tensor) -> Tensor:
    """The gradients by `y w₁` and `y w₂`, `[B, 2, n]`, from that by the scores of the nodes kept, `[B, n', 1]`."""
    # The rows that fill up repeat a row, and have no gradient to add to it.
    by_score = kept.new_zeros(level.rows.shape[:2])
    by_score.view(-1).index_add_(0, level.kept, kept.flatten())
    return torch.stack([level.near.sum_of_others(by_score), by_score], 1)


def score_plus(base: Layer, scale: float, parts: Tensor, rows: Tensor) -> Layer:
    """The weights of a score and `scale` times their gradient."""
    bias = torch.add(base.bias, parts[:, 1:].sum(2, keepdim=True), alpha=scale)
    return Layer(torch.baddbmm(base.weight, parts, rows, alpha=scale), bias)


def leaky_grad(grad: Tensor, result: Tensor) -> Tensor:
    """The gradient before a leaky ReLU, or the change after it, given its result or input: they have the same sign."""
    passed: Tensor = torch.ops.aten.leaky_relu_backward(grad, result, SLOPE, True)
    return passed


def losses_of(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The mean cross-entropy of each episode, `[B]`, and the gradient of their sum by the logits, `[B, M, N]`."""
    log = logits.log_softmax(2)
    mark = labels.unsqueeze(2)
    losses = log.gather(2, mark).squeeze(2).mean(1).neg_()
    grad = log.exp().scatter_add_(2, mark, log.new_full((1, 1, 1), -1.0).expand(mark.shape))
    return losses, grad.div_(labels.shape[1])


def node_information(x: Tensor, near: Neighbourhoods, pooling: Pooling) -> Tensor:
    """Average node information (ANI; Ma et al. 2020) of each episode, `[B]`.

    The mean over all nodes of `‖x_v - Σ x_u / √(d_u d_v)‖₁`, the sum over the neighbours `u` of `v`.
    """
    degree = near.others.to(x.dtype)
    scale = torch.where(degree > 0, degree.clamp(min=1).rsqrt(), 0.0)
    rows = x.flatten(0, 1)
    scaled = scale * rows
    information = (rows - scale * (near.sum(scaled) - scaled)).abs().sum(1)
    nodes = pooling.after
    is_node = torch.zeros_like(information).index_fill_(0, nodes.rows, 1.0).view(len(x), -1)
    return (information.view(len(x), -1) * is_node).sum(1) / is_node.sum(1)
