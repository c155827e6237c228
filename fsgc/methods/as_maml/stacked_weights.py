"""The weights of AS-MAML's network, once for every episode, in the arrangement that its passes take them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor


class Layer(NamedTuple):
    """A linear layer of each of `B` episodes.

    Attributes:
        weight: `[B, in, out]`, so that rows are multiplied from the left; of a score `[B, 2, d]`, its row for the
            neighbours and that for the node itself.
        bias: `[B, 1, out]`; of a score `[B, 1, 1]`.
    """

    weight: Tensor
    bias: Tensor

    def of(self, rows: Tensor) -> Tensor:
        """`x W + b`: `[B, n, in]` to `[B, n, out]`."""
        return torch.baddbmm(self.bias, rows, self.weight)

    def plus(self, scale: float, grad: Tensor, rows: Tensor) -> Layer:
        """These weights and `scale` times their gradient, where `grad` is that of the result of `rows`."""
        weight = torch.baddbmm(self.weight, rows.mT, grad, alpha=scale)
        return Layer(weight, torch.add(self.bias, grad.sum(1, keepdim=True), alpha=scale))


class StackedWeights(NamedTuple):
    """All weights of the network; a gradient and a direction have the same form.

    Attributes:
        convs: of each level. Where a node has a matrix of its own, that stands below its neighbours' one.
        scores: of each level.
        head: of the classifier.
    """

    convs: tuple[Layer, ...]
    scores: tuple[Layer, ...]
    head: tuple[Layer, ...]

    @classmethod
    def of(cls, named: Mapping[str, Tensor], levels: int, episodes: int) -> StackedWeights:
        """As many copies of the weights of a `SagNetwork`, by their names in it."""

        def layer(*names: str) -> Layer:
            weight = torch.cat([named[f"{name}.weight"] for name in names if f"{name}.weight" in named], 1).mT
            return Layer(_copies(weight, episodes), _copies(named[f"{names[0]}.bias"].unsqueeze(0), episodes))

        def score(level: int) -> Layer:
            both = torch.cat([named[f"score_{name}.{level}.weight"] for name in ("neighbour", "root")])
            return Layer(_copies(both, episodes), _copies(named[f"score_neighbour.{level}.bias"][None], episodes))

        return cls(
            tuple(layer(f"neighbour.{level}", f"root.{level}") for level in range(levels)),
            tuple(score(level) for level in range(levels)),
            tuple(layer(f"head.{place}") for place in range(3)),
        )

    def mean(self, root_weight: bool) -> dict[str, Tensor]:
        """The average over episodes, by the names in a `SagNetwork`."""
        named: dict[str, Tensor] = {}
        for level, (conv, score) in enumerate(zip(self.convs, self.scores, strict=True)):
            weight = conv.weight.mean(0).mT
            parts = weight.chunk(2, 1) if root_weight else (weight,)
            named |= {f"{name}.{level}.weight": part for name, part in zip(("neighbour", "root"), parts, strict=False)}
            named[f"neighbour.{level}.bias"] = conv.bias.mean((0, 1))
            neighbour, root = score.weight.mean(0).chunk(2)
            named |= {f"score_neighbour.{level}.weight": neighbour, f"score_root.{level}.weight": root}
            named[f"score_neighbour.{level}.bias"] = score.bias.mean((0, 1))
        for place, layer in enumerate(self.head):
            named |= {f"head.{place}.weight": layer.weight.mean(0).mT, f"head.{place}.bias": layer.bias.mean((0, 1))}
        return named

    def where(self, chosen: Tensor, other: StackedWeights) -> StackedWeights:
        """These weights for the chosen episodes, bool `[B]`, the other ones for the rest."""
        mask = chosen.view(-1, 1, 1)

        def merged(mine: tuple[Layer, ...], theirs: tuple[Layer, ...]) -> tuple[Layer, ...]:
            pairs = zip(mine, theirs, strict=True)
            return tuple(Layer(*(torch.where(mask, a, b) for a, b in zip(*pair, strict=True))) for pair in pairs)

        return StackedWeights(*(merged(mine, theirs) for mine, theirs in zip(self, other, strict=True)))

    def zeros(self) -> StackedWeights:
        """Zeros of the same form."""
        return StackedWeights(*(tuple(Layer(*map(torch.zeros_like, layer)) for layer in part) for part in self))


def _copies(weight: Tensor, episodes: int) -> Tensor:
    return weight.detach().expand(episodes, *weight.shape).contiguous()
