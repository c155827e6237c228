"""The network of AS-MAML: GraphSAGE with self-attention pooling, for episodes that have weights of their own.

Hamilton et al. 2017 (SAGE), Lee et al. 2019 (SAGPooling), Ma et al. 2020 (AS-MAML). PyG's `SAGEConv` and
`SAGPooling` are its oracle.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.methods.as_maml.pooled_graphs import (
    PooledGraphs,
    keep_best,
    max_of_graphs,
    mean_of_graphs,
    neighbour_mean,
)
from fsgc.nn.adjacency import Adjacency
from fsgc.nn.padded import PaddedNodes

Weights = dict[str, Tensor]
_SLOPE = 0.1


class SagOutput(NamedTuple):
    """What the network makes of the graphs of `B` episodes.

    Attributes:
        logits: `[B, M, N]`.
        information: `[B]`, the average node information of the last level, without a gradient.
    """

    logits: Tensor
    information: Tensor


class SagNetwork(nn.Module):
    """SAGE convolution and pooling `levels` times; the read-outs of all levels added up and classified.

    Read-out of a level: max ‖ mean over its nodes, through a leaky ReLU. Classifier: `2d → d → d/2 → N`.

    Args:
        num_features: `F`.
        width: `d`.
        levels: convolutions, each followed by a pooling.
        classes: `N`.
        root_weight: whether a node has a matrix of its own beside that of its neighbours' mean (SAGE), or one matrix
            serves the mean over its neighbours and itself (the released code of AS-MAML).
    """

    def __init__(self, num_features: int, width: int, levels: int, classes: int, root_weight: bool = True) -> None:
        super().__init__()
        in_widths = [num_features] + [width] * (levels - 1)
        self.levels = levels
        self.neighbour = nn.ModuleList(nn.Linear(wide, width) for wide in in_widths)
        own = in_widths if root_weight else []
        self.root = nn.ModuleList(nn.Linear(wide, width, bias=False) for wide in own)
        self.score_neighbour = nn.ModuleList(nn.Linear(width, 1) for _ in in_widths)
        self.score_root = nn.ModuleList(nn.Linear(width, 1, bias=False) for _ in in_widths)
        widths = (2 * width, width, width // 2, classes)
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))

    def stacked(self, episodes: int) -> Weights:
        """The weights by name, once for each episode, without memory of their own."""
        return {name: weight.expand(episodes, *weight.shape) for name, weight in self.named_parameters()}

    def run(self, weights: Weights, graphs: PooledGraphs) -> SagOutput:
        """Logits of all graphs under stacked weights `[B, …]`."""
        x, means, adjacency = graphs.x, graphs.neighbour_mean, graphs.adjacency
        total: Tensor | None = None
        for level in range(self.levels):
            if level:
                means = neighbour_mean(x.flatten(0, 1), adjacency).view(x.shape)
            x = F.leaky_relu(self._convolve(weights, level, x, means, adjacency), _SLOPE)
            score = self._score(weights, level, x, adjacency)
            before, after = graphs.levels[level : level + 2]
            x, adjacency = keep_best(x, score, adjacency, before, after)
            read_out = torch.cat([max_of_graphs(x, after), mean_of_graphs(x, after)], 2)
            read_out = F.leaky_relu(read_out, _SLOPE)
            total = read_out if total is None else total + read_out
        assert total is not None
        information = node_information(x.detach(), adjacency, graphs.levels[-1])
        for layer in range(2):
            total = F.leaky_relu(_linear(weights, f"head.{layer}", total), _SLOPE)
        return SagOutput(_linear(weights, "head.2", total), information)

    def _convolve(self, weights: Weights, level: int, x: Tensor, means: Tensor, adjacency: Adjacency) -> Tensor:
        """One convolution of rows `x` whose neighbours' means are `means`, both `[B, n, in]`: `[B, n, d]`."""
        if len(self.root):
            return _linear(weights, f"neighbour.{level}", means) + _linear(weights, f"root.{level}", x)
        degree = adjacency.degree.to(x.dtype).view(*x.shape[:2], 1)
        return _linear(weights, f"neighbour.{level}", (degree * means + x) / (degree + 1))

    @staticmethod
    def _score(weights: Weights, level: int, x: Tensor, adjacency: Adjacency) -> Tensor:
        """`W₁ Σ x_u + b + W₂ x_v`, `[B, n]`; the sum over neighbours `u` is taken after the product: of one column."""
        both = torch.cat([weights[f"score_neighbour.{level}.weight"], weights[f"score_root.{level}.weight"]], 1)
        of_neighbours, own = torch.bmm(x, both.mT).unbind(2)
        sums = adjacency.neighbour_sum(of_neighbours.reshape(-1, 1)).view(own.shape)
        return sums + own + weights[f"score_neighbour.{level}.bias"]


def node_information(x: Tensor, adjacency: Adjacency, nodes: PaddedNodes) -> Tensor:
    """Average node information (ANI; Ma et al. 2020) of each episode, `[B]`.

    The mean over all nodes of `‖x_v - Σ x_u / √(d_u d_v)‖₁`, the sum over the neighbours `u` of `v`.
    """
    rows = x.flatten(0, 1)
    degree = adjacency.degree.to(x.dtype)
    scale = torch.where(degree > 0, degree.clamp(min=1).rsqrt(), 0.0).unsqueeze(1)
    information = (rows - scale * adjacency.neighbour_sum(scale * rows)).abs().sum(1)
    is_node = torch.zeros_like(degree).index_fill(0, nodes.rows, 1.0)
    return (information * is_node).view(len(x), -1).sum(1) / is_node.view(len(x), -1).sum(1)


def _linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """A linear layer of each episode: `[B, n, in]` to `[B, n, out]`."""
    weight, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
    return torch.bmm(x, weight.mT) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight.mT)
