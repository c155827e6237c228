"""Sums over graphs and over neighbours on the rows of episodes, `[B, n, d]`, and linear maps of input features.

They are the maps of `fsgc.nn.segments` and `fsgc.nn.adjacency` without autograd: MAML writes out its gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.nn.inputs import NodeFeatures
from fsgc.nn.segments import Segments


def _bag(order: Tensor, rows: Tensor, pointer: Tensor) -> Tensor:
    return F.embedding_bag(order, rows, pointer, mode="sum", include_last_offset=True)


def relu_back_(grad: Tensor, result: Tensor) -> Tensor:
    """The gradient, or the tangent, past ReLU, in place: zero where ReLU's result is."""
    return torch.ops.aten.threshold_backward.grad_input(grad, result, 0, grad_input=grad)


@dataclass(frozen=True, eq=False)
class Parts:
    """Contiguous rows that belong together: the graphs of each episode and, last, what fills it up.

    Attributes:
        segments: `B · m` segments over the `B · n` rows.
        order: int64 `[B · n]`, the rows one after the other.
        sizes: `[B, m, 1]`, rows of each, at least 1.
    """

    segments: Segments
    order: Tensor
    sizes: Tensor

    @classmethod
    def make(cls, segments: Segments, episodes: int, like: Tensor) -> Parts:
        """The segments of so many episodes, as many each; sizes get the type of `like`."""
        order = torch.arange(len(segments.index), device=segments.index.device)
        return cls(segments, order, segments.sizes.clamp(min=1).to(like.dtype).view(episodes, -1, 1))

    def sum(self, rows: Tensor) -> Tensor:
        """`[B, n, d]` to `[B, m, d]`."""
        return _bag(self.order, rows.flatten(0, 1), self.segments.pointer).view(len(rows), -1, rows.shape[2])

    def mean(self, rows: Tensor) -> Tensor:
        """`[B, n, d]` to `[B, m, d]`. Divided, so that equal rows are their mean exactly."""
        return self.sum(rows).div_(self.sizes)

    def spread(self, values: Tensor) -> Tensor:
        """`[B, m, d]` to `[B, n, d]`."""
        rows = values.flatten(0, 1).index_select(0, self.segments.index)
        return rows.view(len(values), -1, values.shape[2])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Sums over the neighbours of each row, and a multiple of the row itself.

    Attributes:
        source: as in `Adjacency`.
        pointer: as in `Adjacency`.
    """

    source: Tensor
    pointer: Tensor

    def sum(self, rows: Tensor) -> Tensor:
        """`A x`: `[B, n, d]` to `[B, n, d]`."""
        return _bag(self.source, rows.flatten(0, 1), self.pointer).view_as(rows)

    def mix(self, rows: Tensor, own: Tensor) -> Tensor:
        """`(A + own · I) x`, `own` `[B, 1, 1]`. The map is symmetric: this is also its adjoint."""
        return self.sum(rows).addcmul_(rows, own)


class InputMaps(Protocol):
    """The input features `X`, `[B, n, F]`, as linear maps of matrices and their adjoints."""

    def mixed(self, matrices: Tensor) -> Tensor:
        """`X C + A X D` for `C` over `D`, `[B, 2·F, d]`: `[B, n, d]`."""

    def mixed_adjoint(self, rows: Tensor) -> Tensor:
        """`Xᵀ G` over `Xᵀ A G`: `[B, n, d]` to `[B, 2·F, d]`."""

    def plain(self, matrix: Tensor, bias: Tensor) -> Tensor:
        """`X C + b`, `[B, F, d]` and `[B, 1, d]` to `[B, n, d]`."""

    def plain_adjoint(self, rows: Tensor) -> Tensor:
        """`Xᵀ G`: `[B, n, d]` to `[B, F, d]`."""


@dataclass(frozen=True, eq=False)
class NarrowInputs:
    """Few features: the rows and their neighbour sums, which no weight changes, side by side.

    Attributes:
        x: `X`, `[B, n, F]`.
        both: `X` and `A X`, `[B, n, 2·F]`.
    """

    x: Tensor
    both: Tensor

    def mixed(self, matrices: Tensor) -> Tensor:
        """See `InputMaps`."""
        return torch.bmm(self.both, matrices)

    def mixed_adjoint(self, rows: Tensor) -> Tensor:
        """See `InputMaps`."""
        return torch.bmm(self.both.mT, rows)

    def plain(self, matrix: Tensor, bias: Tensor) -> Tensor:
        """See `InputMaps`."""
        return torch.baddbmm(bias, self.x, matrix)

    def plain_adjoint(self, rows: Tensor) -> Tensor:
        """See `InputMaps`."""
        return torch.bmm(self.x.mT, rows)


@dataclass(frozen=True, eq=False)
class CodedInputs:
    """Many features: a node has one of `R` distinct rows, so products are taken of those and gathered.

    Attributes:
        table: the distinct rows, `[R, F]`; None where they are those of the identity, as a one-hot code has them.
        kinds: int64 `[B · n]`, `b · R + code`.
        order: int64 `[B · n]`, the rows sorted by kind.
        pointer: int64 `[B · R + 1]`; those of kind `k` are `order[pointer[k]:pointer[k+1]]`.
        neighbours: the edges.
    """

    table: Tensor | None
    kinds: Tensor
    order: Tensor
    pointer: Tensor
    neighbours: Neighbours

    @classmethod
    def make(cls, table: Tensor, code: Tensor, neighbours: Neighbours, one_hot: bool) -> CodedInputs:
        """Distinct rows `[R, F]` and the codes of episodes, int64 `[B, n]`."""
        episodes, distinct = len(code), len(table)
        kinds = (code + distinct * torch.arange(episodes, device=code.device).unsqueeze(1)).flatten()
        counts = torch.zeros(episodes * distinct, dtype=torch.int64, device=code.device)
        counts = counts.index_add_(0, kinds, torch.ones_like(kinds))
        pointer = F.pad(counts.cumsum(0), (1, 0))
        return cls(None if one_hot else table, kinds, kinds.argsort(stable=True), pointer, neighbours)

    def mixed(self, matrices: Tensor) -> Tensor:
        """See `InputMaps`."""
        own, other = matrices.chunk(2, 1)
        return self.neighbours.sum(self._times(other)).add_(self._times(own))

    def mixed_adjoint(self, rows: Tensor) -> Tensor:
        """See `InputMaps`."""
        return torch.cat([self.plain_adjoint(rows), self.plain_adjoint(self.neighbours.sum(rows))], 1)

    def plain(self, matrix: Tensor, bias: Tensor) -> Tensor:
        """See `InputMaps`."""
        return self._times(matrix, bias)

    def plain_adjoint(self, rows: Tensor) -> Tensor:
        """See `InputMaps`."""
        sums = _bag(self.order, rows.flatten(0, 1), self.pointer).view(len(rows), -1, rows.shape[2])
        return sums if self.table is None else torch.matmul(self.table.mT, sums)

    def _times(self, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        distinct = matrix if self.table is None else torch.matmul(self.table, matrix)
        distinct = distinct if bias is None else distinct + bias
        rows = distinct.flatten(0, 1).index_select(0, self.kinds)
        return rows.view(len(matrix), -1, matrix.shape[2])


def input_maps(graphs: EpisodeGraphs, neighbours: Neighbours, one_hot: bool) -> InputMaps:
    """The input features of laid out graphs; `one_hot` says that a table of distinct rows is the identity."""
    features: NodeFeatures = graphs.features
    if features.code is not None:
        return CodedInputs.make(features.table, features.code, neighbours, one_hot)
    sums = features.neighbour_sum if features.neighbour_sum is not None else neighbours.sum(features.table)
    return NarrowInputs(features.table, torch.cat([features.table, sums], 2))
