"""Fine-tuning of attention layers and a head on the supports of many episodes at once, for GSM.

Weights have a leading dimension of episodes. Adam treats every number by itself, so one Adam over all is an Adam for
each. The supports' loss depends on the graphs within two links of them and on no others, so steps are taken on those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.attention_pass import AttentionPass
from fsgc.methods.gsm.super_graph import AttentionWeights, SuperAttention, attend, link_bias, receptive_field
from fsgc.nn.heads import HeadWeights, adam_step, apply_heads, head_gradients

EPISODES_AT_ONCE = 8
"""Their weights, gradients and Adam's two averages take some 20 MB; 2 and 4 took about as long an episode."""


@dataclass(frozen=True, eq=False)
class Masks:
    """The dropout masks of all steps, the same in all episodes, so that an episode does not depend on its company.

    Attributes:
        first: `[T, M, M, H]`, of the attention of the first layer.
        second: `[T, S, M, H]`, of the second.
        head: `[T, S, h]`, of the head's hidden layer.
    """

    first: Tensor
    second: Tensor
    head: Tensor

    @classmethod
    def draw(cls, shape: tuple[int, int, int, int, int], dropout: float, generator: torch.Generator) -> Masks | None:
        """Masks for `(steps, heads, M, S, h)`; None without dropout."""
        if dropout == 0:
            return None
        steps, heads, graphs, supports, hidden = shape
        sizes = ((graphs, graphs, heads), (supports, graphs, heads), (supports, hidden))
        drawn = (torch.rand(steps, *size, generator=generator) for size in sizes)
        return cls(*((values >= dropout) / (1 - dropout) for values in drawn))

    def to(self, device: torch.device) -> Masks:
        """The same on a device."""
        return Masks(self.first.to(device), self.second.to(device), self.head.to(device))


class TunedWeights(NamedTuple):
    """What is fine-tuned, for `B` episodes.

    Attributes:
        first: of the first attention layer.
        second: of the second.
        head: of the head.
    """

    first: AttentionWeights
    second: AttentionWeights
    head: HeadWeights

    def tensors(self) -> list[Tensor]:
        """All of them, for Adam."""
        return [*self.first, *self.second, *self.head]


@dataclass(frozen=True, eq=False)
class Tuner:
    """How the layers of an episode are fine-tuned, and applied.

    Attributes:
        first: the first attention layer to start from.
        second: the second.
        head: the head to start from.
        steps: of Adam.
        lr: its learning rate.
        normalise: whether the outputs of the attention layers are divided by their L2 norm.
        masks: dropout.
    """

    first: SuperAttention
    second: SuperAttention
    head: HeadWeights
    steps: int
    lr: float
    normalise: bool
    masks: Masks | None

    @torch.no_grad()
    def scores(self, x: Tensor, links: Tensor, labels: Tensor) -> Tensor:
        """Fine-tune on the supports, then score all graphs: `[B, M, N]`.

        Args:
            x: `[B, M, in]`, supports first.
            links: bool `[B, M, M]`.
            labels: int64 `[S]`, the classes of the supports.
        """
        weights = self._tuned(x, links, labels)
        return apply_heads(weights.head, self._attend(weights, x, links))

    @torch.no_grad()
    def embeddings(self, x: Tensor, links: Tensor, labels: Tensor) -> Tensor:
        """Fine-tune on the supports, then what the head is given of all graphs: `[B, M, d]`."""
        return self._attend(self._tuned(x, links, labels), x, links)

    def _tuned(self, x: Tensor, links: Tensor, labels: Tensor) -> TunedWeights:
        weights = self._start(len(x))
        if self.steps:
            self._tune(weights, x, links, labels)
        return weights

    def _start(self, episodes: int) -> TunedWeights:
        return TunedWeights(
            AttentionWeights(*map(_own_copy, self.first.stacked(episodes))),
            AttentionWeights(*map(_own_copy, self.second.stacked(episodes))),
            HeadWeights(*map(_own_copy, self.head.stacked(episodes))),
        )

    def _tune(self, weights: TunedWeights, x: Tensor, links: Tensor, labels: Tensor) -> None:
        """Adam on the mean cross-entropy of each episode's supports; changes `weights`."""
        episodes, supports = len(x), len(labels)
        field = receptive_field(links, supports)
        near = x.gather(1, field.order.unsqueeze(2).expand(-1, -1, x.shape[2]))
        biases = link_bias(field.first), link_bias(field.second)
        head = weights.head
        target = F.one_hot(labels.expand(episodes, supports), head.out_bias.shape[1]).to(x.dtype).mT
        first = AttentionPass(weights.first, biases[0], self.first.slope, self.normalise)
        second = AttentionPass(weights.second, biases[1], self.second.slope, self.normalise)
        tensors = weights.tensors()
        averages, squares = ([torch.zeros_like(tensor) for tensor in tensors] for _ in range(2))
        taken = [torch.zeros((), device=x.device) for _ in tensors]
        for step in range(self.steps):
            keep = self._keep(step, biases)
            h = second.forward(first.forward(near, keep[0]), keep[1])
            head_grads, at_hidden = head_gradients(head, h, target, keep[2])
            at_second = second.backward(torch.bmm(at_hidden, head.hidden_weight), of_input=True)
            assert at_second is not None
            first.backward(at_second, of_input=False)
            grads = TunedWeights(first.grads, second.grads, head_grads)
            adam_step(tensors, grads.tensors(), averages, squares, taken, self.lr)

    def _keep(self, step: int, biases: tuple[Tensor, Tensor]) -> tuple[Tensor | None, ...]:
        """The dropout masks of a step."""
        if self.masks is None:
            return None, None, None
        first, second = (bias.shape[1:] for bias in biases)
        return (
            self.masks.first[step, : first[0], : first[1]],
            self.masks.second[step, : second[0], : second[1]],
            self.masks.head[step],
        )

    def _attend(self, weights: TunedWeights, x: Tensor, links: Tensor) -> Tensor:
        """The two attention layers without dropout: `[B, M, in]` to `[B, M, d]`."""
        bias = link_bias(links)
        for layer, own in ((self.first, weights.first), (self.second, weights.second)):
            x = attend(own, x, bias, layer.slope)
            x = F.normalize(x, dim=2) if self.normalise else x
        return x


def _own_copy(weight: Tensor) -> Tensor:
    """The weight with memory of its own, to be changed in place."""
    return weight.detach().clone(memory_format=torch.contiguous_format)
