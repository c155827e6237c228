"""A GIN that keeps the read-out of every layer (Xu et al., How Powerful are Graph Neural Networks?, ICLR 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fsgc.nn.convs import GINConv
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.inputs import NodeFeatures
from fsgc.nn.norms import make_norm
from fsgc.nn.segments import Segments
from fsgc.nn.settings import Norm


class GINReadOuts(nn.Module):
    """`L` times GIN convolution, norm and ReLU; the nodes of each graph are read out after each.

    Args:
        num_features: `F`, the width of the node features.
        width: `d`, of all layers.
        convs: `L`, convolutions.
        mlp_layers: linear layers in each convolution.
        norm: inside and after the convolutions: `batch` or `graph`.
        pooling: read-out: `mean` or `sum`.
        learnable_eps: whether the ε of the convolutions is learned; it starts at 0.
    """

    def __init__(
        self,
        num_features: int,
        width: int,
        convs: int,
        mlp_layers: int = 2,
        norm: Norm = "batch",
        pooling: str = "sum",
        learnable_eps: bool = False,
    ) -> None:
        super().__init__()
        in_widths = [num_features] + [width] * (convs - 1)
        self.width = width
        self.norm = norm
        self.pooling = pooling
        self.convs = nn.ModuleList(GINConv(wide, width, mlp_layers, norm, learnable_eps) for wide in in_widths)
        self.norms = nn.ModuleList(make_norm(norm, width) for _ in in_widths)

    def forward(self, batch: GraphBatch) -> Tensor:
        """The read-outs of the `g` graphs of a batch side by side, `[g, L·d]`; the input has none."""
        read_outs = []
        h: Tensor | NodeFeatures = batch.features
        for conv, norm in zip(self.convs, self.norms, strict=True):
            rows: Tensor = norm(conv(h, batch), batch.segments, relu=True)
            read_outs.append(self.pool(rows, batch.segments))
            h = rows
        return torch.cat(read_outs, 1)

    def pool(self, rows: Tensor, segments: Segments) -> Tensor:
        """The read-out of any node rows, `[n, d]` to `[g, d]`."""
        return segments.mean(rows) if self.pooling == "mean" else segments.sum(rows)

    def of_graphs(self, tensors: GraphTensors, graphs: Tensor) -> Tensor:
        """The read-outs of many graphs, `[g]` to `[g, L·d]`; in chunks unless batch norm is learning from them."""
        if self.training and self.norm == "batch":
            result: Tensor = self(tensors.batch(graphs))
            return result
        return torch.cat([self(tensors.batch(part)) for part in torch.split(graphs, tensors.chunk_sizes(graphs))])
