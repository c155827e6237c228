"""The graph embedder of the prototypical network, shared by all methods of the paper."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.nn.convs import make_conv
from fsgc.nn.dropout import Dropout
from fsgc.nn.film import Film
from fsgc.nn.graph_tensors import GraphBatch
from fsgc.nn.inputs import NodeFeatures
from fsgc.nn.norms import Groups
from fsgc.nn.pooling import mean_std
from fsgc.nn.segments import Segments
from fsgc.nn.settings import EmbedderSettings


class JumpingKnowledge(nn.Module):
    """Jumping knowledge (Xu et al. 2018): input and all layers concatenated, then `ReLU(LayerNorm(W · + b))`.

    This is the first of the two layers of the paper's MLP; the second is the embedder's `out`.

    Args:
        num_features: width of the input.
        num_layers: layers that follow it.
        width: their width and that of the result.
    """

    def __init__(self, num_features: int, num_layers: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(num_features + num_layers * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, features: NodeFeatures, layers: list[Tensor]) -> Tensor:
        """`[n, F]` and some `[n, d]` to `[n, d]`."""
        # One product per part of the matrix, each added to the last: the concatenation is never written to memory.
        parts = torch.split(self.linear.weight, [features.width, *(layer.shape[1] for layer in layers)], dim=1)
        h = features.project(parts[0], self.linear.bias)
        for layer, part in zip(layers, parts[1:], strict=True):
            h = torch.addmm(h, layer, part.t())
        return self.activate(h)

    def activate(self, h: Tensor) -> Tensor:
        """What follows the linear layer, `[n, d]` to `[n, d]`."""
        return F.relu(self.norm(h), inplace=True)  # no gradient needs the norm's result


class Embedder(nn.Module):
    """Graphs to vectors: convolutions, jumping knowledge, pooling; section 3 of the paper.

    After each convolution: its FiLM, the activation if set, dropout. After jumping knowledge: the linear
    layer to the final node embeddings, the last FiLM, pooling. Mean and sum commute with that linear layer
    and that FiLM, so both are applied to graphs instead of nodes, with the same result.

    Args:
        num_features: `F`, the width of the node features.
        settings: all else.
    """

    def __init__(self, num_features: int, settings: EmbedderSettings) -> None:
        super().__init__()
        self.settings = settings
        width, count = settings.width, settings.num_convs
        in_widths = [num_features] + [width] * (count - 1)
        self.convs = nn.ModuleList(make_conv(settings, in_width) for in_width in in_widths)
        self.dropout = Dropout(settings.dropout)
        self.jump = JumpingKnowledge(num_features, count, width)
        self.out = nn.Linear(width, width)
        self.halve = nn.Linear(width, width // 2) if settings.pooling == "mean_std" else None

    @property
    def film_layers(self) -> int:
        """Scales and shifts that a `Film` needs: one per convolution, one for the final node embedding."""
        return len(self.convs) + 1

    def forward(self, batch: GraphBatch, film: Film | None = None, groups: Groups | None = None) -> Tensor:
        """Embed each graph of a batch: `[g, d]`."""
        return self.pool(self._hidden(batch, film, groups), batch.segments, film)

    def pool(self, hidden: Tensor, segments: Segments, film: Film | None = None) -> Tensor:
        """From jumping knowledge `[n, d]` to graphs, `[g, d]`: the last linear layer, its FiLM and pooling."""
        last = len(self.convs)
        if self.halve is not None:
            return mean_std(self.halve(self._last_layer(hidden, segments, film)), segments)
        if self.settings.pooling == "mean":
            z = self.out(segments.mean(hidden))
            return z if film is None else film.graphs(z, last)
        nodes = segments.sizes.to(hidden.dtype).unsqueeze(1)
        z = F.linear(segments.sum(hidden), self.out.weight) + nodes * self.out.bias
        return z if film is None else film.graphs(z, last, segments.sizes)

    def node_embeddings(self, batch: GraphBatch, film: Film | None = None, groups: Groups | None = None) -> Tensor:
        """The final node embeddings, before pooling: `[n, d]`."""
        return self._last_layer(self._hidden(batch, film, groups), batch.segments, film)

    def _hidden(self, batch: GraphBatch, film: Film | None, groups: Groups | None) -> Tensor:
        layers: list[Tensor] = []
        h: Tensor | NodeFeatures = batch.features
        for index, conv in enumerate(self.convs):
            y: Tensor = conv(h, batch, groups)
            if film is not None:
                y = film.nodes(y, index, batch.segments)
            if self.settings.activation == "relu":
                y = F.relu(y)
            h = y = self.dropout(y)
            layers.append(y)
        return self.jump(batch.features, layers)

    def _last_layer(self, hidden: Tensor, segments: Segments, film: Film | None) -> Tensor:
        h = self.out(hidden)
        return h if film is None else film.nodes(h, len(self.convs), segments)
