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
    link_matrix,
    nearest,
)


def random_links(episodes: int, graphs: int, neighbours: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    z = torch.randn(episodes, graphs, 3, generator=draw)
    group = torch.randint(3, (episodes, graphs), generator=draw)
    distance = torch.stack([distances_within(*one) for one in zip(z, group, strict=True)])
    return link_matrix(nearest(distance, neighbours))


@pytest.mark.parametrize("neighbours", [1, 2, 3])
def test_links_are_those_of_a_loop_over_graphs(neighbours: int) -> None:
    torch.manual_seed(0)
    z, group = torch.randn(30, 4), torch.randint(4, (30,))
    group[7] = 9  # alone in its group
    links = link_matrix(nearest(distances_within(z, group).unsqueeze(0), neighbours)).squeeze(0)
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


def test_more_neighbours_than_graphs_are_all_of_them() -> None:
    distance = distances_within(torch.randn(4, 2), torch.zeros(4)).unsqueeze(0)
    links = nearest(distance, 9)
    assert links.source.shape == (1, 4, 4)
    assert link_matrix(links).all()


def test_the_first_place_is_the_graph_itself_and_free_places_say_so() -> None:
    links = nearest(distances_within(torch.tensor([[0.0], [1.0], [5.0]]), torch.tensor([0, 0, 1])).unsqueeze(0), 3)
    assert links.source[0, :, 0].tolist() == [0, 1, 2]
    assert links.taken[0].tolist() == [[True, True, False], [True, True, False], [True, False, False]]
    assert links.source[0, :2, 1].tolist() == [1, 0]


def test_dropout_of_attention_follows_training_mode() -> None:
    links = random_links(1, 10, 3).squeeze(0)
    layer, x = SuperAttention(5, 4, 2, 0.1, 0.5), torch.randn(10, 5)
    assert not torch.equal(layer(x, links), layer(x, links))
    layer.eval()
    assert torch.equal(layer(x, links), layer(x, links))
