from __future__ import annotations

import torch

from fsgc.nn.film import Film
from fsgc.nn.segments import Segments

SIZES = torch.tensor([2, 1, 3])
SEGMENTS = Segments.from_sizes(SIZES, 6)


def test_film_scales_and_shifts_by_the_episode_of_a_graph() -> None:
    gamma = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]])  # two episodes, two layers, one feature
    beta = torch.tensor([[[10.0], [20.0]], [[30.0], [40.0]]])
    film = Film(gamma, beta, torch.tensor([1, 0, 1]))
    h = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    assert film.nodes(h, 0, SEGMENTS).flatten().tolist() == [33, 36, 13, 42, 45, 48]
    assert film.nodes(h, 1, SEGMENTS).flatten().tolist() == [44, 48, 26, 56, 60, 64]


def test_film_of_pooled_nodes_is_the_pool_of_film() -> None:
    generator = torch.Generator().manual_seed(0)
    gamma, beta = torch.randn(2, 4, 3, 5, generator=generator)
    film = Film(gamma, beta, torch.tensor([1, 0, 3]))
    h = torch.randn(6, 5, generator=generator)
    mean, total = SEGMENTS.mean(film.nodes(h, 2, SEGMENTS)), SEGMENTS.sum(film.nodes(h, 2, SEGMENTS))
    torch.testing.assert_close(film.graphs(SEGMENTS.mean(h), 2), mean)
    torch.testing.assert_close(film.graphs(SEGMENTS.sum(h), 2, SIZES), total)
