"""AS-MAML on plain PyG: its network, and one episode adapted by autograd, step by step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.nn import SAGEConv, SAGPooling, global_max_pool, global_mean_pool
from torch_geometric.utils import add_self_loops

from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import Episodes
from fsgc.methods.as_maml.method import AdaptiveStepMaml
from fsgc.methods.as_maml.sag_network import SagNetwork
from fsgc.methods.contract import TaskShape

RATIO = 0.5


class PlainNetwork(nn.Module):
    """The network of one episode on PyG."""

    def __init__(self, num_features: int, width: int, levels: int, classes: int, root_weight: bool = True) -> None:
        super().__init__()
        in_widths = [num_features] + [width] * (levels - 1)
        self.root_weight = root_weight
        self.convs = nn.ModuleList(SAGEConv(wide, width, root_weight=root_weight) for wide in in_widths)
        self.pools = nn.ModuleList(SAGPooling(width, RATIO) for _ in in_widths)
        for _, pool in self.levels():
            nn.init.ones_(pool.select.weight)  # only its sign counts
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise((2 * width, width, width // 2, classes)))

    def levels(self) -> list[tuple[Any, Any]]:
        """Convolution and pooling of each level."""
        return list(zip(self.convs, self.pools, strict=True))

    def names(self) -> dict[str, str]:
        """Of every weight, its name in `SagNetwork` and here."""
        pairs = {f"head.{place}": f"head.{place}" for place in range(3)}
        for level in range(len(self.convs)):
            pairs |= {f"neighbour.{level}": f"convs.{level}.lin_l", f"root.{level}": f"convs.{level}.lin_r"}
            pairs |= {f"score_neighbour.{level}": f"pools.{level}.gnn.lin_rel"}
            pairs |= {f"score_root.{level}": f"pools.{level}.gnn.lin_root"}
        both = {f"{a}.{kind}": f"{b}.{kind}" for a, b in pairs.items() for kind in ("weight", "bias")}
        here = dict(self.named_parameters())
        return {mine: theirs for mine, theirs in both.items() if theirs in here}

    def load(self, ours: SagNetwork) -> None:
        """Take weights over."""
        names = self.names()
        assert set(names) == {name for name, _ in ours.named_parameters()}
        with torch.no_grad():
            for mine, theirs in names.items():
                self.get_parameter(theirs).copy_(ours.get_parameter(mine))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Logits, average node information of the last level, nodes of every graph at each level."""
        total, sizes = torch.zeros(()), []
        for conv, pool in self.levels():
            # Without a matrix of its own, a node is one of its neighbours.
            edges = edge_index if self.root_weight else add_self_loops(edge_index, num_nodes=len(x))[0]
            x = F.leaky_relu(conv(x, edges), 0.1)
            x, edge_index, _, batch, _, _ = pool(x, edge_index, None, batch)
            sizes.append(torch.bincount(batch))
            total = total + F.leaky_relu(torch.cat([global_max_pool(x, batch), global_mean_pool(x, batch)], 1), 0.1)
        adjacency = torch.zeros(len(x), len(x))
        adjacency[edge_index[1], edge_index[0]] = 1
        scale = adjacency.sum(1).pow(-0.5)
        scale[scale.isinf()] = 0
        information = (x - torch.diag(scale) @ adjacency @ torch.diag(scale) @ x).abs().sum(1).mean()
        for layer in self.head[:-1]:
            total = F.leaky_relu(layer(total), 0.1)
        return self.head[-1](total), information, sizes


def plain_input(store: GraphStore, x: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The graphs of one episode, put together in the plainest way."""
    rows, edges, batch, offset = [], [], [], 0
    for place, graph in enumerate(graphs.tolist()):
        nodes = slice(int(store.node_ptr[graph]), int(store.node_ptr[graph + 1]))
        first, last = store.edge_ptr[graph : graph + 2]
        rows.append(x[nodes])
        edges.append(torch.from_numpy(store.edge_index[:, first:last]).long() + offset)
        batch += [place] * len(rows[-1])
        offset += len(rows[-1])
    return torch.cat(rows), torch.cat(edges, 1), torch.tensor(batch)


class PlainEpisode:
    """One episode adapted by a plain loop over PyG's layers."""

    def __init__(self, method: AdaptiveStepMaml, episodes: Episodes, graphs: Tensor, shots: int) -> None:
        shape, settings = TaskShape.of(episodes), method.settings
        x = method.graphs.features.rows()
        self.network = PlainNetwork(x.shape[1], settings.width, settings.levels, shape.way, settings.root_weight)
        self.network.load(method.network)
        self.support = plain_input(episodes.graphs, x, graphs[:, :shots].flatten())
        self.query = plain_input(episodes.graphs, x, graphs[:, shots:].flatten())
        self.support_labels, self.query_labels = (
            torch.arange(shape.way).repeat_interleave(count) for count in (shots, graphs.shape[1] - shots)
        )
        self.lr = settings.inner_lr
        self.start: dict[str, Tensor] = {n: p for n, p in self.network.named_parameters() if "select" not in n}

    def adapt(self, steps: int, create_graph: bool = True) -> tuple[dict[str, Tensor], list[Tensor], list[Tensor]]:
        """The weights after so many steps, the loss and the node information before each."""
        weights, losses, information = dict(self.start), [], []
        for _ in range(steps):
            logits, ani, _ = functional_call(self.network, weights, self.support)
            loss = F.cross_entropy(logits, self.support_labels)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=create_graph)
            weights = {name: w - self.lr * g for (name, w), g in zip(weights.items(), grads, strict=True)}
            losses.append(loss.detach())
            information.append(ani.detach())
        return weights, losses, information

    def scores(self, weights: dict[str, Tensor]) -> Tensor:
        """Logits of the queries."""
        logits: Tensor = functional_call(self.network, weights, self.query)[0]
        return logits
