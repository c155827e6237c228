"""The steps of AS-MAML's training episodes and the gradient through them, compiled.

`path_kernel.cpp` does what `Path` in adaptation.py does. Its sums have another order: where the gates of two nodes
differ by rounding only, it may keep the other one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_float
from typing import TypeVar

import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from fsgc.methods.as_maml.adaptation import End
from fsgc.methods.as_maml.kernel_task import EpisodeGraphs, covered, in_one, taken_apart
from fsgc.methods.as_maml.stacked_weights import StackedWeights
from fsgc.native.library import address, functions, library
from fsgc.nn.graph_tensors import GraphTensors

T = TypeVar("T")


def usable(weights: StackedWeights, graphs: GraphTensors, root: bool) -> bool:
    """Whether the kernel is there and takes such weights and graphs; `root` as in `Neighbourhoods`."""
    return covered(weights, graphs, root) and library(__file__) is not None


class CompiledPath:
    """The steps of a batch of episodes, as they are taken, and the way back through them; as `Path` in adaptation.py.

    Args:
        weights: of the network, those of a single episode.
        graphs: all graphs.
        episodes: `B` of them.
        lr: learning rate of a step.
        ratio: share of a graph's nodes that a pooling keeps.
    """

    def __init__(
        self, weights: StackedWeights, graphs: GraphTensors, episodes: EpisodeBatch, lr: float, ratio: float
    ) -> None:
        order = torch.cat([episodes.support.flatten(1), episodes.query.flatten(1)], 1).cpu()
        self._form, self._lr, self._way = weights, lr, episodes.graphs.shape[1]
        self._graphs = EpisodeGraphs(graphs, order, weights, ratio)
        labels = episodes.support_labels.cpu().expand(len(order), -1).contiguous()
        self._labels, self._query_labels = labels, episodes.labels.cpu().contiguous()
        self._supports, self._queries = range(labels.shape[1]), range(labels.shape[1], order.shape[1])
        self._points = [in_one(weights).expand(len(order), -1).contiguous()]
        self._run = functions(__file__)

    def go_on(self) -> tuple[Tensor, Tensor]:
        """Take a step; the losses and the average node information before it, `[B]` each."""
        point = self._points[-1]
        moved, _, measures = self._gradients(point, self._supports, self._labels, point, -self._lr)
        self._points.append(moved)
        return measures[:, 0], measures[:, 1]

    def scores(self, step: int) -> Tensor:
        """The logits of the queries after so many steps, `[B, N·Q, N]`."""
        point = self._points[step]
        logits = self._empty_logits(self._queries)

        def score(episode: int) -> None:
            task = self._graphs.task(episode, self._queries, point[episode], None)
            self._run.score_graphs(task, address(logits[episode]))

        self._for_episodes(score)
        return logits

    def end(self, steps: list[int], first_order: bool) -> End:
        """The queries after each episode's own number of steps."""
        ends = torch.stack([self._points[count][episode] for episode, count in enumerate(steps)])
        grads, logits, measures = self._gradients(ends, self._queries, self._query_labels, None, 1.0)

        def gradient() -> dict[str, Tensor]:
            by_start = grads if first_order else self._back(grads, steps)
            return taken_apart(by_start.mean(0), self._form).mean(root_weight=False)

        return End(logits, measures[:, 0], gradient)

    def _back(self, grads: Tensor, steps: list[int]) -> Tensor:
        """The gradients by the first weights, `[B, …]`, given those by the last weights of each episode."""

        def back(episode: int) -> Tensor:
            grad = grads[episode]
            for place in reversed(range(steps[episode])):
                start, moved = self._points[place][episode], torch.empty_like(grad)
                task = self._graphs.task(episode, self._supports, start, self._labels[episode])
                self._run.add_curvature_of(task, address(grad), c_float(-self._lr), address(moved))
                grad = moved
            return grad

        return torch.stack(self._for_episodes(back))

    def _gradients(
        self, point: Tensor, graphs: range, labels: Tensor, base: Tensor | None, scale: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """`base + scale · gradient` of each episode's mean loss, the logits, and its loss and node information."""
        moved, logits, measures = torch.empty_like(point), self._empty_logits(graphs), torch.empty(len(point), 2)

        def run(episode: int) -> None:
            task = self._graphs.task(episode, graphs, point[episode], labels[episode])
            begin = None if base is None else base[episode]
            out = (moved[episode], logits[episode], measures[episode])
            self._run.add_gradient_of(task, address(begin), c_float(scale), *map(address, out))

        self._for_episodes(run)
        return moved, logits, measures

    def _empty_logits(self, graphs: range) -> Tensor:
        return torch.empty(len(self._labels), len(graphs), self._way)

    def _for_episodes(self, work: Callable[[int], T]) -> list[T]:
        threads, episodes = torch.get_num_threads(), range(len(self._labels))
        if threads == 1:
            return list(map(work, episodes))
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, episodes))
