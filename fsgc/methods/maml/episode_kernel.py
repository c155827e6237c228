"""The steps of MAML by compiled code, one episode after the other, whose arrays then stay near the processor.

`episode_kernel.cpp` does what `descent` and the modules below it do, with the same formulas. Graphs do not depend on
each other, so a few of them at a time go through the whole network, forwards and backwards: an operation of PyTorch
passes over the rows of all of them and through memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from fsgc.native.library import address, library
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.settings import EmbedderSettings

MOST_CONVS = 8
"""As `MAX_CONVS` in the C++ code."""
LANES = 16
"""Numbers in a vector register; the width is a multiple of it."""
EPISODES_AT_ONCE = 64
"""How many are laid out at a time."""


def compiled() -> ctypes.CDLL | None:
    """The library; None where it is not there, or the processor cannot run it."""
    return library(__file__)


class Adapted(NamedTuple):
    """What comes of some episodes.

    Attributes:
        logits: of the queries after the steps, `[B, N·Q, N]`.
        grads: of each episode's mean cross-entropy of queries at the first weights, `[B, W]`; None if not asked for.
    """

    logits: Tensor
    grads: Tensor | None


class _Side(NamedTuple):
    """Supports or queries: `X` beside `A X`, `[V, 2·F]`, or the one feature that each node has, int64 `[V]`.

    Then the first rows of graphs, first edges of nodes, neighbours.
    """

    inputs: Tensor | None
    codes: Tensor | None
    starts: Tensor
    edges: Tensor
    sources: Tensor


@dataclass(frozen=True)
class EpisodeKernel:
    """The compiled code, for networks whose settings `is_written_out` covers.

    Attributes:
        settings: of the embedder.
        lr: size of the steps.
        second_order: whether gradients are taken through them.
    """

    settings: EmbedderSettings
    lr: float
    second_order: bool

    @classmethod
    def make(cls, settings: EmbedderSettings, lr: float, second_order: bool) -> EpisodeKernel | None:
        """None where there is no compiled code or it does not cover the settings."""
        covered = settings.norm == "graph" and settings.width % LANES == 0 and settings.num_convs <= MOST_CONVS
        return cls(settings, lr, second_order) if covered and compiled() is not None else None

    @staticmethod
    def can_run(tensors: GraphTensors, start: Tensor, one_hot: bool) -> bool:
        """Whether graphs and weights are on the CPU, in single precision, and features are few or one-hot."""
        features = tensors.features
        plain = all(x.device.type == "cpu" and x.dtype == torch.float32 for x in (features.table, start))
        return plain and (features.neighbour_sum is not None if features.code is None else one_hot)

    def run(self, tensors: GraphTensors, start: Tensor, episodes: EpisodeBatch, steps: int, gradient: bool) -> Adapted:
        """Take so many steps from the weights `start`, `[W]`, on the supports of each episode.

        The threads of PyTorch share the episodes; what comes out does not depend on how many there are.
        """
        threads = torch.get_num_threads()
        size = max(1, min(EPISODES_AT_ONCE, -(-len(episodes.graphs) // threads)))
        parts = [EpisodeBatch(graphs, episodes.shots) for graphs in torch.split(episodes.graphs, size)]

        def run(part: EpisodeBatch) -> Adapted:
            return self._run(tensors, start, part, steps, gradient)

        if threads == 1 or len(parts) == 1:
            return _join([run(part) for part in parts])
        with ThreadPoolExecutor(threads) as pool:
            return _join(list(pool.map(run, parts)))

    def _run(self, tensors: GraphTensors, start: Tensor, episodes: EpisodeBatch, steps: int, gradient: bool) -> Adapted:
        code = compiled()  # no attribute: a method is copied and sent to other processes
        assert code is not None
        count, way, each = episodes.graphs.shape
        queries, settings = each - episodes.shots, self.settings
        logits = start.new_empty(count, way * queries, way)
        grads = start.new_empty(count, len(start)) if gradient else None
        network = (settings.width, tensors.num_features, settings.num_convs, way, settings.pooling == "mean")
        rest = (settings.learnable_eps, episodes.shots, queries, steps, self.second_order)
        sizes = (ctypes.c_int64 * 10)(*network, *rest)
        assert code.fsgc_maml_weights(sizes) == len(start), "weights of another network"
        sides = [*_side(tensors, episodes.support), *_side(tensors, episodes.query)]
        code.fsgc_maml_episodes(
            sizes,
            ctypes.c_float(self.lr),
            ctypes.c_int64(count),
            *(address(array) for array in sides),
            *(address(array) for array in (start, logits, grads)),
        )
        return Adapted(logits, grads)


def _side(tensors: GraphTensors, graphs: Tensor) -> _Side:
    batch = tensors.batch(graphs)
    features, edges = batch.features, batch.adjacency
    rest = (batch.segments.pointer, edges.pointer, edges.source.contiguous())
    if features.code is not None:
        return _Side(None, features.code.contiguous(), *rest)
    assert features.neighbour_sum is not None
    return _Side(torch.cat([features.table, features.neighbour_sum], 1), None, *rest)


def _join(parts: Sequence[Adapted]) -> Adapted:
    grads = [part.grads for part in parts if part.grads is not None]
    return Adapted(torch.cat([part.logits for part in parts]), torch.cat(grads) if grads else None)
