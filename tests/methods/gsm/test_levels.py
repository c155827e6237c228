from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool, global_mean_pool

from fsgc.methods.gsm.levels import GINLevels
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import both, features, mixed_store


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("pooling", "pool"), [("mean", global_mean_pool), ("sum", global_add_pool)])
def test_levels_are_those_of_plain_pyg(pooling: str, pool: object) -> None:
    store = mixed_store()
    x = features(store, 5)
    batch, edge_index = both(store, x)
    network = GINLevels(5, 8, 3, 2, "batch", pooling, 4)
    h, read_outs = x, [x]
    layers: Any = zip(network.read_outs.convs, network.read_outs.norms, strict=True)
    for conv, norm in layers:
        mlp = nn.Sequential(conv.first, conv.norms[0].norm, nn.ReLU(), conv.others[0])
        h = F.relu(norm.norm(GINConv(mlp)(h, edge_index)))
        read_outs.append(h)
    pooled = [pool(level, batch.graph_id) for level in read_outs]  # type: ignore[operator]
    levels = network(batch)
    torch.testing.assert_close(levels.z, torch.cat(pooled[1:], 1))
    torch.testing.assert_close(network.last(levels.z), pooled[-1])
    expected = network.input_head(pooled[0]) + network.head(torch.cat(pooled[1:], 1))
    torch.testing.assert_close(levels.logits, expected)


def test_chunks_change_nothing_in_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    store = mixed_store()
    tensors = GraphTensors(store, features(store, 5))
    network = GINLevels(5, 8, 3, 2, "batch", "mean", 4).eval()
    graphs = torch.tensor([11, 3, 0, 7, 7, 10])
    whole = network(tensors.batch(graphs))
    monkeypatch.setattr("fsgc.nn.graph_tensors.CHUNK_CPU", 20)
    for mine, other in zip(network.of_graphs(tensors, graphs), whole, strict=True):
        torch.testing.assert_close(mine, other)
