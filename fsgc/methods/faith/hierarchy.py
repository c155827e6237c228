"""FAITH's hierarchy: a graph of samples, one of prototypes, one of tasks, for many episodes at once.

Each level is one convolution over a graph whose edges are similarities: entries of the cosine matrix at or below a
threshold are left out, the others soft-maxed row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.methods.faith.attention import attention, average_over_neighbours
from fsgc.nn.distance import squared_distances
from fsgc.nn.dropout import Dropout

SLOPE = 0.01


@dataclass(frozen=True)
class Layout:
    """How the graphs of an episode and its support tasks are lined up: all supports, then its queries, then theirs.

    Attributes:
        tasks: `T`, the episode itself and its support tasks.
        way: `N`.
        shots: `K`.
        queries: `Q` of the episode.
        other_queries: `Q` of the support tasks.
    """

    tasks: int
    way: int
    shots: int
    queries: int
    other_queries: int

    @property
    def supports(self) -> int:
        """Rows of supports, of all tasks."""
        return self.tasks * self.way * self.shots

    @property
    def own(self) -> int:
        """Rows of all supports and of the episode's queries."""
        return self.supports + self.way * self.queries

    @property
    def rows(self) -> int:
        """All rows, `R`."""
        return self.own + (self.tasks - 1) * self.way * self.other_queries

    def line_up(self, episode: Tensor, support_tasks: Tensor) -> Tensor:
        """`[B, N, K+Q]` and `[B, T-1, N, K+Q']` to `[B, R]`."""
        supports = torch.cat([episode[:, None, :, : self.shots], support_tasks[:, :, :, : self.shots]], 1)
        queries, others = episode[:, :, self.shots :], support_tasks[:, :, :, self.shots :]
        return torch.cat([part.flatten(1) for part in (supports, queries, others)], 1)

    def class_edges(self, device: torch.device) -> Tensor:
        """1 between the supports of a class, `[R, R]`."""
        blocks = torch.arange(self.supports, device=device) // self.shots
        edges = (blocks.unsqueeze(1) == blocks).float()
        return F.pad(edges, (0, self.rows - self.supports) * 2)

    def released_edges(self, device: torch.device) -> Tensor:
        """The same as the released code has it, `[R, R]`: blocks of `K`, but counted in rows ordered by task and class.

        There the queries of a class follow its supports, so most blocks tie queries of one class to each other: with
        queries sorted by class, as they are in stored episodes, the edges tell their labels.
        """
        number = torch.arange(self.rows, device=device)
        supports = number[: self.supports].view(self.tasks, self.way, self.shots)
        own = number[self.supports : self.own].view(self.way, self.queries)
        others = number[self.own :].view(self.tasks - 1, self.way, self.other_queries)
        first = torch.cat([supports[0], own], 1).flatten()
        order = torch.cat([first, torch.cat([supports[1:], others], 2).flatten()])
        place = order.argsort()
        block = torch.where(place < self.supports, place // self.shots, -1 - number)
        return (block.unsqueeze(1) == block).float() * (place < self.supports).float()


class Samples(NamedTuple):
    """What the sample level makes of the rows that were asked for.

    Attributes:
        features: `[B, rows, d]`.
        scores: `[B, S]`, of the supports.
    """

    features: Tensor
    scores: Tensor


def cosines(x: Tensor) -> Tensor:
    """The cosine matrix of `[…, R, d]`: `[…, R, R]`."""
    unit = F.normalize(x, dim=-1)
    return unit @ unit.mT


def weighted_mean(x: Tensor, scores: Tensor) -> Tensor:
    """The mean of `[…, R, d]` over rows, weighted by the softmax of their scores `[…, R]`: `[…, d]`."""
    return (torch.softmax(scores, -1).unsqueeze(-2) @ x).squeeze(-2)


class Convolution(nn.Module):
    """`A (x W + b)` for given weights `A`: features, through a leaky ReLU, and a score per row.

    Args:
        in_width: of `x`.
        width: of the features.
    """

    def __init__(self, in_width: int, width: int) -> None:
        super().__init__()
        self.features = nn.Linear(in_width, width)
        self.score = nn.Linear(in_width, 1)

    def values(self, x: Tensor) -> Tensor:
        """What is averaged: features and score side by side, `[…, in_width]` to `[…, width + 1]`."""
        weight = torch.cat([self.features.weight, self.score.weight])
        return F.linear(x, weight, torch.cat([self.features.bias, self.score.bias]))

    def finish(self, averaged: Tensor) -> tuple[Tensor, Tensor]:
        """Averaged values to features `[…, width]` and scores `[…]`."""
        return F.leaky_relu(averaged[..., :-1], SLOPE), averaged[..., -1]


class TaskHierarchy(nn.Module):
    """From embeddings of graphs to scores of queries.

    Args:
        in_width: of the embeddings.
        width: `d`, of all levels.
        threshold: at or below which two rows are not connected.
        dropout: on what enters and what leaves the task level.
        inductive: whether a query is connected to the supports only, and no support to a query.
    """

    def __init__(self, in_width: int, width: int, threshold: float, dropout: float, inductive: bool) -> None:
        super().__init__()
        self.threshold = threshold
        self.inductive = inductive
        self.sample = Convolution(in_width, width)
        self.prototype = Convolution(width, width)
        self.task = nn.Linear(width, width)
        self.dropout = Dropout(dropout)

    def samples(self, z: Tensor, place: Tensor, layout: Layout, edges: Tensor, rows: int) -> Samples:
        """The sample level.

        Args:
            z: embeddings of the distinct graphs, `[D, in_width]`.
            place: which of them each row is, `[B, R]`.
            layout: what the rows are.
            edges: added to the similarities, `[R, R]`.
            rows: for how many, from the first, the result is wanted.
        """
        tables = F.normalize(z, dim=-1), self.sample.values(z)
        supports = layout.supports
        if not self.inductive and rows == layout.rows:
            averaged = average_over_neighbours(*tables, place, edges, self.threshold)
            features, scores = self.sample.finish(averaged)
            return Samples(features, scores[:, :supports])
        unit, values = (F.embedding(place, table) for table in tables)
        if not self.inductive:
            similarity = torch.baddbmm(edges[:rows].to(unit), unit[:, :rows], unit.mT)
            averaged = attention(similarity, self.threshold) @ values
        else:
            columns = unit[:, :supports]
            among = torch.baddbmm(edges[:supports, :supports].to(unit), columns, columns.mT)
            to_supports = unit[:, supports:rows] @ columns.mT
            own = to_supports.new_ones(*to_supports.shape[:2], 1)
            weights = attention(torch.cat([to_supports, own], 2), self.threshold)
            of_queries = weights[:, :, :-1] @ values[:, :supports] + weights[:, :, -1:] * values[:, supports:rows]
            averaged = torch.cat([attention(among, self.threshold) @ values[:, :supports], of_queries], 1)
        features, scores = self.sample.finish(averaged)
        return Samples(features, scores[:, :supports])

    def prototypes(self, samples: Samples, layout: Layout) -> Tensor:
        """Each class's mean of its supports, weighted by their scores: `[B, T, N, d]`."""
        shape = (len(samples.scores), layout.tasks, layout.way, layout.shots)
        features = samples.features[:, : layout.supports].reshape(*shape, -1)
        return weighted_mean(features, samples.scores.view(shape))

    def task_inputs(self, prototypes: Tensor) -> Tensor:
        """The prototype level, and each task's mean of it, weighted by scores: `[B, T, N, d]` to `[B, T, d]`."""
        flat = prototypes.flatten(1, 2)
        weights = attention(cosines(flat), self.threshold)
        features, scores = self.prototype.finish(weights @ self.prototype.values(flat))
        inputs: Tensor = self.dropout(weighted_mean(features.view_as(prototypes), scores.view(prototypes.shape[:3])))
        return inputs

    def task_vectors(self, inputs: Tensor) -> Tensor:
        """The task level, `[B, T, d]` to `[B, T, d]`."""
        weights = attention(cosines(inputs), self.threshold)
        vectors: Tensor = self.dropout(F.leaky_relu(weights @ self.task(inputs), SLOPE))
        return vectors


def task_scores(queries: Tensor, prototypes: Tensor, tasks: Tensor) -> Tensor:
    """−Σ_d sigmoid(t_d) (p_d − q_d)²: `[…, M, d]`, `[…, N, d]` and `[…, d]` to `[…, M, N]`."""
    root = torch.sigmoid(tasks).sqrt().unsqueeze(-2)
    weighted_queries, weighted_prototypes = (queries * root).flatten(0, -3), (prototypes * root).flatten(0, -3)
    distances = squared_distances(weighted_queries, weighted_prototypes)
    return -distances.view(*queries.shape[:-1], prototypes.shape[-2])
