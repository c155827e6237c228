"""Node features as a batch holds them: plain rows, or a table of distinct rows and a code per node."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.errors import SettingsError

NARROW = 64
"""Up to this many features the rows are kept as they are and their neighbour sums with them."""


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """Features of `n` nodes, `[n, F]`.

    Attributes:
        table: `[n, F]`, or with codes `[R, F]`.
        code: int64 `[n]`, the row of `table` that a node has; None where the rows are the table.
        neighbour_sum: `[n, F]`, the sums over neighbours where they are known already; those of input
            features depend on no weight and are computed once per dataset.
    """

    table: Tensor
    code: Tensor | None = None
    neighbour_sum: Tensor | None = None

    def __len__(self) -> int:
        return len(self.table if self.code is None else self.code)

    def to(self, device: torch.device) -> NodeFeatures:
        """The same on another device."""
        code, sums = (None if part is None else part.to(device) for part in (self.code, self.neighbour_sum))
        return NodeFeatures(self.table.to(device), code, sums)

    @property
    def width(self) -> int:
        """`F`."""
        return self.table.shape[1]

    def rows(self) -> Tensor:
        """The features, one row per node, `[n, F]`."""
        return self.table if self.code is None else self.table.index_select(0, self.code)

    def project(self, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """`x Wᵀ + b` for `W` `[out, F]`: `[n, out]`. With codes, each distinct row is multiplied once."""
        product = F.linear(self.table, weight, bias)
        return product if self.code is None else product.index_select(0, self.code)

    def select(self, nodes: Tensor) -> NodeFeatures:
        """The features of the given nodes, int64 `[m]`."""
        sums = None if self.neighbour_sum is None else self.neighbour_sum.index_select(0, nodes)
        if self.code is None:
            return NodeFeatures(self.table.index_select(0, nodes), None, sums)
        return replace(self, code=self.code.index_select(0, nodes), neighbour_sum=sums)


def as_features(x: Tensor | FeatureTable | NodeFeatures) -> NodeFeatures:
    """Wrap a matrix `[V, F]`, or the distinct rows and codes of a `FeatureTable`."""
    if isinstance(x, NodeFeatures):
        return x
    if isinstance(x, FeatureTable):
        return NodeFeatures(torch.from_numpy(x.table), torch.from_numpy(x.code))
    if x.ndim != 2:
        raise SettingsError(f"x: expected a matrix, found shape {tuple(x.shape)}")
    return NodeFeatures(x)
