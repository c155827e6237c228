"""Graph convolutions on batches of undirected graphs; PyG's layers of the same names are their oracle.

Aggregation is linear, so `A (x W) = (A x) W`: each layer aggregates on the narrower side of its first matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.nn.adjacency import Adjacency
from fsgc.nn.graph_tensors import GraphBatch
from fsgc.nn.inputs import NodeFeatures, as_features
from fsgc.nn.norms import Groups, make_norm
from fsgc.nn.segments import Segments
from fsgc.nn.settings import EmbedderSettings, Norm


class GraphConv(nn.Module, ABC):
    """What the convolutions share: features of `n` nodes in, `[n, width]` out."""

    @abstractmethod
    def forward(self, x: Tensor | NodeFeatures, batch: GraphBatch, groups: Groups | None = None) -> Tensor:
        """Convolve; `groups` go to the norms inside, if any."""


class GINConv(GraphConv):
    """GIN (Xu et al. 2019): `MLP((1 + ε) · x_v + Σ x_u)` over the neighbours `u` of `v`.

    The MLP has norm and ReLU between its linear layers and nothing after the last; one layer makes it linear.

    Args:
        in_width: width of the input.
        width: width of all layers of the MLP.
        mlp_layers: linear layers of the MLP.
        norm: norm between them.
        learnable_eps: whether ε is learned; it starts at 0.
    """

    def __init__(
        self, in_width: int, width: int, mlp_layers: int = 2, norm: Norm = "graph", learnable_eps: bool = True
    ) -> None:
        super().__init__()
        widths = [in_width] + [width] * mlp_layers
        self.first, *others = (nn.Linear(a, b) for a, b in pairwise(widths))
        self.others = nn.ModuleList(others)
        self.norms = nn.ModuleList(make_norm(norm, width) for _ in range(mlp_layers - 1))
        self.eps = nn.Parameter(torch.zeros(1)) if learnable_eps else None

    def forward(self, x: Tensor | NodeFeatures, batch: GraphBatch, groups: Groups | None = None) -> Tensor:
        """`[n, in_width]` to `[n, width]`."""
        h = self._first_linear(as_features(x), batch)
        if not len(self.others):
            return h
        return self.last(self.hidden(h, batch.segments, groups))

    @property
    def last(self) -> nn.Linear:
        """The last linear layer of the MLP."""
        return [self.first, *(layer for layer in self.others if isinstance(layer, nn.Linear))][-1]

    def hidden(self, h: Tensor, segments: Segments, groups: Groups | None = None) -> Tensor:
        """From the first linear layer's result to what enters the last one, where there are two or more."""
        for norm, linear in zip(self.norms[:-1], self.others[:-1], strict=True):
            h = linear(norm(h, segments, groups, relu=True))
        return self.norms[-1](h, segments, groups, relu=True)

    def mix(self, x: Tensor | NodeFeatures, adjacency: Adjacency) -> Tensor:
        """`(1 + ε) · x_v + Σ x_u`, what enters the MLP: `[n, in_width]` to the same shape."""
        features = as_features(x)
        rows, known = features.rows(), features.neighbour_sum
        return self._add_self(adjacency.neighbour_sum(rows) if known is None else known, rows)

    def _first_linear(self, x: NodeFeatures, batch: GraphBatch) -> Tensor:
        linear = self.first
        if x.neighbour_sum is None and x.width > linear.out_features:
            product = x.project(linear.weight)
            return self._add_self(batch.adjacency.neighbour_sum(product), product) + linear.bias
        return linear(self.mix(x, batch.adjacency))

    def _add_self(self, sums: Tensor, rows: Tensor) -> Tensor:
        return sums + rows if self.eps is None else torch.addcmul(sums, rows, 1 + self.eps)


class GCNConv(GraphConv):
    """GCN (Kipf and Welling 2017): `D^-½ (A + I) D^-½ x W + b`, `D` the degrees with self-loops."""

    def __init__(self, in_width: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, in_width)))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor | NodeFeatures, batch: GraphBatch, groups: Groups | None = None) -> Tensor:  # noqa: ARG002
        """`[n, in_width]` to `[n, width]`."""
        features = as_features(x)
        root = (batch.adjacency.degree + 1).to(features.table.dtype).rsqrt().unsqueeze(1)
        narrow_first = features.width > len(self.weight)
        scaled = root * (features.project(self.weight) if narrow_first else features.rows())
        h = root * (batch.adjacency.neighbour_sum(scaled) + scaled)
        return h + self.bias if narrow_first else F.linear(h, self.weight, self.bias)


class GATConv(GraphConv):
    """GAT (Veličković et al. 2018), one head: `Σ p_vu W x_u + b` over `v` and its neighbours `u`.

    `p_v·` is the softmax of `LeakyReLU(a_source · W x_u + a_target · W x_v)`.
    """

    def __init__(self, in_width: int, width: int, negative_slope: float = 0.2) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, in_width)))
        self.att_source = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.att_target = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.bias = nn.Parameter(torch.zeros(width))
        self.negative_slope = negative_slope

    def forward(self, x: Tensor | NodeFeatures, batch: GraphBatch, groups: Groups | None = None) -> Tensor:  # noqa: ARG002
        """`[n, in_width]` to `[n, width]`."""
        edges = batch.adjacency
        h = as_features(x).project(self.weight)
        as_source, as_target = F.linear(h, torch.cat([self.att_source, self.att_target])).unbind(1)
        own = F.leaky_relu(as_source + as_target, self.negative_slope)
        scores = as_source.index_select(0, edges.source) + as_target.index_select(0, edges.target)
        scores = F.leaky_relu(scores, self.negative_slope)
        # The largest score of each node is taken off before exp; it cancels, so it needs no gradient.
        top = own.detach().scatter_reduce(0, edges.target, scores.detach(), "amax")
        own, scores = (own - top).exp(), (scores - top.index_select(0, edges.target)).exp()
        total = own.index_add(0, edges.target, scores)
        mixed = edges.weighted_sum(h, scores) + own.unsqueeze(1) * h
        return mixed / total.unsqueeze(1) + self.bias


def make_conv(settings: EmbedderSettings, in_width: int) -> GraphConv:
    """The convolution that the settings name, from `in_width` to `settings.width`."""
    if settings.conv == "gin":
        return GINConv(in_width, settings.width, settings.gin_mlp_layers, settings.norm, settings.learnable_eps)
    return GATConv(in_width, settings.width) if settings.conv == "gat" else GCNConv(in_width, settings.width)
