"""Pooling and neighbourhoods against plain loops and networkx."""

from __future__ import annotations

import math

import networkx as nx
import pytest
import torch
from torch import Tensor

from fsgc.methods.as_maml.pooled_graphs import PooledGraphs, pooled_counts
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import features, mixed_store

pytestmark = pytest.mark.usefixtures("double")
EPISODES = torch.tensor([[3, 9, 8, 2], [1, 0, 10, 5], [11, 7, 6, 9]])


def make(root: bool = False) -> PooledGraphs:
    store = mixed_store()
    return PooledGraphs.make(GraphTensors(store, features(store, 3)), EPISODES, 3, 0.5, root)


def row_of(graphs: PooledGraphs) -> Tensor:
    """The graph of each row of the first level, `[B · n]`, -1 of what fills up."""
    store = mixed_store()
    size = graphs.inputs.shape[1]
    rows = [[graph for graph in episode for _ in range(int(store.num_nodes[graph]))] for episode in EPISODES.tolist()]
    return torch.tensor([row + [-1] * (size - len(row)) for row in rows]).flatten()


def test_pooling_keeps_the_ceiling_of_its_share() -> None:
    """Also where the product is whole, and where PyG's single precision decides."""
    counts = torch.arange(1, 200)
    assert pooled_counts(counts, 0.5).tolist() == [math.ceil(n / 2) for n in range(1, 200)]
    graphs = make()
    expected = mixed_store().num_nodes[EPISODES.numpy()]
    for pooling in graphs.poolings:
        expected = -(-expected // 2)
        assert pooling.after.counts.tolist() == expected.tolist()


@pytest.mark.parametrize("distinct", [1000, 3])
def test_the_best_nodes_of_each_graph_are_kept_in_their_order(distinct: int) -> None:
    """With few distinct gates there are ties: the first of equal ones is kept."""
    graphs = make()
    gate = torch.randint(-distinct, distinct, graphs.inputs.shape[:2], generator=torch.Generator().manual_seed(1))
    gates = (gate / (2 * distinct)).flatten()
    kept = graphs.poolings[0].choose(gates.view(len(EPISODES), -1))
    expected: list[int] = []
    start, size, after = 0, graphs.inputs.shape[1], graphs.poolings[0].after.size
    for place, episode in enumerate(EPISODES.tolist()):
        rows: list[int] = []
        start = place * size
        for graph in episode:
            nodes = range(start, start + int(mixed_store().num_nodes[graph]))
            best = sorted(nodes, key=lambda row: (-float(gates[row]), row))[: math.ceil(len(nodes) / 2)]
            rows += sorted(best)
            start = nodes.stop
        expected += rows + [place * size] * (after - len(rows))
    assert kept.row.tolist() == expected
    real = graphs.poolings[0].after.rows
    assert kept.new_row[kept.row[real]].tolist() == real.tolist()
    assert int((kept.new_row >= 0).sum()) == len(real)


def test_neighbourhoods_are_those_of_the_subgraphs() -> None:
    graphs = make()
    near = graphs.near
    graph = nx.DiGraph(list(zip(near.source.tolist(), near.target.tolist(), strict=True)))
    gates = torch.rand(graphs.inputs.shape[:2], generator=torch.Generator().manual_seed(2))
    kept = graphs.poolings[0].choose(gates)
    smaller = near.among(kept.new_row, len(kept.row))
    real = graphs.poolings[0].after.rows
    names = dict(zip(kept.row[real].tolist(), real.tolist(), strict=True))
    expected = nx.relabel_nodes(graph.subgraph(names), names)
    mine = nx.DiGraph(list(zip(smaller.source.tolist(), smaller.target.tolist(), strict=True)))
    assert set(mine.edges) == set(expected.edges)
    assert all(mine.has_edge(row, row) for row in real.tolist())
    assert smaller.pointer.diff().sum() == len(smaller.source) == len(expected.edges)


def test_first_neighbourhoods_are_those_of_the_store() -> None:
    graphs = make()
    store, size = mixed_store(), graphs.inputs.shape[1]
    expected = set()
    for place, episode in enumerate(EPISODES.tolist()):
        start = place * size
        for graph in episode:
            edges = store.edge_index[:, store.edge_ptr[graph] : store.edge_ptr[graph + 1]]
            count = int(store.num_nodes[graph])
            expected |= {(int(a) + start, int(b) + start) for a, b in edges.T}
            expected |= {(start + node, start + node) for node in range(count)}
            start += count
    pairs = list(zip(graphs.near.source.tolist(), graphs.near.target.tolist(), strict=True))
    assert set(pairs) == expected
    assert [target for _, target in pairs] == sorted(target for _, target in pairs)


@pytest.mark.parametrize("root", [False, True])
def test_the_average_and_its_adjoint(root: bool) -> None:
    graphs = make(root)
    near = graphs.near
    matrix = torch.zeros(len(near.pointer) - 1, len(near.pointer) - 1)
    matrix[near.target, near.source] = 1
    if root:
        matrix.fill_diagonal_(0)
    matrix /= matrix.sum(1, keepdim=True).clamp(min=1)
    rows = torch.randn(*graphs.inputs.shape[:2], 5, generator=torch.Generator().manual_seed(3))
    flat = rows.flatten(0, 1)
    expected = torch.cat([matrix @ flat, flat], 1) if root else matrix @ flat
    real = row_of(graphs) >= 0
    torch.testing.assert_close(near.average(rows).flatten(0, 1)[real], expected[real])
    grad = torch.randn(expected.shape, generator=torch.Generator().manual_seed(4))
    grad[~real] = 0
    back = matrix.T @ grad[:, :5] + (grad[:, 5:] if root else 0)
    adjoint = near.average_adjoint(grad.view(*rows.shape[:2], -1)).flatten(0, 1)
    torch.testing.assert_close(adjoint[real], back[real])
