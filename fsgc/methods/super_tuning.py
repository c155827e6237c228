"""Fine-tuning of attention layers and a head on the supports of many episodes at once, for GSM.

Weights have a leading dimension of episodes. Adam treats every number by itself, so one Adam over all is an Adam for
each. The supports' loss depends on the graphs within two links of them and on no others, so steps are taken on those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from fsgc.nn.heads import HeadWeights, apply_heads
from fsgc.nn.super_graph import AttentionWeights, SuperAttention, attend, link_bias, receptive_field

EPISODES_AT_ONCE = 8
"""Their weights, gradients and Adam's two averages take some 20 MB. On a busy machine 4, 8 and 16 took about as long an
episode (1.4 to 1.5 ms a step), 1 and 2 longer (2.4 ms)."""


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


@dataclass(frozen=True, eq=False)
class Tuner:
    """How the layers of an episode are fine-tuned, and applied.

    Attributes:
        layers: the two attention layers to start from.
        head: the head to start from.
        steps: of Adam.
        lr: its learning rate.
        normalise: whether the outputs of the attention layers are divided by their L2 norm.
        masks: dropout.
    """

    layers: Sequence[SuperAttention]
    head: HeadWeights
    steps: int
    lr: float
    normalise: bool
    masks: Masks | None

    def scores(self, x: Tensor, links: Tensor, labels: Tensor) -> Tensor:
        """Fine-tune on the supports, then score all graphs: `[B, M, N]`.

        Args:
            x: `[B, M, in]`, supports first.
            links: bool `[B, M, M]`.
            labels: int64 `[S]`, the classes of the supports.
        """
        weights = self._tuned(x, links, labels)
        with torch.no_grad():
            bias = link_bias(links)
            return self._forward(weights, x, (bias, bias), None)

    def embeddings(self, x: Tensor, links: Tensor, labels: Tensor) -> Tensor:
        """Fine-tune on the supports, then what the head is given of all graphs: `[B, M, d]`."""
        weights = self._tuned(x, links, labels)
        with torch.no_grad():
            bias = link_bias(links)
            return self._attend(weights, x, (bias, bias), (None, None))

    def _tuned(self, x: Tensor, links: Tensor, labels: Tensor) -> list[Tensor]:
        weights = self._start(len(x))
        if self.steps:
            self._tune(weights, x, links, labels)
        return weights

    def _start(self, episodes: int) -> list[Tensor]:
        stacked = [w for layer in self.layers for w in layer.stacked(episodes)]
        stacked += self.head.stacked(episodes)
        return [w.detach().clone(memory_format=torch.contiguous_format).requires_grad_() for w in stacked]

    def _tune(self, weights: list[Tensor], x: Tensor, links: Tensor, labels: Tensor) -> None:
        """Adam on the mean cross-entropy of each episode's supports; changes `weights`."""
        episodes, supports = len(x), len(labels)
        field = receptive_field(links, supports)
        near = x.gather(1, field.order.unsqueeze(2).expand(-1, -1, x.shape[2]))
        biases = link_bias(field.first), link_bias(field.second)
        targets = labels.repeat(episodes)
        optimiser = torch.optim.Adam(weights, lr=self.lr, fused=True)
        for step in range(self.steps):
            with torch.enable_grad():
                logits = self._forward(weights, near, biases, step)
                loss = F.cross_entropy(logits.flatten(0, 1), targets, reduction="sum") / supports
            for weight, gradient in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                weight.grad = gradient.contiguous()  # laid out as the weight: the fused Adam goes by memory
            optimiser.step()

    def _forward(self, weights: list[Tensor], x: Tensor, biases: tuple[Tensor, Tensor], step: int | None) -> Tensor:
        """Logits of the targets of the second layer; `[B, n, in]` to `[B, m, N]`; with a step, its dropout."""
        keep: tuple[Tensor | None, ...] = (None, None, None)
        if step is not None and self.masks is not None:
            first, second = (bias.shape[1:] for bias in biases)
            keep = (
                self.masks.first[step, : first[0], : first[1]],
                self.masks.second[step, : second[0], : second[1]],
                self.masks.head[step],
            )
        return apply_heads(HeadWeights(*weights[6:]), self._attend(weights, x, biases, keep[:2]), keep[2])

    def _attend(
        self, weights: list[Tensor], x: Tensor, biases: tuple[Tensor, Tensor], keep: tuple[Tensor | None, ...]
    ) -> Tensor:
        """The two attention layers: `[B, n, in]` to `[B, m, d]`."""
        for index, (layer, bias) in enumerate(zip(self.layers, biases, strict=True)):
            own = AttentionWeights(*weights[3 * index : 3 * index + 3])
            x = attend(own, x, bias, layer.slope, keep[index])
            x = F.normalize(x, dim=2) if self.normalise else x
        return x
