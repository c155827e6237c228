"""Normalisation of node rows `[n, d]`: per graph, per group of graphs, or with running statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.nn.fused_norm import EPS, can_be_fused, graph_norm, graph_norm_relu
from fsgc.nn.segments import Segments
from fsgc.nn.settings import Norm


@dataclass(frozen=True, eq=False)
class Groups:
    """Which graphs are normalised together, for `norm: episode`.

    Attributes:
        index: int64 `[g]`, the group of each graph, such as the support or the query set of an episode.
        count: how many groups there are.
    """

    index: Tensor
    count: int

    def sum(self, per_graph: Tensor) -> Tensor:
        """Sum over the graphs of each group: `[g, d]` to `[count, d]`."""
        return per_graph.new_zeros(self.count, per_graph.shape[1]).index_add(0, self.index, per_graph)


class NodeNorm(nn.Module, ABC):
    """What the norms share: they see the rows, and which graph and group a row belongs to."""

    @abstractmethod
    def forward(self, x: Tensor, segments: Segments, groups: Groups | None = None, relu: bool = False) -> Tensor:
        """Normalise `[n, d]`; `relu` appends a ReLU."""


class GraphNorm(NodeNorm):
    """GraphNorm (Cai et al. 2021): `w · (x - a · mean) / std + b` with learned `w`, `a`, `b`.

    Statistics are those of each graph or, with `across_graphs`, of all graphs of a group. Without groups
    that is the whole batch, as in the authors' code: a row then depends on the other graphs.
    """

    def __init__(self, width: int, across_graphs: bool = False, eps: float = EPS) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.mean_scale = nn.Parameter(torch.ones(width))
        self.across_graphs = across_graphs
        self.eps = eps

    def forward(self, x: Tensor, segments: Segments, groups: Groups | None = None, relu: bool = False) -> Tensor:
        """Normalise `[n, d]`; `groups` matter only with `across_graphs`, `relu` appends a ReLU."""
        learned = (self.weight, self.bias, self.mean_scale)
        if relu and not self.across_graphs and can_be_fused(x, self.weight):
            return graph_norm_relu(x, *learned, segments, self.eps)
        mean = partial(self._mean, segments=segments, groups=groups) if self.across_graphs else segments.mean
        result = graph_norm(x, *learned, mean, segments.spread, self.eps)
        return F.relu(result) if relu else result

    def _mean(self, x: Tensor, segments: Segments, groups: Groups | None) -> Tensor:
        """Mean over the rows of each graph's group, `[g, d]`."""
        if groups is None:
            return x.mean(0, keepdim=True).expand(len(segments.sizes), -1)
        rows = groups.sum(segments.sizes.to(x.dtype).unsqueeze(1))
        return (groups.sum(segments.sum(x)) / rows.clamp(min=1)).index_select(0, groups.index)


class BatchNorm(NodeNorm):
    """Batch norm over all nodes; in evaluation its running statistics, so that graphs stay independent."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor, segments: Segments, groups: Groups | None = None, relu: bool = False) -> Tensor:  # noqa: ARG002
        """Normalise `[n, d]`; `relu` appends a ReLU."""
        result = self.norm(x)
        return F.relu(result) if relu else result


class NoNorm(NodeNorm):
    """Leaves the rows as they are."""

    def forward(self, x: Tensor, segments: Segments, groups: Groups | None = None, relu: bool = False) -> Tensor:  # noqa: ARG002
        """Return `x`; `relu` appends a ReLU."""
        return F.relu(x) if relu else x


def make_norm(kind: Norm, width: int) -> NodeNorm:
    """The norm that a setting names: `graph`, `batch`, `episode` or `none`."""
    if kind == "batch":
        return BatchNorm(width)
    return NoNorm() if kind == "none" else GraphNorm(width, across_graphs=kind == "episode")
