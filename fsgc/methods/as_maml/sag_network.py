"""The network of AS-MAML: GraphSAGE with self-attention pooling; its weights, as they are learned and stored.

Hamilton et al. 2017 (SAGE), Lee et al. 2019 (SAGPooling), Ma et al. 2020 (AS-MAML). What it computes is in
`network_pass`.
"""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from fsgc.methods.as_maml.stacked_weights import StackedWeights


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

    def stacked(self, episodes: int) -> StackedWeights:
        """The weights, once for each episode, outside of autograd."""
        return StackedWeights.of(dict(self.named_parameters()), self.levels, episodes)
