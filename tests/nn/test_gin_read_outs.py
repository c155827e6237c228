from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool, global_mean_pool

from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import both, features, mixed_store


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("eps", [False, True])
@pytest.mark.parametrize(("pooling", "pool"), [("mean", global_mean_pool), ("sum", global_add_pool)])
def test_read_outs_are_those_of_plain_pyg(pooling: str, pool: Any, eps: bool) -> None:
    store = mixed_store()
    x = features(store, 5)
    batch, edge_index = both(store, x)
    network = GINReadOuts(5, 8, 3, pooling=pooling, learnable_eps=eps)
    h, read_outs = x, []
    layers: Any = zip(network.convs, network.norms, strict=True)
    for number, (conv, norm) in enumerate(layers):
        if eps:
            conv.eps.data.fill_(0.1 * (number + 1))
        mlp = nn.Sequential(conv.first, conv.norms[0].norm, nn.ReLU(), conv.others[0])
        h = F.relu(norm.norm(GINConv(mlp, eps=0.1 * (number + 1) if eps else 0.0)(h, edge_index)))
        read_outs.append(pool(h, batch.graph_id))
    torch.testing.assert_close(network(batch), torch.cat(read_outs, 1))


def test_chunks_change_nothing_in_evaluation_and_batch_norm_learns_from_all(monkeypatch: pytest.MonkeyPatch) -> None:
    store = mixed_store()
    tensors = GraphTensors(store, features(store, 5))
    network = GINReadOuts(5, 8, 3)
    graphs = torch.tensor([11, 3, 0, 7, 7, 10])
    whole = network(tensors.batch(graphs))
    monkeypatch.setattr("fsgc.nn.graph_tensors.CHUNK_CPU", 20)
    torch.testing.assert_close(network.of_graphs(tensors, graphs), whole)
    network.eval()
    torch.testing.assert_close(network.of_graphs(tensors, graphs), network(tensors.batch(graphs)))
