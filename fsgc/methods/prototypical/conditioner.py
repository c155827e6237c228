"""Task-adaptive embedding (TAE): from an episode to a scale and a shift per layer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ResidualMLP(nn.Module):
    """`relu(W x + block(x))` with a block of three linear layers of hidden width `d/2`."""

    def __init__(self, in_width: int, out_width: int) -> None:
        super().__init__()
        hidden = max(1, in_width // 2)
        self.block = nn.Sequential(
            nn.Linear(in_width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, out_width),
        )
        self.shortcut = nn.Linear(in_width, out_width)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, d]` to `[B, out]`."""
        return F.relu(self.shortcut(x) + self.block(x))


class EpisodeConditioner(nn.Module):
    """The task embedding network of TADAM (Oreshkin et al., 2018) as the paper uses it.

    `β = β0 · g(p_e)` and `γ = γ0 · h(p_e) + 1` for every layer, with one scalar `β0` and `γ0` a layer.

    Args:
        width: d.
        layers: L+1, one per convolution and one for the final node embedding.
        gamma0: start of all γ0.
        beta0: start of all β0.
    """

    def __init__(self, width: int, layers: int, gamma0: float, beta0: float) -> None:
        super().__init__()
        self.layers = layers
        self.gamma0 = nn.Parameter(torch.full((layers,), float(gamma0)))
        self.beta0 = nn.Parameter(torch.full((layers,), float(beta0)))
        self.scale = ResidualMLP(width, layers * width)
        self.shift = ResidualMLP(width, layers * width)

    def forward(self, episodes: Tensor) -> tuple[Tensor, Tensor]:
        """Episode representations `[B, d]` to scales γ and shifts β, both `[B, L+1, d]`."""
        gamma = self.gamma0[:, None] * self.scale(episodes).unflatten(1, (self.layers, -1)) + 1
        beta = self.beta0[:, None] * self.shift(episodes).unflatten(1, (self.layers, -1))
        return gamma, beta

    def penalty(self) -> Tensor:
        """`‖γ0‖₂ + ‖β0‖₂`: condition only if it helps."""
        return torch.linalg.vector_norm(self.gamma0) + torch.linalg.vector_norm(self.beta0)
