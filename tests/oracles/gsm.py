"""GSM*'s last layers and its super-graph for one episode, on plain PyG."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from fsgc.methods.gsm.method import GraphSpectralMeasures
from fsgc.methods.gsm.super_graph import SuperAttention
from fsgc.nn.heads import fresh_head
from fsgc.random import generator


class PlainTail(nn.Module):
    """Attention layers and head of one episode on plain PyG."""

    def __init__(self, method: GraphSpectralMeasures) -> None:
        super().__init__()
        settings = method.settings
        self.normalise = settings.normalise_attention
        self.layers = nn.ModuleList()
        for ours in method.attention:
            assert isinstance(ours, SuperAttention)
            heads, _, width = ours.attention.shape
            layer = GATConv(ours.weight.shape[1], width, heads=heads, concat=False, negative_slope=settings.slope)
            layer.lin.weight.data = ours.weight.detach().clone()
            layer.att_src.data = ours.attention.detach()[None, :, 0].clone()
            layer.att_dst.data = ours.attention.detach()[None, :, 1].clone()
            layer.bias.data = ours.bias.detach().clone()
            self.layers.append(layer)
        draw = torch.Generator().manual_seed(int(generator("gsm-fine-tune").integers(2**63)))
        head = fresh_head(settings.width, settings.head_width, method.way, draw)
        self.hidden = nn.Linear(settings.width, settings.head_width)
        self.out = nn.Linear(settings.head_width, method.way)
        self.hidden.weight.data, self.hidden.bias.data, self.out.weight.data, self.out.bias.data = head

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, edge_index)
            x = F.normalize(x, dim=1) if self.normalise else x
        return self.out(F.relu(self.hidden(x)))


def knn_edges(z: Tensor, group: list[int], neighbours: int) -> Tensor:
    """Edges from each graph's nearest neighbours, itself included, found one by one."""
    z = z.detach()
    edges = []
    for graph in range(len(z)):
        others = [other for other in range(len(z)) if other != graph and group[other] == group[graph]]
        others.sort(key=lambda other: float((z[graph] - z[other]).norm()))
        edges += [(other, graph) for other in (graph, *others[: neighbours - 1])]
    return torch.tensor(edges).T
