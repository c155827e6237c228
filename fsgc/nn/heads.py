"""The two-layer head of the classifiers, and thousands of such heads fine-tuned side by side.

A head per episode is a leading dimension `B` of every weight. Adam treats each number by itself, so one Adam over
stacked heads takes the very steps that an Adam per episode would take.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.adam import adam

HEADS_AT_ONCE = 64
"""Heads of a chunk of `fine_tune`: their weights and Adam's two averages stay near the processor."""
HEAD_NAMES = ("hidden.weight", "hidden.bias", "out.weight", "out.bias")
"""The weights of `MLPHead` in the order of `HeadWeights`."""
_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8


class HeadWeights(NamedTuple):
    """The weights of one head, or with a leading dimension `B` those of many.

    Attributes:
        hidden_weight: `[(B,) h, d]`.
        hidden_bias: `[(B,) h]`.
        out_weight: `[(B,) N, h]`.
        out_bias: `[(B,) N]`.
    """

    hidden_weight: Tensor
    hidden_bias: Tensor
    out_weight: Tensor
    out_bias: Tensor

    def stacked(self, count: int) -> HeadWeights:
        """`count` copies without memory of their own; weights stacked already stay as they are."""
        if self.hidden_weight.ndim == 3:
            return self
        return HeadWeights(*(weight.expand(count, *weight.shape) for weight in self))


class MLPHead(nn.Module):
    """`out(ReLU(hidden(z)))`, the head that is trained with an embedder: `[…, d]` to `[…, classes]`."""

    def __init__(self, in_width: int, hidden_width: int, classes: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(in_width, hidden_width)
        self.out = nn.Linear(hidden_width, classes)

    def forward(self, z: Tensor) -> Tensor:
        """Logits."""
        return self.out(F.relu(self.hidden(z)))


def fresh_head(in_width: int, hidden_width: int, classes: int, generator: torch.Generator) -> HeadWeights:
    """A head drawn as `nn.Linear` draws its weights, uniform in ±1/√inputs, but from a generator of its own."""

    def uniform(fan_in: int, *shape: int) -> Tensor:
        bound = fan_in**-0.5
        return torch.empty(shape).uniform_(-bound, bound, generator=generator)

    return HeadWeights(
        uniform(in_width, hidden_width, in_width),
        uniform(in_width, hidden_width),
        uniform(hidden_width, classes, hidden_width),
        uniform(hidden_width, classes),
    )


def apply_heads(weights: HeadWeights, z: Tensor, keep: Tensor | None = None) -> Tensor:
    """Logits of each episode's rows under its own head: stacked weights and `[B, S, d]` to `[B, S, N]`.

    Args:
        weights: stacked weights.
        z: features.
        keep: a dropout mask of the hidden layer, already scaled, that can be broadcast to `[B, S, h]`.
    """
    hidden = torch.baddbmm(weights.hidden_bias.unsqueeze(1), z, weights.hidden_weight.mT).relu()
    hidden = hidden if keep is None else hidden * keep
    return torch.baddbmm(weights.out_bias.unsqueeze(1), hidden, weights.out_weight.mT)


def head_gradients(
    weights: HeadWeights, z: Tensor, target: Tensor, keep: Tensor | None = None
) -> tuple[HeadWeights, Tensor]:
    """The gradients of each episode's mean cross-entropy at its head's weights, and at its hidden layer `[B, S, h]`.

    They are written out: autograd took longer over the cross-entropy than over everything else. Scores have the classes
    before the rows, `[B, N, S]`: a softmax over the last of two short dimensions is slow.

    Args:
        weights: stacked weights.
        z: features, `[B, S, d]`.
        target: one-hot labels, `[B, N, S]`.
        keep: a dropout mask as in `apply_heads`.
    """
    hidden = torch.baddbmm(weights.hidden_bias.unsqueeze(1), z, weights.hidden_weight.mT).relu_()
    slopes = hidden.sign() if keep is None else hidden.sign().mul_(keep)
    hidden = hidden if keep is None else hidden.mul_(keep)
    scores = torch.baddbmm(weights.out_bias.unsqueeze(2), weights.out_weight, hidden.mT)
    error = torch.softmax(scores, 1).sub_(target).div_(z.shape[1])
    at_hidden = torch.bmm(error.mT, weights.out_weight).mul_(slopes)
    grads = torch.bmm(at_hidden.mT, z), at_hidden.sum(1), torch.bmm(error, hidden), error.sum(2)
    return HeadWeights(*grads), at_hidden


def fine_tune(start: HeadWeights, features: Tensor, labels: Tensor, steps: int, lr: float) -> HeadWeights:
    """Fine-tune a head per episode by `steps` full-batch steps of Adam on its mean cross-entropy.

    Equal to `torch.optim.Adam` run for each episode by itself; an episode's head depends on nothing else of its batch.

    Args:
        start: the weights to start from, one head for all or stacked ones; they stay as they are.
        features: `[B, S, d]`; no gradient flows into them.
        labels: int64 `[S]` or `[B, S]`.
        steps: how many steps.
        lr: Adam's learning rate.

    Returns:
        Stacked weights, detached.
    """
    count, rows, _ = features.shape
    stacked, classes = start.stacked(count), start.out_bias.shape[-1]
    target = F.one_hot(labels.expand(count, rows), classes).to(features.dtype).mT  # [B, N, S]
    with torch.no_grad():
        chunks = zip(*(torch.split(part, HEADS_AT_ONCE) for part in (features, target, *stacked)), strict=True)
        tuned = [_fine_tune_chunk(HeadWeights(*weights), z, wanted, steps, lr) for z, wanted, *weights in chunks]
    return HeadWeights(*(torch.cat(parts) for parts in zip(*tuned, strict=True)))


def _fine_tune_chunk(start: HeadWeights, z: Tensor, target: Tensor, steps: int, lr: float) -> HeadWeights:
    weights = HeadWeights(*(weight.clone(memory_format=torch.contiguous_format) for weight in start))
    averages, squares = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    taken = [torch.zeros((), device=z.device) for _ in weights]
    for _ in range(steps):
        grads = list(head_gradients(weights, z, target)[0])
        adam_step(list(weights), grads, averages, squares, taken, lr)
    return weights


def adam_step(
    weights: list[Tensor], grads: list[Tensor], averages: list[Tensor], squares: list[Tensor], taken: list[Tensor],
    lr: float,
) -> None:  # fmt: skip
    """One step of Adam with its usual constants, in place; the gradients must be laid out like the weights."""
    adam(
        weights, grads, averages, squares, [], taken,
        amsgrad=False, beta1=_BETA1, beta2=_BETA2, lr=lr, weight_decay=0.0, eps=_EPS, maximize=False, fused=True,
    )  # fmt: skip
