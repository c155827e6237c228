"""A GIN with a read-out per layer as public code has it, on PyG's layers; the encoder of `benchmarks.rows`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

from fsgc.episodes.batches import Episodes
from fsgc.nn.gin_read_outs import GINReadOuts


class PlainGIN(nn.Module):
    """The plain counterpart of `GINReadOuts` with batch norm, sums and MLPs of two layers, with its weights."""

    def __init__(self, ours: GINReadOuts) -> None:
        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        layers: Any = zip(ours.convs, ours.norms, strict=True)
        for conv, norm in layers:
            width = conv.first.out_features
            mlp = nn.Sequential(
                nn.Linear(conv.first.in_features, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)
            )
            self.convs.append(GINConv(mlp, train_eps=conv.eps is not None))  # which draws the MLP's weights anew
            pairs = ((mlp[0], conv.first), (mlp[1], conv.norms[0].norm), (mlp[3], conv.others[0]))
            for plain, mine in pairs:
                plain.load_state_dict(mine.state_dict())
            if conv.eps is not None:
                self.convs[-1].load_state_dict({"eps": conv.eps.data}, strict=False)
            self.norms.append(nn.BatchNorm1d(width))
            self.norms[-1].load_state_dict(norm.norm.state_dict())

    def forward(self, graphs: list[Data]) -> list[Tensor]:
        """The read-out of every layer, `[g, d]` each."""
        batch = Batch.from_data_list(graphs)
        h, read_outs = batch.x, []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = F.relu(norm(conv(h, batch.edge_index)))
            read_outs.append(global_add_pool(h, batch.batch))
        return read_outs


class DataCache:
    """The graphs of a dataset as PyG's `Data`, made when first asked for."""

    def __init__(self, episodes: Episodes) -> None:
        self.episodes = episodes
        self._made: dict[int, Data] = {}

    def __call__(self, graphs: Tensor) -> list[Data]:
        """The given graphs, of any shape, in order."""
        listed = graphs.flatten().tolist()
        for graph in listed:
            if graph not in self._made:
                data = self.episodes.graphs.to_data(graph, self.episodes.features)
                x = data.x.to(torch.get_default_dtype())
                self._made[graph] = Data(x=x, edge_index=data.edge_index)
        return [self._made[graph] for graph in listed]
