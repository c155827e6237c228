"""Embedder and head on plain PyG layers, one episode at a time: what transfer and MAML are measured against.

Also the oracle of their tests.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, global_add_pool, global_mean_pool

from benchmarks.plain import PlainMLP
from fsgc.episodes.batches import Episodes
from fsgc.nn.settings import EmbedderSettings

_NAMES = {  # our name of a weight, PyG's
    "first": "nn.linears.0",
    "others.0": "nn.linears.1",
    "norms.0": "nn.norms.0",
    "att_source": "att_src",
    "att_target": "att_dst",
}


class PlainClassifier(nn.Module):
    """The embedder and a two-layer head to `classes` logits; mean or sum pooling, GraphNorm, at most 2 MLP layers."""

    def __init__(self, num_features: int, settings: EmbedderSettings, classes: int) -> None:
        super().__init__()
        self.settings = settings
        width, count = settings.width, settings.num_convs
        self.convs = nn.ModuleList(self._conv(num_features if i == 0 else width) for i in range(count))
        self.jump = nn.ModuleDict({"linear": nn.Linear(num_features + count * width, width)})
        self.jump["norm"] = nn.LayerNorm(width)
        self.out = nn.Linear(width, width)
        self.head = nn.ModuleDict({"hidden": nn.Linear(width, width), "out": nn.Linear(width, classes)})

    def _conv(self, in_width: int) -> nn.Module:
        settings, width = self.settings, self.settings.width
        if settings.conv == "gin":
            mlp = PlainMLP(in_width, width, settings.gin_mlp_layers)
            conv: nn.Module = GINConv(mlp, train_eps=settings.learnable_eps)
        else:
            conv = (GATConv if settings.conv == "gat" else GCNConv)(in_width, width)
        return conv

    def embed(self, batch: Batch) -> Tensor:
        """Embed the graphs of a PyG batch, `[g, d]`."""
        h, layers = batch.x, [batch.x]
        for conv in self.convs:
            if self.settings.conv == "gin":
                conv.nn.batch = batch.batch  # type: ignore[union-attr]
            h = F.dropout(conv(h, batch.edge_index), self.settings.dropout, self.training)
            layers.append(h)
        h = self.out(F.relu(self.jump["norm"](self.jump["linear"](torch.cat(layers, 1)))))
        pool = global_mean_pool if self.settings.pooling == "mean" else global_add_pool
        return pool(h, batch.batch)

    def forward(self, batch: Batch) -> Tensor:
        """Logits, `[g, classes]`."""
        return self.head["out"](F.relu(self.head["hidden"](self.embed(batch))))


def copy_weights(ours: nn.Module, plain: PlainClassifier) -> None:
    """Give the plain network the weights of a module that has an `embedder` and a `head` of ours."""
    theirs = plain.state_dict()
    mine = {_plain_name(name, plain.settings.conv): value for name, value in ours.state_dict().items()}
    plain.load_state_dict({name: mine[name].reshape(theirs[name].shape) for name in theirs})


def _plain_name(name: str, conv: str) -> str:
    name = name.removeprefix("embedder.")
    if not name.startswith("convs."):
        return name
    _, index, rest = name.split(".", 2)
    for ours, theirs in _NAMES.items():
        rest = theirs + rest.removeprefix(ours) if rest.startswith(ours) else rest
    rest = "lin.weight" if rest == "weight" and conv != "gin" else rest
    return f"convs.{index}.{rest}"


def collate(episodes: Episodes, cache: dict[int, Data], graphs: Tensor) -> Batch:
    """A PyG batch of the given graphs, whose `Data` objects are kept in `cache`."""
    for graph in graphs.flatten().tolist():
        if graph not in cache:
            cache[graph] = episodes.graphs.to_data(graph, episodes.features)
    return Batch.from_data_list([cache[graph] for graph in graphs.flatten().tolist()])
