"""A shrunken linear discriminant per episode, from inner products alone.

With p the mean of a class's supports, R the `n` residuals of all supports from their class means and m the mean of
their squared norms, a query q scores

    −(q − p)ᵀ (I + RᵀR / (τ m))⁻¹ (q − p) = −‖q − p‖² + ‖L⁻¹ R (q − p)‖²,   L Lᵀ = τ m I + R Rᵀ,

by Woodbury's identity. Everything on the right is made of inner products, so that a graph's vector may be as long as it
likes: an episode is a slice of one Gram matrix. τ = ∞ is nearest mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Head:
    """The discriminants of `B` episodes with `n` supports, `M` queries and `N` classes; made by `of`.

    Attributes:
        distance: `[B, M, N]`, ‖q − p‖².
        residuals: `[B, n, n]`, R Rᵀ.
        sides: `[B, n, M+N]`, R q of all queries, then R p of all classes.
        energy: `[B]`, m.
    """

    distance: Tensor
    residuals: Tensor
    sides: Tensor
    energy: Tensor

    @classmethod
    def of(cls, support: Tensor, cross: Tensor, query: Tensor, averages: Tensor) -> Head:
        """From inner products.

        Args:
            support: `[B, n, n]`, between supports.
            cross: `[B, M, n]`, of queries with supports.
            query: `[B, M]`, of queries with themselves.
            averages: `[N, n]`, one over the class's supports where a support is of the class, else 0.
        """
        member = (averages > 0).to(averages.dtype)
        with_means = averages @ support  # p·s, [B, N, n]
        between_means = with_means @ averages.mT  # p·p', [B, N, N]
        query_means = cross @ averages.mT  # q·p, [B, M, N]
        squares = between_means.diagonal(dim1=1, dim2=2).unsqueeze(1)
        distance = query.unsqueeze(2) - 2 * query_means + squares
        mean_side = with_means - between_means @ member  # p·r of every residual r, [B, N, n]
        residuals = support - member.mT @ with_means - (mean_side.mT @ member)
        query_side = cross - query_means @ member
        sides = torch.cat([query_side, mean_side], dim=1).mT
        return cls(distance, residuals, sides, residuals.diagonal(dim1=1, dim2=2).mean(1))

    def scores(self, tau: float) -> Tensor:
        """Scores of all queries for all classes, `[B, M, N]`."""
        if math.isinf(tau):
            return -self.distance
        # Without residuals (one support a class) there is nothing to shrink towards: any positive number will do.
        ridge = torch.where(self.energy > 0, tau * self.energy, torch.ones_like(self.energy))
        matrix = self.residuals + torch.diag_embed(ridge.unsqueeze(1).expand(-1, self.residuals.shape[1]))
        factor = torch.linalg.cholesky(matrix)
        solved = torch.linalg.solve_triangular(factor, self.sides, upper=False)
        queries = self.distance.shape[1]
        of_query, of_mean = solved[:, :, :queries], solved[:, :, queries:]
        explained = (
            of_query.square().sum(1).unsqueeze(2) - 2 * of_query.mT @ of_mean + of_mean.square().sum(1).unsqueeze(1)
        )
        result: Tensor = explained - self.distance
        return result


def episode_head(gram: Tensor, graphs: Tensor, shots: int) -> Head:
    """The discriminants of episodes over graphs whose inner products are known.

    Args:
        gram: `[G, G]`.
        graphs: int64 `[B, N, K+Q]`, rows of `gram`, class-major.
        shots: K.
    """
    episodes, way, _ = graphs.shape
    support, query = graphs[:, :, :shots].reshape(episodes, -1), graphs[:, :, shots:].reshape(episodes, -1)
    places = torch.cat([support, query], dim=1) * len(gram)
    # One flat index is read faster than a pair of them.
    both = torch.take(gram, places.unsqueeze(2) + support.unsqueeze(1))
    return Head.of(
        both[:, : support.shape[1]],
        both[:, support.shape[1] :],
        gram.diagonal()[query],
        _averages(way, shots, gram),
    )


def vector_head(vectors: Tensor, shots: int) -> Head:
    """The discriminants of episodes whose graphs have vectors of their own, `[B, N, K+Q, d]`."""
    way = vectors.shape[1]
    support, query = vectors[:, :, :shots].flatten(1, 2), vectors[:, :, shots:].flatten(1, 2)
    averages = _averages(way, shots, vectors)
    return Head.of(support @ support.mT, query @ support.mT, query.square().sum(2), averages)


def labelled_head(support: Tensor, labels: Tensor, query: Tensor) -> Head:
    """The one discriminant of vectors `[S, d]` with labels 0 to C−1 `[S]` and queries `[M, d]`; classes of any size."""
    member = F.one_hot(labels).to(support.dtype).mT
    averages = member / member.sum(1, keepdim=True)
    return Head.of(
        (support @ support.mT).unsqueeze(0), (query @ support.mT).unsqueeze(0), query.square().sum(1)[None], averages
    )


def _averages(way: int, shots: int, like: Tensor) -> Tensor:
    return torch.eye(way, dtype=like.dtype, device=like.device).repeat_interleave(shots, dim=1) / shots
