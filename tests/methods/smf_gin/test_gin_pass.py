from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import Episodes
from fsgc.methods.smf_gin.gin_pass import read_outs
from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.inputs import NARROW
from tests.oracles.embedder import assert_same_gradients
from tests.oracles.gin import DataCache, PlainGIN, copy_state

GRAPHS = torch.tensor([3, 0, 11, 7, 25, 3])


def tensors(episodes: Episodes, wide: bool) -> GraphTensors:
    x = torch.from_numpy(episodes.features.rows()).double()
    return GraphTensors(episodes.graphs, torch.cat([x, x.new_zeros(len(x), NARROW)], 1) if wide else x)


def make(width: int, **options: Any) -> GINReadOuts:
    torch.manual_seed(0)
    gin = GINReadOuts(width, 6, 3, **options)
    for conv in gin.convs:
        if isinstance(conv.eps, Tensor):
            torch.nn.init.constant_(conv.eps, 0.3)
    return gin


def run(gin: GINReadOuts, found: Tensor) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    gin.zero_grad()
    (found * torch.randn(found.shape, generator=torch.Generator().manual_seed(1))).sum().backward()  # type: ignore[no-untyped-call]
    gradients = {name: weight.grad.clone() for name, weight in gin.named_parameters() if weight.grad is not None}
    return found.detach(), gradients, {name: value.clone() for name, value in gin.named_buffers()}


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("learnable_eps", [False, True])
def test_read_outs_gradients_and_running_statistics_are_those_of_autograd(
    episodes: Episodes, wide: bool, learnable_eps: bool
) -> None:
    graphs = tensors(episodes, wide)
    first, second = (make(graphs.num_features, learnable_eps=learnable_eps) for _ in range(2))
    expected = run(first, first.of_graphs(graphs, GRAPHS))
    found = run(second, read_outs(second, graphs, GRAPHS))
    torch.testing.assert_close(found[0], expected[0])
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            torch.testing.assert_close(mine[name], value, rtol=1e-9, atol=1e-11, msg=name)


@pytest.mark.usefixtures("double")
def test_read_outs_and_gradients_are_those_of_pyg(episodes: Episodes) -> None:
    graphs = tensors(episodes, wide=False)
    gin = make(graphs.num_features, learnable_eps=True)
    plain = PlainGIN(gin)
    copy_state(gin, plain)
    theirs = torch.cat(plain(DataCache(episodes)(GRAPHS)), 1)
    ours = read_outs(gin, graphs, GRAPHS)
    torch.testing.assert_close(ours, theirs)
    weights = torch.randn(ours.shape)
    (ours * weights).sum().backward()  # type: ignore[no-untyped-call]
    (theirs * weights).sum().backward()  # type: ignore[no-untyped-call]
    assert_same_gradients(gin, plain, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("options", [{"mlp_layers": 1}, {"mlp_layers": 3}, {"norm": "graph"}, {"pooling": "mean"}])
def test_other_networks_are_left_to_autograd(episodes: Episodes, options: dict[str, Any]) -> None:
    graphs = GraphTensors(episodes.graphs, episodes.features)
    first, second = (make(graphs.num_features, **options) for _ in range(2))
    assert torch.equal(read_outs(second, graphs, GRAPHS), first.of_graphs(graphs, GRAPHS))


def test_evaluation_takes_the_running_statistics_and_leaves_them(episodes: Episodes) -> None:
    graphs = GraphTensors(episodes.graphs, episodes.features)
    gin = make(graphs.num_features)
    read_outs(gin, graphs, GRAPHS)
    before = {name: value.clone() for name, value in gin.eval().named_buffers()}
    found = read_outs(gin, graphs, GRAPHS)
    torch.testing.assert_close(found[:1], read_outs(gin, graphs, GRAPHS[:1]))
    assert all(torch.equal(value, before[name]) for name, value in gin.named_buffers())


def test_one_node_is_too_little_for_batch_norm_to_learn_from() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    graphs = GraphTensors(GraphStore.from_edges(np.array([1]), nothing, nothing, np.array([0])), torch.ones(1, 2))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        read_outs(make(2), graphs, torch.tensor([0]))
