"""Embedder and head with weights of their own for every episode: logits and gradients written out.

The network is `MamlNetwork` with GIN convolutions of two layers. Nothing nonlinear stands between the MLPs of two
convolutions nor before LayerNorm, so products of weights replace products of rows: with `V` the last layer of one
convolution's MLP, `W` the first of the next and `J` a part of jumping knowledge, rows `h` are multiplied by `V W` and
`V J`, not one after the other by `V`, `W` and `J`. That leaves three products of rows `[n, d] · [d, d]` for two
convolutions, and six for a gradient. No autograd is involved, so nothing is recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.maml import norm_relu, read_out, scorer
from fsgc.methods.maml.flat_weights import FlatWeights, Pieces
from fsgc.methods.maml.row_maps import Neighbours, Parts, input_maps
from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.methods.maml.weight_products import WeightProducts, centred, dot, gradients, multiply, own
from fsgc.nn.segments import Segments
from fsgc.nn.settings import EmbedderSettings


def is_written_out(settings: EmbedderSettings, training: bool) -> bool:
    """Whether `EpisodeNetwork` covers these settings."""
    linear_between = settings.activation == "none" and (settings.dropout == 0 or not training)
    conv = settings.conv == "gin" and settings.gin_mlp_layers == 2 and settings.norm in ("graph", "episode")
    return linear_between and conv and settings.pooling in ("mean", "sum")


class Run(NamedTuple):
    """What the forward pass keeps.

    Attributes:
        weights: of the episodes.
        products: of those weights.
        mixing: of every convolution but the first, its rows before they are mixed with their neighbours, `[B, n, d]`.
        normed: of each convolution, its norm; `normed[i].result` are the hidden rows of its MLP.
        read: of the read-out.
        scored: of the head, with the logits.
    """

    weights: Pieces
    products: WeightProducts
    mixing: list[Tensor]
    normed: list[norm_relu.Normed]
    read: read_out.Read
    scored: scorer.Scored


class Pull(NamedTuple):
    """What the backward pass keeps: gradients.

    Attributes:
        total: at the rows before LayerNorm.
        rows: of each convolution, at the rows before its norm.
        mixing: at `Run.mixing`.
        first: at `WeightProducts.first`.
        hops: at what the products of weights are cut from, `[B, d+1, 2·d]`.
        norms: of each convolution, what its norm keeps.
        read: what the read-out keeps.
        scored: what the head keeps.
    """

    total: Tensor
    rows: list[Tensor]
    mixing: list[Tensor]
    first: Tensor
    hops: list[Tensor]
    norms: list[norm_relu.Pulled]
    read: read_out.Pulled
    scored: scorer.Pulled


class EpisodeNetwork:
    """The network on certain graphs of episodes.

    Args:
        graphs: the graphs, laid out.
        settings: of the embedder; see `is_written_out`.
        layout: of the weights.
        one_hot: whether a table of distinct input rows is the identity.
    """

    def __init__(self, graphs: EpisodeGraphs, settings: EmbedderSettings, layout: FlatWeights, one_hot: bool) -> None:
        self.layout, self.learnable_eps = layout, settings.learnable_eps
        self.neighbours = Neighbours(graphs.adjacency.source, graphs.adjacency.pointer)
        self.inputs = input_maps(graphs, self.neighbours, one_hot)
        counts, like = graphs.nodes.counts, graphs.features.table
        parts = Parts.make(graphs.nodes.segments, len(counts), like)
        self.read = read_out.ReadOut(parts, settings.pooling == "mean")
        self.norm = norm_relu.NormRelu(parts if settings.norm == "graph" else _whole_episodes(graphs, like))
        column = counts.unsqueeze(2).to(like.dtype)
        self.ones = torch.ones_like(column) if settings.pooling == "mean" else column

    def run(self, vectors: Tensor) -> Run:
        """The forward pass with the weights of episodes, `[B, W]`."""
        weights = self.layout.cut(vectors)
        products = multiply(weights)
        normed, mixing = [self.norm.forward(self.inputs.mixed(products.first), weights.norms[0])], []
        for index, matrix in enumerate(products.between, 1):
            mixing.append(torch.baddbmm(matrix[:, -1:], normed[-1].result, matrix[:, :-1]))
            rows = self.neighbours.mix(mixing[-1], own(weights, index))
            normed.append(self.norm.forward(rows, weights.norms[index]))
        total = self.inputs.plain(products.jump[:, :-1], products.jump[:, -1:])
        for layer, matrix in zip(normed, products.jumps, strict=True):
            total.baddbmm_(layer.result, matrix)
        pooled, read = self.read.forward(total, weights.read)
        scored = scorer.forward(pooled, self.ones, (weights.embed, weights.hidden, weights.scores))
        return Run(weights, products, mixing, normed, read, scored)

    def gradient(self, at: Run, error: Tensor) -> tuple[Tensor, Pull]:
        """The gradient at the logits, `[B, M, N]`, to that at the weights, `[B, W]`."""
        pooled, of_head, scored = scorer.backward(at.scored, error)
        total, of_read, read = self.read.backward(at.read, pooled)
        of_bias = total.sum(1, keepdim=True)
        rows: list[Tensor] = []
        mixing: list[Tensor] = []
        hops: list[Tensor] = []
        norms: list[norm_relu.Pulled] = []
        of_norms: list[Tensor] = []
        of_own: list[Tensor] = []
        for index in reversed(range(len(at.normed))):
            hidden = at.normed[index].result
            hop = centred(torch.cat([torch.bmm(hidden.mT, total), of_bias], 1))
            of_hidden = torch.bmm(total, at.products.jumps[index].mT)
            if mixing:  # what comes from the next convolution
                after = mixing[-1]
                of_hidden.baddbmm_(after, at.products.between[index][:, :-1].mT)
                to_next = torch.cat([torch.bmm(hidden.mT, after), after.sum(1, keepdim=True)], 1)
                hop = torch.cat([to_next, hop], 2)
            row, of_norm, norm = self.norm.backward(at.normed[index], of_hidden)
            rows.append(row)
            hops.append(hop)
            norms.append(norm)
            of_norms.append(of_norm)
            if index:
                mixing.append(self.neighbours.mix(row, own(at.weights, index)))
                of_own.append(dot(row, at.mixing[index - 1]))
        for found in (rows, mixing, hops, norms, of_norms, of_own):
            found.reverse()
        first = self.inputs.mixed_adjoint(rows[0])
        jump = centred(torch.cat([self.inputs.plain_adjoint(total), of_bias], 1))
        products = gradients(at.weights, first, hops)
        eps = self.of_eps([products.own, *of_own])
        grads = Pieces(eps, products.first, of_norms, products.lasts, products.nexts, jump, of_read, *of_head)
        return grads.join(), Pull(total, rows, mixing, first, hops, norms, read, scored)

    def of_eps(self, found: list[Tensor]) -> Tensor:
        """The gradients of all ε, `[B, L]`, from those of each, `[B]`; a fixed one has none."""
        result = torch.stack(found, 1)
        return result if self.learnable_eps else torch.zeros_like(result)


def _whole_episodes(graphs: EpisodeGraphs, like: Tensor) -> Parts:
    """All graphs of an episode together, for `norm: episode`, and what fills it up."""
    counts = graphs.nodes.counts
    nodes = counts.sum(1)
    sizes = torch.stack([nodes, graphs.nodes.size - nodes], 1)
    return Parts.make(Segments.from_sizes(sizes.flatten(), len(counts) * graphs.nodes.size), len(counts), like)
