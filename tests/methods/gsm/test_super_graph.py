from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GATConv

from fsgc.methods.gsm.super_graph import (
    AttentionWeights,
    SuperAttention,
    attend,
    distances_within,
    link_bias,
    nearest_links,
    receptive_field,
)


def random_links(episodes: int, graphs: int, neighbours: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    z = torch.randn(episodes, graphs, 3, generator=draw)
    group = torch.randint(3, (episodes, graphs), generator=draw)
    return torch.cat(
        [nearest_links(distances_within(*one).unsqueeze(0), neighbours) for one in zip(z, group, strict=True)]
    )


@pytest.mark.parametrize("neighbours", [1, 2, 3])
def test_links_are_those_of_a_loop_over_graphs(neighbours: int) -> None:
    torch.manual_seed(0)
    z, group = torch.randn(30, 4), torch.randint(4, (30,))
    group[7] = 9  # alone in its group
    links = nearest_links(distances_within(z, group).unsqueeze(0), neighbours).squeeze(0)
    for graph in range(30):
        others = [other for other in range(30) if other != graph and group[other] == group[graph]]
        others.sort(key=lambda other: float((z[graph] - z[other]).norm()))
        expected = {graph, *others[: neighbours - 1]}
        assert set(links[graph].nonzero().flatten().tolist()) == expected


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("heads", [1, 2])
def test_attention_is_pygs_gat(heads: int) -> None:
    links = random_links(3, 12, 3)
    x = torch.randn(3, 12, 5)
    layers = [GATConv(5, 4, heads=heads, concat=False, negative_slope=0.1) for _ in range(3)]
    for layer in layers:
        torch.nn.init.normal_(layer.bias)
    stacked = AttentionWeights(
        torch.stack([layer.lin.weight for layer in layers]),
        torch.stack([torch.stack([layer.att_src[0], layer.att_dst[0]], 1) for layer in layers]),
        torch.stack([layer.bias for layer in layers]),
    )
    ours = attend(stacked, x, link_bias(links).double(), 0.1)
    for episode, layer in enumerate(layers):
        target, source = links[episode].nonzero().T
        torch.testing.assert_close(ours[episode], layer(x[episode], torch.stack([source, target])))


@pytest.mark.usefixtures("double")
def test_gradients_of_attention_are_those_of_finite_differences() -> None:
    links = random_links(2, 5, 2)
    parts = [torch.randn(2, 6, 4), torch.randn(2, 2, 2, 3), torch.randn(2, 3), torch.randn(2, 5, 4)]
    parts = [part.requires_grad_() for part in parts]
    keep = torch.randint(2, (5, 5, 2)).double()

    def function(*inputs: Tensor) -> Tensor:
        *weights, x = inputs
        return attend(AttentionWeights(*weights), x, link_bias(links).double(), 0.1, keep)

    assert torch.autograd.gradcheck(function, parts)


@pytest.mark.parametrize("neighbours", [1, 2, 3])
def test_outside_the_receptive_field_nothing_matters(neighbours: int) -> None:
    links, supports = random_links(6, 40, neighbours), 7
    field = receptive_field(links, supports)
    x = torch.randn(6, 40, 5)
    layers = [SuperAttention(5, 4, 2, 0.1, 0.0), SuperAttention(4, 3, 2, 0.1, 0.0)]
    h = attend(layers[0].stacked(6), x, link_bias(links), 0.1)
    whole = attend(layers[1].stacked(6), h, link_bias(links), 0.1)[:, :supports]
    near = x.gather(1, field.order.unsqueeze(2).expand(-1, -1, 5))
    h = attend(layers[0].stacked(6), near, link_bias(field.first), 0.1)
    small = attend(layers[1].stacked(6), h, link_bias(field.second), 0.1)
    assert near.shape[1] < 40
    torch.testing.assert_close(small, whole)


def test_the_receptive_field_has_all_graphs_within_two_links_of_the_targets() -> None:
    links, supports = random_links(5, 30, 2), 6
    field = receptive_field(links, supports)
    for episode in range(5):
        links_of = [set(row.nonzero().flatten().tolist()) for row in links[episode]]
        once = set(range(supports)).union(*(links_of[graph] for graph in range(supports)))
        twice = once.union(*(links_of[graph] for graph in once))
        order = field.order[episode].tolist()
        assert order[:supports] == list(range(supports))
        assert set(order[: len(once)]) == once
        assert set(order[: len(twice)]) == twice
        assert len(once) <= field.first.shape[1]


def test_dropout_of_attention_follows_training_mode() -> None:
    links = random_links(1, 10, 3).squeeze(0)
    layer, x = SuperAttention(5, 4, 2, 0.1, 0.5), torch.randn(10, 5)
    assert not torch.equal(layer(x, links), layer(x, links))
    layer.eval()
    assert torch.equal(layer(x, links), layer(x, links))
