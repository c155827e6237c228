"""The GIN embedder with weights of its own for every episode, arranged for the least work per node.

The result is that of `Embedder` run by `EpisodeGraphs.run`. Nothing nonlinear stands between the MLPs of two
convolutions, so products of weights replace products of node rows: where `Embedder` multiplies `[n, d]` rows by one
matrix after the other, the matrices are multiplied first, `[d, d]` each, and the rows once. What does not depend on
weights, the input times powers of the adjacency matrix, is computed once for all steps of MAML; linear convolutions
(`gin_mlp_layers: 1`) then leave a single product with rows of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.nn.fused_norm import EPS, graph_norm
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.settings import EmbedderSettings

Weights = Mapping[str, Tensor]


def can_be_stacked(settings: EmbedderSettings, tensors: GraphTensors, training: bool) -> bool:
    """Whether `StackedEmbedder` covers these settings, and features so few that rows of them are kept."""
    linear_between = settings.activation == "none" and (settings.dropout == 0 or not training)
    covered = settings.conv == "gin" and settings.norm in ("graph", "none") and settings.pooling in ("mean", "sum")
    return linear_between and covered and tensors.features.code is None


@dataclass(frozen=True)
class _Rows:
    """Node rows `[B, n, d]` as sums of products that are not carried out yet: `basis · C + Σ hidden · M`.

    Attributes:
        basis: `C`, `[B, p·(F+1), d]`; the basis, `[B, n, p·(F+1)]`, is the input and a column of ones, times the powers
            0 to p-1 of the adjacency matrix.
        hidden: pairs of rows `[B, n, d]` and `M`, `[B, d, d]`.
    """

    basis: Tensor
    hidden: tuple[tuple[Tensor, Tensor], ...] = ()

    def times(self, matrix: Tensor) -> _Rows:
        """The rows times a matrix `[B, d, d']`."""
        return _Rows(torch.bmm(self.basis, matrix), tuple((rows, torch.bmm(m, matrix)) for rows, m in self.hidden))

    def __add__(self, other: _Rows) -> _Rows:
        return _Rows(self.basis + other.basis, self.hidden + other.hidden)


class StackedEmbedder:
    """Embeds the graphs of episodes, each with weights of its own.

    Args:
        graphs: the graphs; with narrow features.
        settings: of the embedder; see `can_be_stacked`.
    """

    def __init__(self, graphs: EpisodeGraphs, settings: EmbedderSettings) -> None:
        self.graphs, self.settings = graphs, settings
        # After a nonlinear MLP only the ones, once times the adjacency matrix, are left of the basis.
        self.powers = settings.num_convs + 1 if settings.gin_mlp_layers == 1 else 2
        x = graphs.features.table
        power = torch.cat([x, x.new_ones(*x.shape[:2], 1)], 2).flatten(0, 1)
        columns = [power]
        for _ in range(self.powers - 1):
            power = graphs.adjacency.neighbour_sum(power)
            columns.append(power)
        self.basis = torch.cat(columns, 1).view(*x.shape[:2], -1)  # [B, n, p·(F+1)]

    def __call__(self, weights: Weights) -> Tensor:
        """Weights by their names in `Embedder`, `[B, …]`, to embeddings `[B, M, d]`."""
        episodes = len(self.basis)
        width = self.graphs.features.table.shape[-1]
        parts = torch.split(
            weights["jump.linear.weight"].mT, [width] + [self.settings.width] * self.settings.num_convs, 1
        )
        # The input is its own first F columns of the basis.
        columns = self.basis.shape[2]
        h = _Rows(F.pad(torch.eye(width).to(parts[0]), (0, 0, 0, columns - width)).expand(episodes, -1, -1))
        total = h.times(parts[0]) + self._constant(weights["jump.linear.bias"])
        for index, part in enumerate(parts[1:]):
            h = self._convolve(h, weights, f"convs.{index}.")
            total = total + h.times(part)
        # LayerNorm takes the mean over features off; that of a product is taken off the last matrix instead.
        centred = _Rows(
            total.basis - total.basis.mean(-1, keepdim=True),
            tuple((rows, m - m.mean(-1, keepdim=True)) for rows, m in total.hidden),
        )
        scale, bias = weights["jump.norm.weight"].unsqueeze(1), weights["jump.norm.bias"].unsqueeze(1)
        if centred.hidden:
            rows = self._carry_out(centred)
            root = ((rows * rows).mean(-1, keepdim=True) + EPS).rsqrt()
            rows = rows * root * scale + bias
        else:
            # The variance of `u · C` over features is u C Cᵀ uᵀ / d: nothing of width d has to be written for it.
            matrix = centred.basis
            square = torch.bmm(matrix, matrix.mT) / matrix.shape[2]
            variance = (torch.bmm(self.basis, square) * self.basis).sum(-1, keepdim=True)
            root = (variance.clamp(min=0) + EPS).rsqrt()  # rounding may leave a zero just below zero
            rows = torch.baddbmm(bias, self.basis * root, matrix * scale)
        nodes, rows = self.graphs.nodes, rows.relu()
        out, shift = weights["out.weight"].mT, weights["out.bias"].unsqueeze(1)
        if self.settings.pooling == "mean":
            return torch.baddbmm(shift, nodes.mean(rows)[:, :-1], out)
        return torch.bmm(nodes.sum(rows)[:, :-1], out) + nodes.counts.unsqueeze(2).to(rows.dtype) * shift

    def _convolve(self, h: _Rows, weights: Weights, prefix: str) -> _Rows:
        """`MLP((A + (1 + ε) I) h)`."""
        own = 1 + weights[f"{prefix}eps"].view(-1, 1, 1) if f"{prefix}eps" in weights else None
        first = h.times(weights[f"{prefix}first.weight"].mT)
        # A times a column of the basis is the same column of the next power.
        shift = self.basis.shape[2] // self.powers
        moved = F.pad(first.basis[:, :-shift], (0, 0, shift, 0))
        kept = first.basis if own is None else first.basis * own
        linear = _Rows(moved + kept) + self._constant(weights[f"{prefix}first.bias"])
        if self.settings.gin_mlp_layers == 1:
            return linear
        rows = self._carry_out(linear)
        if first.hidden:
            ((hidden, matrix),) = first.hidden
            product = torch.bmm(hidden, matrix)
            sums = self.graphs.adjacency.neighbour_sum(product.flatten(0, 1)).view_as(product)
            rows = rows + sums + (product if own is None else product * own)
        for layer in range(self.settings.gin_mlp_layers - 1):
            if layer:
                bias, matrix = (weights[f"{prefix}others.{layer - 1}.{kind}"] for kind in ("bias", "weight"))
                rows = torch.baddbmm(bias.unsqueeze(1), rows, matrix.mT)
            rows = self._normalise(rows, weights, f"{prefix}norms.{layer}.").relu()
        last = f"{prefix}others.{self.settings.gin_mlp_layers - 2}."
        return _Rows(self._constant(weights[f"{last}bias"]).basis, ((rows, weights[f"{last}weight"].mT),))

    def _constant(self, row: Tensor) -> _Rows:
        """The same row `[B, d]` at every node: the column of ones times that row."""
        columns = self.basis.shape[2]
        before = columns // self.powers - 1
        return _Rows(F.pad(row.unsqueeze(1), (0, 0, before, columns - before - 1)))

    def _carry_out(self, rows: _Rows) -> Tensor:
        """The rows themselves, `[B, n, d]`."""
        result = torch.bmm(self.basis, rows.basis)
        for hidden, matrix in rows.hidden:
            result = torch.baddbmm(result, hidden, matrix)
        return result

    def _normalise(self, rows: Tensor, weights: Weights, prefix: str) -> Tensor:
        """GraphNorm, with a weight per episode."""
        if self.settings.norm == "none":
            return rows
        weight, bias, mean_scale = (
            weights[f"{prefix}{name}"].unsqueeze(1) for name in ("weight", "bias", "mean_scale")
        )
        nodes = self.graphs.nodes
        return graph_norm(rows, weight, bias, mean_scale, nodes.mean, nodes.spread, EPS)
