"""What the compiled code of AS-MAML is called with: weights in one array, and the graphs of episodes side by side."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_float, c_int, c_void_p, pointer
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.as_maml.stacked_weights import Layer, StackedWeights
from fsgc.native.library import address
from fsgc.nn.graph_tensors import GraphTensors

LANES = 16
"""Floats of a vector: widths are multiples of twice as many, and classes are filled up to a multiple."""
MOST_LEVELS = 16
BLOCK_NODES = 512
"""Nodes that go through the network and back at a time: few enough for a core's own cache, enough for the products."""


class Task(Structure):
    """Some graphs of an episode and weights; the structure of the same name in `episode_graphs.h`."""

    _fields_ = (
        *((name, c_void_p) for name in ("x", "first_node", "first_source", "source", "start", "labels")),
        *((name, c_int) for name in ("features", "width", "levels", "classes", "first", "graphs", "block_nodes")),
        ("ratio", c_float),
    )


if TYPE_CHECKING:
    from ctypes import _Pointer

    TaskPointer = _Pointer[Task]
else:
    TaskPointer = POINTER(Task)


def covered(weights: StackedWeights, graphs: GraphTensors, root: bool) -> bool:
    """Whether the compiled code takes such weights and graphs; `root` as in `Neighbourhoods`."""
    first = weights.convs[0].weight
    return (
        not root
        and first.shape[2] % (2 * LANES) == 0
        and len(weights.convs) <= MOST_LEVELS
        and all(part.device.type == "cpu" and part.dtype == torch.float32 for part in (first, graphs.features.table))
    )


class EpisodeGraphs:
    """The graphs of some episodes side by side in memory.

    Args:
        graphs: all graphs.
        chosen: int64 `[B, M]`, those of each episode.
        weights: of the network, as far as their sizes go.
        ratio: share of a graph's nodes that a pooling keeps.
    """

    def __init__(self, graphs: GraphTensors, chosen: Tensor, weights: StackedWeights, ratio: float) -> None:
        batch = graphs.batch(chosen)
        first = weights.convs[0].weight
        self._sizes = (first.shape[1], first.shape[2], len(weights.convs), weights.head[-1].weight.shape[2])
        self._arrays = (batch.x.contiguous(), batch.segments.pointer, batch.adjacency.pointer, batch.adjacency.source)
        self._per_episode, self._ratio = chosen.shape[1], ratio

    def task(self, episode: int, graphs: range, start: Tensor | None, labels: Tensor | None) -> TaskPointer:
        """A call on the given ones of the graphs of an episode; the tensors must outlive it."""
        first = episode * self._per_episode + graphs.start
        arrays = map(address, (*self._arrays, start, labels))
        return pointer(Task(*arrays, *self._sizes, first, len(graphs), BLOCK_NODES, self._ratio))


def in_one(weights: StackedWeights) -> Tensor:
    """The weights of a single episode in the arrangement of `Places` in `episode_weights.h`."""
    parts: list[Tensor] = []
    for conv, score in zip(weights.convs, weights.scores, strict=True):
        parts += [conv.weight, conv.bias, score.weight, F.pad(score.bias, (0, LANES - 1))]
    for layer in weights.head:
        parts += [F.pad(part, (0, -part.shape[2] % LANES)) for part in layer]
    return torch.cat([part.flatten() for part in parts])


def taken_apart(array: Tensor, like: StackedWeights) -> StackedWeights:
    """What `in_one` made of weights of the given form, a single episode's."""
    taken = 0

    def part(form: Tensor, filled: int) -> Tensor:
        nonlocal taken
        shape = (*form.shape[:2], filled)
        here = array[taken : taken + torch.Size(shape).numel()].view(shape)
        taken += here.numel()
        return here[..., : form.shape[2]]

    def filled_up(layer: Layer) -> Layer:
        return Layer(*(part(form, form.shape[2] + -form.shape[2] % LANES) for form in layer))

    levels = [
        (filled_up(conv), Layer(part(score.weight, score.weight.shape[2]), part(score.bias, LANES)))
        for conv, score in zip(like.convs, like.scores, strict=True)
    ]
    head = tuple(map(filled_up, like.head))
    return StackedWeights(tuple(conv for conv, _ in levels), tuple(score for _, score in levels), head)
