"""The steps of AS-MAML's episodes and the logits of their queries, compiled; one episode at a time, all of it in cache.

`adaptation_kernel.cpp` does what `adapted` and `forward` do, where nothing of the steps is kept. Its sums have another
order: where the gates of two nodes differ by rounding only, it may keep the other one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ctypes import c_float, c_int
from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from fsgc.methods.as_maml.kernel_task import EpisodeGraphs, covered, in_one
from fsgc.methods.as_maml.stacked_weights import StackedWeights
from fsgc.native.library import address, functions, library
from fsgc.nn.graph_tensors import GraphTensors


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


def usable(weights: StackedWeights, graphs: GraphTensors, root: bool) -> bool:
    """Whether the kernel is there and takes such weights and graphs; `root` as in `Neighbourhoods`."""
    return covered(weights, graphs, root) and library(__file__) is not None


def adapt_and_score(weights: StackedWeights, graphs: GraphTensors, episodes: EpisodeBatch, steps: Steps) -> Tensor:
    """The logits of the queries, `[B, N·Q, N]`, after steps on the supports from the weights of a single episode."""
    order = torch.cat([episodes.support.flatten(1), episodes.query.flatten(1)], 1).cpu()
    scores = torch.empty(len(order), episodes.labels.shape[1], episodes.graphs.shape[1])
    start, labels = in_one(weights), episodes.support_labels.cpu()
    supports, queries = range(len(labels)), range(len(labels), order.shape[1])
    run = functions(__file__).adapt_and_score
    sizes = graphs.chunk_sizes(order)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for some, out in zip(torch.split(order, sizes), torch.split(scores, sizes), strict=True):
            side_by_side = EpisodeGraphs(graphs, some, weights, steps.ratio)

            def adapt(episode: int, side_by_side: EpisodeGraphs = side_by_side, out: Tensor = out) -> None:
                known = side_by_side.task(episode, supports, start, labels)
                asked = side_by_side.task(episode, queries, None, None)
                run(known, asked, c_int(steps.number), c_float(steps.lr), address(out[episode]))

            list(pool.map(adapt, range(len(some))))
    return scores
