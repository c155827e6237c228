"""GIN that keeps the read-out of every level, and a classifier over all of them (Xu et al. 2019)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from fsgc.nn.convs import GINConv
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.inputs import NodeFeatures
from fsgc.nn.norms import make_norm
from fsgc.nn.segments import Segments
from fsgc.nn.settings import Norm


class Levels(NamedTuple):
    """What is known of `g` graphs.

    Attributes:
        z: `[g, L·d]`, the read-outs of all convolutions side by side.
        logits: `[g, C]`, the classifier over all levels, the input's included.
    """

    z: Tensor
    logits: Tensor


class GINLevels(nn.Module):
    """`L` times GIN convolution, norm and ReLU; each level read out and classified by a linear layer, their sum taken.

    Args:
        num_features: `F`, the width of the node features.
        width: `d`, of all levels but the input.
        convs: `L`; levels are `L` + 1, counting the input.
        mlp_layers: linear layers in each convolution.
        norm: inside and after the convolutions: `batch` or `graph`.
        pooling: read-out: `mean` or `sum`.
        classes: `C`.
    """

    def __init__(
        self, num_features: int, width: int, convs: int, mlp_layers: int, norm: Norm, pooling: str, classes: int
    ) -> None:
        super().__init__()
        in_widths = [num_features] + [width] * (convs - 1)
        self.width = width
        self.pooling = pooling
        self.convs = nn.ModuleList(GINConv(wide, width, mlp_layers, norm, learnable_eps=False) for wide in in_widths)
        self.norms = nn.ModuleList(make_norm(norm, width) for _ in in_widths)
        self.input_head = nn.Linear(num_features, classes)
        self.head = nn.Linear(convs * width, classes)

    def forward(self, batch: GraphBatch) -> Levels:
        """All levels of the graphs of a batch."""
        read_outs = []
        h: Tensor | NodeFeatures = batch.features
        for conv, norm in zip(self.convs, self.norms, strict=True):
            rows: Tensor = norm(conv(h, batch), batch.segments, relu=True)
            read_outs.append(self._pool(rows, batch.segments))
            h = rows
        z = torch.cat(read_outs, 1)
        # Read-out and linear layer commute: a wide one-hot input is never summed as it is.
        of_input = self._pool(batch.features.project(self.input_head.weight), batch.segments) + self.input_head.bias
        return Levels(z, self.head(z) + of_input)

    def last(self, z: Tensor) -> Tensor:
        """The last level of `[g, L·d]`: `[g, d]`."""
        return z[:, -self.width :]

    def of_graphs(self, tensors: GraphTensors, graphs: Tensor) -> Levels:
        """All levels of many graphs, `[g]`, in chunks; for evaluation, where graphs do not depend on each other."""
        sizes = tensors.chunk_sizes(graphs)
        parts = [self(tensors.batch(part)) for part in torch.split(graphs, sizes)]
        return Levels(*(torch.cat(rows) for rows in zip(*parts, strict=True)))

    def _pool(self, rows: Tensor, segments: Segments) -> Tensor:
        return segments.mean(rows) if self.pooling == "mean" else segments.sum(rows)
