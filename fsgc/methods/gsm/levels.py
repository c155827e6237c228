"""The GIN of GSM: the read-out of every level, and a classifier over all of them (Xu et al. 2019)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
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
        self.width = width
        self.read_outs = GINReadOuts(num_features, width, convs, mlp_layers, norm, pooling)
        self.input_head = nn.Linear(num_features, classes)
        self.head = nn.Linear(convs * width, classes)

    def forward(self, batch: GraphBatch) -> Levels:
        """All levels of the graphs of a batch."""
        z = self.read_outs(batch)
        # Read-out and linear layer commute: a wide one-hot input is never summed as it is.
        projected = batch.features.project(self.input_head.weight)
        of_input = self.read_outs.pool(projected, batch.segments) + self.input_head.bias
        return Levels(z, self.head(z) + of_input)

    def last(self, z: Tensor) -> Tensor:
        """The last level of `[g, L·d]`: `[g, d]`."""
        return z[:, -self.width :]

    def of_graphs(self, tensors: GraphTensors, graphs: Tensor) -> Levels:
        """All levels of many graphs, `[g]`, in chunks; for evaluation, where graphs do not depend on each other."""
        sizes = tensors.chunk_sizes(graphs)
        parts = [self(tensors.batch(part)) for part in torch.split(graphs, sizes)]
        return Levels(*(torch.cat(rows) for rows in zip(*parts, strict=True)))
