"""SMF-GIN as public code does it: one episode after the other, `Data` lists, PyG's layers and subgraphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from fsgc.methods.smf_gin.method import SmfGin, SmfGinLocal
from tests.oracles.gin import PlainGIN, copy_state


def halves(data: Data) -> list[Data]:
    """The two halves of a graph by the order of its nodes; for one without edges the other, or the whole graph."""
    nodes = torch.arange(data.num_nodes)
    cut = data.num_nodes // 2
    found = []
    for part in (nodes[:cut], nodes[cut:]):
        edges, _ = subgraph(part, data.edge_index, relabel_nodes=True, num_nodes=data.num_nodes)
        found.append(Data(x=data.x[part], edge_index=edges) if edges.numel() else None)
    first, second = found
    return [first or second or data, second or first or data]


class PlainSmfGin(nn.Module):
    """Either row, with the weights of one of ours."""

    def __init__(self, ours: SmfGin) -> None:
        super().__init__()
        self.gin = PlainGIN(ours.gin)
        self.rate = ours.settings.dropout
        self.is_local = isinstance(ours, SmfGinLocal)
        self.fusion = None if ours.fusion is None else nn.Parameter(torch.empty_like(ours.fusion))
        copy_state(ours, self)

    def embed(self, graphs: list[Data]) -> Tensor:
        """The given graphs, `[g, d]`."""
        if not self.is_local:
            dropped = [F.dropout(level, self.rate, self.training) for level in self.gin(graphs)]
            assert self.fusion is not None
            return sum((weight * level for weight, level in zip(self.fusion, dropped, strict=True)), torch.zeros(()))
        parts = [half for graph in graphs for half in halves(graph)]
        z = F.dropout(torch.cat(self.gin([*graphs, *parts]), 1), self.rate, self.training)
        cut = z[len(graphs) :]
        return torch.stack([0.7 * z[i] + 0.3 * (cut[2 * i] + cut[2 * i + 1]) / 2 for i in range(len(graphs))])

    def scores(self, graphs: list[Data], way: int, shots: int) -> Tensor:
        """−‖q − p‖ of the queries of one episode, class-major: `[N·Q, N]`."""
        classes = self.embed(graphs).chunk(way)
        prototypes = torch.stack([rows[:shots].mean(0) for rows in classes])
        queries = torch.cat([rows[shots:] for rows in classes])
        distances: Tensor = (queries[:, None] - prototypes[None]).norm(dim=2)
        return -distances
