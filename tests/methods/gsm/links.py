"""Links of made-up super-graphs."""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.methods.gsm.super_graph import Links, distances_within, nearest


def made_up_links(episodes: int, graphs: int, neighbours: int, seed: int = 0) -> Links:
    """Nearest neighbours among random points in three groups; small groups leave places free."""
    draw = torch.Generator().manual_seed(seed)
    z = torch.randn(episodes, graphs, 3, generator=draw)
    group = torch.randint(3, (episodes, graphs), generator=draw)
    return nearest(torch.stack([distances_within(*one) for one in zip(z, group, strict=True)]), neighbours)


def as_matrix(links: Links, sources: int) -> Tensor:
    """Links of some targets as bool `[B, m, n]`, one by one."""
    count, targets, places = links.source.shape
    matrix = torch.zeros(count, targets, sources, dtype=torch.bool)
    for episode in range(count):
        for target in range(targets):
            for place in range(places):
                if links.taken[episode, target, place]:
                    matrix[episode, target, links.source[episode, target, place]] = True
    return matrix


def mask_matrix(links: Links, sources: int, keep: Tensor) -> Tensor:
    """Of a mask along links, `[k, m, H]`, what it is for each pair of graphs: `[B, m, n, H]`, one by one."""
    count, targets, places = links.source.shape
    matrix = torch.zeros(count, targets, sources, keep.shape[2], dtype=keep.dtype)
    for episode in range(count):
        for target in range(targets):
            for place in range(places):
                if links.taken[episode, target, place]:
                    matrix[episode, target, links.source[episode, target, place]] = keep[place, target]
    return matrix
