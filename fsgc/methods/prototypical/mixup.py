"""Latent mixup: mixtures of two embeddings should be classified like the mixture of their classifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Source = Literal["support", "query"]
Mask = Literal["bernoulli", "blocks"]
Ratio = Literal["mask", "uniform"]
MixupLoss = Literal["squared", "cross_entropy"]
_LEAST_BLOCKS = 10


class LatentMixup:
    """The penalty of section 3, "MixUp Embedding Augmentation", all pairs of classes of all episodes at once.

    For a pair of classes: `s̃ = σ⊙s1 + (1−σ)⊙s2`, `ρ̃ = λρ1 + (1−λ)ρ2`, penalty `‖ρ(s̃) − ρ̃‖²`; summed over the pairs,
    averaged over the episodes. The settings are explained in `PrototypicalSettings`.
    """

    def __init__(
        self, source: Source = "support", mask: Mask = "bernoulli", ratio: Ratio = "mask", loss: MixupLoss = "squared"
    ) -> None:
        self.source, self.mask, self.ratio, self.loss = source, mask, ratio, loss

    def penalty(self, z: Tensor, shots: int, similarity: Callable[[Tensor], Tensor]) -> Tensor:
        """The penalty of embeddings `z` `[B, N, K+Q, d]`; `similarity` maps `[B, M, d]` to scores `[B, M, N]`."""
        first, second = self._pairs(z, shots)
        alpha = torch.rand(first.shape[:2], device=z.device).unsqueeze(-1)  # [B, P, 1]
        mask = self._masks(first, alpha)
        share = mask.mean(-1, keepdim=True) if self.ratio == "mask" else alpha
        return self.penalty_of(first, second, mask, share, similarity)

    def penalty_of(
        self, first: Tensor, second: Tensor, mask: Tensor, share: Tensor, similarity: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """The same for given pairs and masks `[B, P, d]` and ratios λ `[B, P, 1]`."""
        mixed = torch.where(mask > 0, first, second)
        rho_mixed, rho_first, rho_second = similarity(torch.cat([mixed, first, second], 1)).softmax(-1).chunk(3, 1)
        target = share * rho_first + (1 - share) * rho_second
        if self.loss == "squared":
            return (rho_mixed - target).square().sum((1, 2)).mean()
        # The authors' code hands probabilities to a cross-entropy that takes logits.
        return -(target * rho_mixed.log_softmax(-1)).sum((1, 2)).mean()

    def _pairs(self, z: Tensor, shots: int) -> tuple[Tensor, Tensor]:
        """One embedding of each class of each pair, both `[B, P, d]` with `P = N(N−1)/2`."""
        episodes, way = z.shape[:2]
        one, other = torch.triu_indices(way, way, offset=1, device=z.device)
        if self.source == "query":
            return z[:, one, shots], z[:, other, shots]
        row = torch.arange(episodes, device=z.device).unsqueeze(1)
        choice = torch.randint(shots, (2, episodes, len(one)), device=z.device)
        return z[row, one, choice[0]], z[row, other, choice[1]]

    def _masks(self, like: Tensor, alpha: Tensor) -> Tensor:
        """Random masks σ `[B, P, d]`: a fair coin per feature, or blocks of features as the authors draw them."""
        if self.mask == "bernoulli":
            return torch.randint(2, like.shape, device=like.device).to(like.dtype)
        width = like.shape[-1]
        blocks = torch.randint(min(_LEAST_BLOCKS, width - 1), width, alpha.shape, device=like.device)
        size = width // blocks
        feature = torch.arange(width, device=like.device)
        # int(α·blocks) blocks are drawn with replacement; the draws beyond that number fall into a spare slot.
        draws = (torch.rand(like.shape, device=like.device) * blocks).long()
        draws = torch.where(feature < (alpha * blocks).long(), draws, width)
        chosen = torch.zeros(*like.shape[:2], width + 1, device=like.device).scatter(-1, draws, 1.0)
        chosen[..., width] = 0
        return chosen.gather(-1, torch.where(feature < size * blocks, feature // size, width)).to(like.dtype)
