"""Distances between embeddings and prototypes."""

from __future__ import annotations

import torch
from torch import Tensor


def squared_distances(x: Tensor, prototypes: Tensor) -> Tensor:
    """‖x − p‖² of `[B, M, d]` and `[B, N, d]`: `[B, M, N]`, by one product per episode."""
    products = torch.baddbmm(prototypes.square().sum(-1).unsqueeze(1), x, prototypes.mT, alpha=-2)
    return products + x.square().sum(-1, keepdim=True)
