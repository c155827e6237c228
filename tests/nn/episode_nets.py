"""Embedders with weights per episode, and the comparison with one episode after the other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fsgc.nn.embedder import Embedder
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.norms import Groups
from fsgc.nn.settings import EmbedderSettings
from tests.nn.oracle import features, mixed_store

GRAPHS = torch.tensor([[0, 3, 5], [2, 1, 9], [4, 4, 8], [6, 10, 7]])  # episodes of 16 to 55 nodes, one graph twice


class Net(nn.Module):
    def __init__(self, settings: EmbedderSettings, num_features: int) -> None:
        super().__init__()
        self.embedder = Embedder(num_features, settings)

    def forward(self, batch: GraphBatch, groups: Groups | None = None) -> Tensor:
        return self.embedder(batch, None, groups)


def make_tensors(num_features: int = 5) -> GraphTensors:
    store = mixed_store()
    return GraphTensors(store, features(store, num_features))


def make_setting(tensors: GraphTensors, **changes: Any) -> tuple[Net, dict[str, Tensor]]:
    """A network, and weights of its own for each episode."""
    torch.manual_seed(0)
    net = Net(EmbedderSettings(width=6, **changes), tensors.num_features)
    weights = {
        name: (weight.detach() + 0.3 * torch.randn(len(GRAPHS), *weight.shape)).requires_grad_()
        for name, weight in net.named_parameters()
    }
    return net, weights


def one_by_one(net: Net, weights: dict[str, Tensor], tensors: GraphTensors) -> Tensor:
    rows = [
        torch.func.functional_call(net, {name: w[episode] for name, w in weights.items()}, (tensors.batch(graphs),))
        for episode, graphs in enumerate(GRAPHS)
    ]
    return torch.stack(rows)


def _orders(z: Tensor, weights: dict[str, Tensor]) -> list[Tensor]:
    """First and second derivatives of a function of the embeddings."""
    every = list(weights.values())
    first = torch.autograd.grad(z.sin().sum(), every, create_graph=True)
    second = torch.autograd.grad(torch.stack([grad.square().sum() for grad in first]).sum(), every)
    return [*first, *second]


def assert_same(ours: Tensor, theirs: Tensor, weights: dict[str, Tensor]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)
    for mine, plain in zip(_orders(ours, weights), _orders(theirs, weights), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-7, atol=1e-9 * max(1.0, float(plain.detach().abs().max())))
