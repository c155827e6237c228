"""Networks with weights of their own per episode, written out, and the same one episode after the other by autograd."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.contract import TaskShape
from fsgc.methods.maml.episode_network import EpisodeNetwork
from fsgc.methods.maml.flat_weights import FlatWeights
from fsgc.methods.maml.method import MamlNetwork, MamlSettings
from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.episode_nets import GRAPHS

WAY = GRAPHS.shape[1]
LABELS = torch.arange(WAY)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"pooling": "sum", "num_convs": 3},
    {"learnable_eps": False, "num_convs": 1},
    {"norm": "episode"},
]


class Setting:
    """A network, weights of its own for each episode, and both ways to compute with them."""

    def __init__(self, tensors: GraphTensors, one_hot: bool = False, **changes: Any) -> None:
        torch.manual_seed(0)
        self.tensors, self.settings = tensors, MamlSettings(width=6, **changes)
        self.net = MamlNetwork(TaskShape(tensors.num_features, WAY, base_classes=WAY), self.settings)
        named = dict(self.net.named_parameters())
        self.weights = {
            name: (weight.detach() + 0.3 * torch.randn(len(GRAPHS), *weight.shape)).requires_grad_()
            for name, weight in named.items()
        }
        self.layout = FlatWeights(named, self.settings, tensors.num_features)
        self.network = EpisodeNetwork(EpisodeGraphs.make(tensors, GRAPHS), self.settings, self.layout, one_hot)

    def vectors(self, weights: dict[str, Tensor]) -> Tensor:
        """Our vectors, `[B, W]`."""
        each = [{name: weight[i] for name, weight in weights.items()} for i in range(len(GRAPHS))]
        return torch.stack([self.layout.pack(one) for one in each])

    def plain_logits(self, tensors: GraphTensors) -> Tensor:
        """The oracle: the network on one episode after the other."""
        rows = [
            torch.func.functional_call(
                self.net, {name: w[i] for name, w in self.weights.items()}, (tensors.batch(graphs),)
            )
            for i, graphs in enumerate(GRAPHS)
        ]
        return torch.stack(rows)

    def plain_gradients(self, tensors: GraphTensors) -> list[Tensor]:
        """Of each episode's mean cross-entropy, ready to be differentiated again."""
        logits = self.plain_logits(tensors)
        loss = F.cross_entropy(logits.flatten(0, 1), LABELS.repeat(len(logits)), reduction="sum") / WAY
        return list(torch.autograd.grad(loss, list(self.weights.values()), create_graph=True))

    def same(self, ours: Tensor, theirs: list[Tensor]) -> None:
        """Compare vectors `[B, W]` with named gradients."""
        for episode, vector in enumerate(ours):
            for mine, plain in zip(self.layout.unpack(vector), theirs, strict=True):
                scale = max(1.0, float(plain.detach().abs().max()))
                torch.testing.assert_close(mine, plain[episode].detach(), rtol=1e-8, atol=1e-10 * scale)
