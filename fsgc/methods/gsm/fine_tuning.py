"""Fine-tuning of attention layers and a head on the supports of some episodes side by side, for GSM.

Weights have a leading dimension of episodes. Adam treats every number by itself, so one Adam over all is an Adam for
each, and since it does not matter to it how they lie, all weights are one array, as are their gradients. The supports'
loss depends on the graphs within two links of them and on no others, so steps are taken on those. Where there is
compiled code for it, that takes the steps of one episode after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.attention_pass import Normalised, ProductsFirst, SumsFirst
from fsgc.methods.gsm.head_pass import HeadPass
from fsgc.methods.gsm.receptive_field import Group
from fsgc.methods.gsm.super_graph import AttentionWeights, SuperAttention, attend, link_bias
from fsgc.methods.gsm.tuning_kernel import Steps, is_compiled_for, tune
from fsgc.nn.heads import HeadWeights, adam_step, apply_heads


def episodes_at_once(device: torch.device) -> int:
    """How many episodes make a group.

    Of an episode the weights, their gradients and Adam's two averages take 2.8 MB: on a CPU four are taken at a time,
    so that a step finds them in its cache even where another process uses that, too. Compiled code takes one at a time
    in each thread.
    """
    return max(4, torch.get_num_threads()) if device.type == "cpu" else 64


@dataclass(frozen=True, eq=False)
class Masks:
    """The dropout masks of all steps, the same in all episodes, so that an episode does not depend on its company.

    Attributes:
        first: `[T, k, M, H]`, of the attention of the first layer along the links of each graph, divided by `H`.
        second: `[T, k, S, H]`, of the second.
        head: `[T, S, h]`, of the head's hidden layer.
    """

    first: Tensor
    second: Tensor
    head: Tensor

    @classmethod
    def draw(cls, shape: tuple[int, int, int, int, int, int], dropout: float, generator: torch.Generator) -> Masks:
        """Masks for `(steps, links, heads, M, S, h)`."""
        steps, places, heads, graphs, supports, hidden = shape
        sizes = ((places, graphs, heads), (places, supports, heads), (supports, hidden))
        first, second, head = (
            (torch.rand(steps, *size, generator=generator) >= dropout) / (1 - dropout) for size in sizes
        )
        return cls(first / heads, second / heads, head)

    def to(self, device: torch.device) -> Masks:
        """The same on a device."""
        return Masks(self.first.to(device), self.second.to(device), self.head.to(device))


class TunedWeights(NamedTuple):
    """What is fine-tuned, of one episode or, with a leading dimension, of `B`; laid out as the passes want it.

    Attributes:
        first: of the first attention layer, as in `ProductsFirst`.
        second: of the second, as in `SumsFirst`.
        head: of the head.
    """

    first: AttentionWeights
    second: AttentionWeights
    head: HeadWeights

    def tensors(self) -> list[Tensor]:
        """All of them, one after the other."""
        return [*self.first, *self.second, *self.head]

    def within(self, array: Tensor, count: int) -> TunedWeights:
        """Views of a flat array that holds such weights of `count` episodes."""
        sizes = [count * tensor.numel() for tensor in self.tensors()]
        shapes = [(count, *tensor.shape) for tensor in self.tensors()]
        views = [part.view(shape) for part, shape in zip(torch.split(array, sizes), shapes, strict=True)]
        return TunedWeights(AttentionWeights(*views[:3]), AttentionWeights(*views[3:6]), HeadWeights(*views[6:]))


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
    masks: Masks

    @torch.no_grad()
    def scores(self, x: Tensor, links: Tensor, group: Group, labels: Tensor) -> Tensor:
        """Fine-tune on the supports, then score all graphs: `[b, M, N]`.

        Args:
            x: `[b, M, in]`, supports first.
            links: bool `[b, M, M]`.
            group: what of them the supports depend on.
            labels: int64 `[S]`, the classes of the supports.
        """
        weights = self._tuned(x, group, labels)
        return apply_heads(weights.head, self._attend(weights, x, links))

    @torch.no_grad()
    def embeddings(self, x: Tensor, links: Tensor, group: Group, labels: Tensor) -> Tensor:
        """Fine-tune on the supports, then what the head is given of all graphs: `[b, M, d]`."""
        return self._attend(self._tuned(x, group, labels), x, links)

    def _start(self) -> TunedWeights:
        """The weights to start from, of one episode."""
        heads, _, width = self.second.attention.shape
        first, second = (layer.attention.transpose(0, 1).flatten(0, 1) for layer in (self.first, self.second))
        by_output = self.second.weight.view(heads, width, -1).transpose(0, 1).flatten(1)
        return TunedWeights(
            AttentionWeights(self.first.weight, first, self.first.bias),
            AttentionWeights(by_output, second, self.second.bias),
            self.head,
        )

    def _tuned(self, x: Tensor, group: Group, labels: Tensor) -> TunedWeights:
        """Adam on the mean cross-entropy of each episode's supports."""
        episodes, supports = len(x), len(labels)
        start = self._start()
        array = torch.cat([tensor.expand(episodes, *tensor.shape).flatten() for tensor in start.tensors()])
        weights = start.within(array, episodes)
        near = x.gather(1, group.order.unsqueeze(2).expand(-1, -1, x.shape[2]))
        if is_compiled_for(near):
            masks = self.masks.first, self.masks.second, self.masks.head
            steps = Steps(self.steps, self.lr, (self.first.slope, self.second.slope), self.normalise, masks)
            tune(weights.tensors(), near, group, labels, steps)
            return weights
        grad_array, average, square = (torch.zeros_like(array) for _ in range(3))
        taken = array.new_zeros(())
        grads = start.within(grad_array, episodes)
        n1 = group.first.source.shape[1]
        target = F.one_hot(labels.expand(episodes, supports), start.head.out_bias.shape[0]).to(x.dtype).mT
        first = ProductsFirst(weights.first, grads.first, near, group.first, self.first.slope)
        second = SumsFirst(weights.second, grads.second, n1, group.second, self.second.slope)
        head = HeadPass(weights.head, grads.head, target)
        after_first, after_second = Normalised(self.normalise), Normalised(self.normalise)
        masks = self.masks.first[:, :, :n1].flatten(2), self.masks.second.flatten(2), self.masks.head
        for keep_first, keep_second, keep_head in zip(*masks, strict=True):
            h = after_first.forward(first.forward(keep_first))
            h = after_second.forward(second.forward(h, keep_second))
            head.backward(h, keep_head, second.grad_output)
            after_second.backward(second.grad_output)
            at_h = second.backward()
            after_first.backward(at_h)
            first.backward(at_h)
            adam_step([array], [grad_array], [average], [square], [taken], self.lr)
        return weights

    def _attend(self, weights: TunedWeights, x: Tensor, links: Tensor) -> Tensor:
        """The two attention layers without dropout: `[b, M, in]` to `[b, M, d]`."""
        bias = link_bias(links)
        count, (heads, _, width) = len(x), self.second.attention.shape
        by_head = weights.second.weight.view(count, width, heads, -1).transpose(1, 2).flatten(1, 2)
        for layer, weight, own in (
            (self.first, weights.first.weight, weights.first),
            (self.second, by_head, weights.second),
        ):
            vectors = own.attention.view(count, 2, heads, width).transpose(1, 2)
            x = attend(AttentionWeights(weight, vectors, own.bias), x, bias, layer.slope)
            x = F.normalize(x, dim=2) if self.normalise else x
        return x
