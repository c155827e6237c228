"""The stacked network against PyG's layers, one episode at a time."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv, SAGPooling, global_max_pool, global_mean_pool
from torch_geometric.utils import add_self_loops

from fsgc.data.graph_store import GraphStore
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs, pooled_counts
from fsgc.methods.as_maml.sag_network import SagNetwork, node_information
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import features, mixed_store

pytestmark = pytest.mark.usefixtures("double")
RATIO = 0.5
EPISODES = torch.tensor([[3, 9, 8, 2], [1, 0, 10, 5], [11, 7, 6, 9]])
"""Episodes of very different sizes, with a graph of one node, one without edges, and one that is in two episodes."""


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
        return list(zip(self.convs, self.pools, strict=True))

    def load(self, ours: SagNetwork) -> None:
        with torch.no_grad():
            for level, (conv, pool) in enumerate(self.levels()):
                for mine, theirs in (
                    (ours.neighbour[level], conv.lin_l),
                    *([(ours.root[level], conv.lin_r)] if self.root_weight else []),
                    (ours.score_neighbour[level], pool.gnn.lin_rel),
                    (ours.score_root[level], pool.gnn.lin_root),
                ):
                    theirs.load_state_dict(mine.state_dict())
            self.head.load_state_dict(ours.head.state_dict())

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
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


def setup(
    levels: int, root_weight: bool = True
) -> tuple[list[SagNetwork], dict[str, Tensor], PooledGraphs, GraphStore, Tensor]:
    torch.manual_seed(0)
    store = mixed_store()
    x = features(store, 4)
    networks = [SagNetwork(4, 6, levels, 3, root_weight) for _ in EPISODES]
    stacked = {
        name: torch.stack([dict(network.named_parameters())[name] for network in networks]).detach().requires_grad_()
        for name, _ in networks[0].named_parameters()
    }
    graphs = PooledGraphs.make(GraphTensors(store, x), EPISODES, levels, RATIO)
    return networks, stacked, graphs, store, x


@pytest.mark.parametrize("root_weight", [True, False])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_network_is_that_of_pyg(levels: int, root_weight: bool) -> None:
    networks, stacked, graphs, store, x = setup(levels, root_weight)
    output = networks[0].run(stacked, graphs)
    weight = torch.randn(output.logits.shape)
    grads = torch.autograd.grad((output.logits * weight).sum(), list(stacked.values()))
    for episode, network in enumerate(networks):
        plain = PlainNetwork(4, 6, levels, 3, root_weight)
        plain.load(network)
        logits, information, sizes = plain(*plain_input(store, x, EPISODES[episode]))
        torch.testing.assert_close(output.logits[episode], logits)
        torch.testing.assert_close(output.information[episode], information.detach())
        for level_nodes, size in zip(graphs.levels[1:], sizes, strict=True):
            assert level_nodes.counts[episode].tolist() == size.tolist()
        (logits * weight[episode]).sum().backward()
        mine = dict(zip(stacked, grads, strict=True))
        for level, (conv, pool) in enumerate(plain.levels()):
            for name, parameter in (
                (f"neighbour.{level}.weight", conv.lin_l.weight),
                *([(f"root.{level}.weight", conv.lin_r.weight)] if root_weight else []),
                (f"score_neighbour.{level}.bias", pool.gnn.lin_rel.bias),
                (f"score_root.{level}.weight", pool.gnn.lin_root.weight),
            ):
                torch.testing.assert_close(mine[name][episode], parameter.grad)


def test_pooling_keeps_the_ceiling_of_its_share() -> None:
    """Also where the product is whole, and where PyG's single precision decides."""
    counts = torch.arange(1, 200)
    assert pooled_counts(counts, 0.5).tolist() == [math.ceil(n / 2) for n in range(1, 200)]
    _, _, graphs, store, _ = setup(3)
    expected = store.num_nodes[EPISODES.numpy()]
    for nodes in graphs.levels:
        assert nodes.counts.tolist() == expected.tolist()
        expected = -(-expected // 2)


def test_second_derivatives_of_the_network() -> None:
    """Through convolution, pooling, max and mean; the nodes kept do not change within the differences taken."""
    networks, stacked, graphs, _, _ = setup(2)
    names = ["neighbour.1.weight", "score_root.0.weight", "head.0.weight"]
    parts = tuple(stacked[name].detach().requires_grad_() for name in names)

    def function(*inputs: Tensor) -> Tensor:
        return (
            networks[0].run({**stacked, **dict(zip(names, inputs, strict=True))}, graphs).logits[:, 1:].square().sum()
        )

    assert torch.autograd.gradgradcheck(function, parts, fast_mode=True)


def test_node_information_on_a_path() -> None:
    """Three nodes in a row with x = (1, 2, 4): |1 - 2/√2| + |2 - 1/√2 - 4/√2| + |4 - 2/√2|, over three nodes."""
    sizes, source, target, y = (np.array(values) for values in ([3, 1], [0, 1], [1, 2], [0, 0]))
    store = GraphStore.from_edges(sizes, source, target, y)
    x = torch.tensor([[1.0], [2.0], [4.0], [100.0]])
    graphs = PooledGraphs.make(GraphTensors(store, x), torch.tensor([[0], [1]]), 1, 1.0)
    root = math.sqrt(2)
    expected = (abs(1 - 2 / root) + abs(2 - 5 / root) + abs(4 - 2 / root)) / 3
    information = node_information(graphs.x, graphs.adjacency, graphs.levels[0])
    torch.testing.assert_close(information, torch.tensor([expected, 100.0]))
