from __future__ import annotations

import pytest
import torch

from fsgc.methods.gsm.receptive_field import groups
from fsgc.methods.gsm.super_graph import SuperAttention, attend, link_bias, link_matrix
from tests.methods.gsm.links import as_matrix, made_up_links


@pytest.mark.parametrize("neighbours", [1, 2, 3])
def test_outside_the_receptive_field_nothing_matters(neighbours: int) -> None:
    links, supports = made_up_links(7, 40, neighbours), 7
    x, bias = torch.randn(7, 40, 5), link_bias(link_matrix(links))
    layers = [SuperAttention(5, 4, 2, 0.1, 0.0), SuperAttention(4, 3, 2, 0.1, 0.0)]
    h = attend(layers[0].stacked(7), x, bias, 0.1)
    whole = attend(layers[1].stacked(7), h, bias, 0.1)[:, :supports]
    for group in groups(links, supports, 3):
        count, size = group.order.shape
        near = x[group.episodes].gather(1, group.order.unsqueeze(2).expand(-1, -1, 5))
        h = attend(layers[0].stacked(count), near, link_bias(as_matrix(group.first, size)), 0.1)
        small = attend(layers[1].stacked(count), h, link_bias(as_matrix(group.second, h.shape[1])), 0.1)
        assert size < 40
        torch.testing.assert_close(small, whole[group.episodes])


def test_a_group_has_all_graphs_within_two_links_of_the_supports() -> None:
    links, supports = made_up_links(9, 30, 2), 6
    seen, sizes = [], []
    for group in groups(links, supports, 2):
        needed = []
        for row, episode in enumerate(group.episodes.tolist()):
            matrix = link_matrix(links)[episode]
            links_of = [set(line.nonzero().flatten().tolist()) for line in matrix]
            once = set(range(supports)).union(*(links_of[graph] for graph in range(supports)))
            twice = once.union(*(links_of[graph] for graph in once))
            order = group.order[row].tolist()
            assert order[:supports] == list(range(supports))
            assert set(order[: len(once)]) == once
            assert set(order[: len(twice)]) == twice
            needed.append((len(once), len(twice)))
            seen.append(episode)
        assert group.first.source.shape[1] == max(once for once, _ in needed)
        assert group.order.shape[1] == max(twice for _, twice in needed)
        sizes.append(group.order.shape[1])
    assert sorted(seen) == list(range(9))
    assert sizes == sorted(sizes), "episodes that need as many graphs are beside each other"
    assert sizes[0] < sizes[-1]


def test_links_keep_their_places() -> None:
    """A mask belongs to a place: it must be that of the same link whatever else is in the group."""
    links, supports = made_up_links(4, 25, 3), 5
    for group in groups(links, supports, 2):
        for row, episode in enumerate(group.episodes.tolist()):
            order = group.order[row]
            for target in range(supports):
                taken = links.taken[episode, target]
                assert group.first.taken[row, target].tolist() == taken.tolist()
                found = order[group.first.source[row, target]]
                assert found[taken].tolist() == links.source[episode, target][taken].tolist()
