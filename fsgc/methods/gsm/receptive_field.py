"""Which graphs of an episode the loss of its supports depends on: those within two links of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from fsgc.methods.gsm.super_graph import Links


@dataclass(frozen=True, eq=False)
class Group:
    """Episodes that are fine-tuned side by side.

    Attributes:
        episodes: int64 `[b]`, which they are.
        order: int64 `[b, n2]`, positions of graphs: the supports, then what they attend to, then what those attend to.
        first: links of the first `n1` of `order` among all of them, for the first layer.
        second: links of the supports among the first `n1` of `order`, for the second.
    """

    episodes: Tensor
    order: Tensor
    first: Links
    second: Links


def groups(links: Links, supports: int, most: int) -> Iterator[Group]:
    """Put episodes into groups of at most `most` that need about as many graphs.

    In a group `n1` and `n2` are those of the episode that needs most; what another does not need is filled up with
    other graphs of it, to which no support attends. Similar episodes beside each other leave little to fill up.

    Args:
        links: of all `M` graphs, the first of which are the supports.
        supports: their number.
        most: episodes of a group.
    """
    _, size, places = links.source.shape
    near = _reached(links, _first(links, supports))
    far = _reached(links, near)
    hops = 2 - near.long() + (~far).long()
    hops[:, :supports] = 0
    order = hops.argsort(dim=1, stable=True)
    place = torch.empty_like(order).scatter_(1, order, torch.arange(size, device=order.device).expand_as(order))
    needed = torch.stack([near.sum(1), far.sum(1)], 1)
    similar = (needed[:, 1] * (size + 1) + needed[:, 0]).argsort(stable=True)
    most_needed = [part.amax(0) for part in torch.split(needed[similar], most)]
    sizes = torch.stack(most_needed).tolist()  # the one time that the host waits
    for episodes, (n1, n2) in zip(torch.split(similar, most), sizes, strict=True):
        kept = order[episodes, :n2]
        wide = kept[:, :n1, None].expand(-1, -1, places)
        source = place[episodes].gather(1, links.source[episodes].gather(1, wide).flatten(1)).view_as(wide)
        # Of what only fills up, links may lead out of the group's graphs.
        taken = links.taken[episodes].gather(1, wide) & (source < n2)
        source = torch.where(taken, source, 0)
        second = Links(source[:, :supports], taken[:, :supports])
        yield Group(episodes, kept, Links(source, taken), second)


def _first(links: Links, supports: int) -> Tensor:
    """The supports, bool `[B, M]`."""
    count, size, _ = links.source.shape
    return (torch.arange(size, device=links.source.device) < supports).expand(count, -1)


def _reached(links: Links, start: Tensor) -> Tensor:
    """The graphs that those of `start`, bool `[B, M]`, attend to; a graph attends to itself."""
    along = (links.taken & start.unsqueeze(2)).flatten(1)
    reached = torch.zeros_like(start, dtype=torch.int64)
    return reached.scatter_reduce_(1, links.source.flatten(1), along.long(), "amax") > 0
