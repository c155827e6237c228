"""GSM's super-graph: graphs as nodes, linked to their nearest neighbours, and attention over these links.

All for `B` episodes side by side. Links are dense masks `[B, M, M]`, true where a row attends to a column: an episode
has some dozens of graphs, so products with masked matrices are small and need neither gathering nor scattering.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.nn.dropout import keep_mask


def distances_within(z: Tensor, group: Tensor) -> Tensor:
    """Euclidean distances `[g, g]` of rows `[g, d]`; infinite between groups `[g]` and of a row to itself."""
    distance = torch.cdist(z, z, compute_mode="donot_use_mm_for_euclid_dist")
    apart = group.unsqueeze(1) != group
    return distance.masked_fill(apart, torch.inf).fill_diagonal_(torch.inf)


class Links(NamedTuple):
    """What graphs of `B` episodes attend to: `k` places each, the first for the graph itself; some may be free.

    Attributes:
        source: int64 `[B, m, k]`, the graphs attended to; of a free place, any graph.
        taken: bool `[B, m, k]`, whether there is a link.
    """

    source: Tensor
    taken: Tensor


def nearest(distance: Tensor, neighbours: int) -> Links:
    """Link every graph to itself and to the `neighbours` - 1 nearest others at a finite distance.

    Args:
        distance: `[B, M, M]`, as `distances_within` gives them.
        neighbours: how many, counting the graph itself; more than `M` are `M`.
    """
    count, size, _ = distance.shape
    others, index = distance.topk(min(neighbours, size) - 1, largest=False)
    itself = torch.arange(size, device=distance.device).view(1, -1, 1).expand(count, -1, -1)
    # Where there are too few others, what is found is infinitely far and may be the graph itself.
    return Links(torch.cat([itself, index], 2), torch.cat([torch.ones_like(itself).bool(), others.isfinite()], 2))


def link_matrix(links: Links) -> Tensor:
    """Links of all graphs as bool `[B, M, M]`, true where a row attends to a column."""
    count, size, _ = links.source.shape
    others = torch.zeros(count, size, size, dtype=torch.bool, device=links.source.device)
    others.scatter_(2, links.source[:, :, 1:], links.taken[:, :, 1:])
    return others | torch.eye(size, dtype=torch.bool, device=others.device)


def link_bias(links: Tensor) -> Tensor:
    """What is added to scores before a softmax over links: 0 at a link, minus infinity elsewhere."""
    return torch.zeros(links.shape, device=links.device).masked_fill(~links, -torch.inf)


class AttentionWeights(NamedTuple):
    """The weights of a layer of graph attention with `H` heads, for `B` episodes.

    Attributes:
        weight: `[B, H·d, in]`.
        attention: `[B, H, 2, d]`, the vectors that score a graph as source and as target.
        bias: `[B, d]`.
    """

    weight: Tensor
    attention: Tensor
    bias: Tensor


def attend(weights: AttentionWeights, x: Tensor, bias: Tensor, slope: float, keep: Tensor | None = None) -> Tensor:
    """Graph attention (Veličković et al. 2018), the mean of `H` heads: `[B, n, in]` to `[B, m, d]`.

    Target `v` (the first `m` graphs) gets `Σ p_vu W x_u + b`, `p_v·` the softmax over its links of
    `LeakyReLU(a_source · W x_u + a_target · W x_v)`.

    Args:
        weights: of the layer.
        x: features.
        bias: `[B, m, n]`, the links as `link_bias` has them; every target attends at least to itself.
        slope: of the leaky ReLU.
        keep: a dropout mask for `p`, already scaled, that can be broadcast to `[B, m, n, H]`.
    """
    count, size, _ = x.shape
    _, heads, _, width = weights.attention.shape
    # The heads are further rows: what follows is one product for all of them, not one for each.
    h = torch.bmm(x, weights.weight.mT).view(count, size * heads, width)
    scores = torch.bmm(h, weights.attention.flatten(1, 2).mT).view(count, size, heads, heads, 2)
    as_source, as_target = scores.diagonal(0, 2, 3).unbind(2)  # of each head its own vectors: [B, n, H] each
    pairs = as_target[:, : bias.shape[1], None] + as_source.unsqueeze(1)
    p = (F.leaky_relu(pairs, slope) + bias.unsqueeze(3)).softmax(2)
    p = p if keep is None else p * keep
    return torch.baddbmm(weights.bias.unsqueeze(1), p.flatten(2), h, alpha=1 / heads)


class SuperAttention(nn.Module):
    """A layer of `attend` with weights that are trained, initialised like PyG's `GATConv`.

    Args:
        in_width: width of the input.
        width: width of the output.
        heads: attention heads, averaged.
        slope: of the leaky ReLU.
        dropout: share of the attention dropped in training.
    """

    def __init__(self, in_width: int, width: int, heads: int, slope: float, dropout: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads * width, in_width)))
        bound = (6 / (heads + width)) ** 0.5
        self.attention = nn.Parameter(torch.empty(heads, 2, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(width))
        self.slope = slope
        self.dropout = dropout

    def stacked(self, episodes: int) -> AttentionWeights:
        """The weights, once for each episode, without memory of their own."""
        return AttentionWeights(
            *(weight.expand(episodes, *weight.shape) for weight in (self.weight, self.attention, self.bias))
        )

    def forward(self, x: Tensor, links: Tensor) -> Tensor:
        """One super-graph: `[M, in]` and links `[M, M]` to `[M, d]`."""
        keep = None
        if self.training and self.dropout:
            keep = keep_mask(x.new_empty(1, *links.shape, len(self.attention)), self.dropout)
        return attend(self.stacked(1), x.unsqueeze(0), link_bias(links).unsqueeze(0), self.slope, keep).squeeze(0)
