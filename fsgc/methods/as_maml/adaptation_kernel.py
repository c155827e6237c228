"""The steps of AS-MAML's episodes and the logits of their queries, compiled; one episode at a time, all of it in cache.

`adaptation_kernel.cpp` does what `adapted` and `forward` do, where nothing of the steps is kept. Its sums have another
order: where the gates of two nodes differ by rounding only, it may keep the other one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL, c_float, c_int
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from fsgc.methods.as_maml.stacked_weights import StackedWeights
from fsgc.native.library import address, library
from fsgc.nn.graph_tensors import GraphTensors

LANES = 16
"""Floats of a vector: widths are multiples of twice as many, and classes are filled up to a multiple."""
MOST_LEVELS = 16
BLOCK_NODES = 512
"""Nodes that go through the network and back at a time: few enough for a core's own cache, enough for the products."""


class Steps(NamedTuple):
    """How an episode is adapted.

    Attributes:
        number: how many steps it takes.
        lr: learning rate of a step.
        ratio: share of a graph's nodes that a pooling keeps.
    """

    number: int
    lr: float
    ratio: float


@cache
def kernel() -> CDLL | None:
    """The library, where it is compiled and the processor is one that it is faster on than PyTorch."""
    return library(__file__)


def usable(weights: StackedWeights, graphs: GraphTensors, root: bool) -> bool:
    """Whether the kernel is there and takes such weights and graphs; `root` as in `Neighbourhoods`."""
    first = weights.convs[0].weight
    return (
        not root
        and first.shape[2] % (2 * LANES) == 0
        and len(weights.convs) <= MOST_LEVELS
        and all(part.device.type == "cpu" and part.dtype == torch.float32 for part in (first, graphs.features.table))
        and kernel() is not None
    )


def adapt_and_score(weights: StackedWeights, graphs: GraphTensors, episodes: EpisodeBatch, steps: Steps) -> Tensor:
    """The logits of the queries, `[B, N·Q, N]`, after steps on the supports from the weights of a single episode."""
    order = torch.cat([episodes.support.flatten(1), episodes.query.flatten(1)], 1).cpu()
    scores = torch.empty(len(order), episodes.labels.shape[1], episodes.graphs.shape[1])
    start, labels = _in_one(weights), episodes.support_labels.cpu()
    sizes = graphs.chunk_sizes(order)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for some, out in zip(torch.split(order, sizes), torch.split(scores, sizes), strict=True):
            task = _Task(weights, start, labels, graphs, some, steps)
            list(pool.map(task.run, range(len(some)), out))
    return scores


class _Task:
    """The graphs of some episodes, `[B, M]`, supports first, side by side in memory."""

    def __init__(
        self, weights: StackedWeights, start: Tensor, labels: Tensor, graphs: GraphTensors, chosen: Tensor, steps: Steps
    ) -> None:
        batch = graphs.batch(chosen)
        first = weights.convs[0].weight
        self.sizes = (first.shape[1], first.shape[2], len(weights.convs), weights.head[-1].weight.shape[2])
        self.graphs = (batch.x.contiguous(), batch.segments.pointer, batch.adjacency.pointer, batch.adjacency.source)
        self.start, self.labels, self.steps, self.per_episode = start, labels, steps, chosen.shape[1]

    def run(self, episode: int, out: Tensor) -> None:
        """Adapt an episode and write the logits of its queries, `[N·Q, N]`."""
        compiled = kernel()
        assert compiled is not None
        supports, first = len(self.labels), episode * self.per_episode
        ranges = (first, supports, first + supports, self.per_episode - supports)
        compiled.adapt_and_score(
            *map(address, self.graphs),
            *map(c_int, self.sizes),
            c_float(self.steps.ratio),
            address(self.start),
            address(self.labels),
            *map(c_int, (*ranges, self.steps.number)),
            c_float(self.steps.lr),
            c_int(BLOCK_NODES),
            address(out),
        )


def _in_one(weights: StackedWeights) -> Tensor:
    """The weights of a single episode in the arrangement of `Places` in `episode_weights.h`."""
    parts: list[Tensor] = []
    for conv, score in zip(weights.convs, weights.scores, strict=True):
        parts += [conv.weight, conv.bias, score.weight, F.pad(score.bias, (0, LANES - 1))]
    for layer in weights.head:
        parts += [F.pad(part, (0, -part.shape[2] % LANES)) for part in layer]
    return torch.cat([part.flatten() for part in parts])
