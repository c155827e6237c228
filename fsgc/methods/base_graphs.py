"""Single graphs of base classes as training data, for methods that learn to classify those before any episode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fsgc.arrays import Ints
from fsgc.episodes.batches import Episodes
from fsgc.random import generator

HELD_OUT_SHARE = 0.2


@dataclass(frozen=True)
class GraphSample:
    """Some graphs with their classes.

    Attributes:
        graphs: int64 `[b]`, indices of graphs.
        labels: int64 `[b]`, positions of their classes among the base classes.
    """

    graphs: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> GraphSample:
        """The same on a device."""
        return GraphSample(self.graphs.to(device), self.labels.to(device))


def base_graphs(episodes: Episodes) -> tuple[Ints, Ints]:
    """The graphs of base classes to train on, and those held out to validate on; both ascending.

    Where the split holds out graphs these are they. Where it has validation classes instead, a classifier of base
    classes cannot be validated on them: a share of each base class is held out here, drawn with the seed of the split.
    """
    split, y = episodes.split, episodes.graphs.y
    if not split.validation:
        train, held_out = (np.concatenate([*split.pools(y, part).values()]) for part in ("train", "val"))
        return np.sort(train), np.sort(held_out)
    draws = [
        graphs[generator("held-out", split.dataset, c, split.seed).permutation(len(graphs))]
        for c, graphs in split.pools(y, "train").items()
    ]
    cuts = [round(HELD_OUT_SHARE * len(graphs)) for graphs in draws]
    train = np.concatenate([graphs[cut:] for graphs, cut in zip(draws, cuts, strict=True)])
    held_out = np.concatenate([graphs[:cut] for graphs, cut in zip(draws, cuts, strict=True)])
    return np.sort(train), np.sort(held_out)


@dataclass(frozen=True, eq=False)
class GraphBatches:
    """Graphs of base classes in batches.

    Attributes:
        episodes: whose graphs and classes they are.
        graphs: int64, indices of the graphs, in the order to take them.
        size: graphs of a batch.
    """

    episodes: Episodes
    graphs: Ints
    size: int

    def shuffled(self, seed: int, epoch: int) -> GraphBatches:
        """The same in an order that depends on seed and epoch only."""
        order = generator("graph-batches", seed, block=epoch).permutation(len(self.graphs))
        return GraphBatches(self.episodes, self.graphs[order], self.size)

    def __iter__(self) -> Iterator[GraphSample]:
        base = np.asarray(self.episodes.split.base)
        order = np.argsort(base)
        labels = order[np.searchsorted(base, self.episodes.graphs.y[self.graphs], sorter=order)]
        for start in range(0, len(self.graphs), self.size):
            part = slice(start, start + self.size)
            yield GraphSample(torch.from_numpy(self.graphs[part]), torch.from_numpy(labels[part]))

    def __len__(self) -> int:
        return -(-len(self.graphs) // self.size)
