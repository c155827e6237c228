"""Dropout with a cheap mask.

PyTorch draws Bernoulli masks on one CPU thread, a random number per element, which took half of a training
step. Here one random 64-bit word serves four or eight elements.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def keep_mask(like: Tensor, rate: float) -> Tensor:
    """A mask for `like`, on its device: 0 with probability `rate`, else `1 / (1 - rate)`.

    The rate is met to 1/65536, and exactly where it is a multiple of 1/256; the scale is that of the rate
    drawn, so the mean is exact. Follows `torch.manual_seed`.
    """
    narrow = (rate * 256).is_integer()
    kind, levels = (torch.int8, 256) if narrow else (torch.int16, 65536)
    dropped = min(max(round(rate * levels), 1), levels - 1)
    words = -(-like.numel() * (1 if narrow else 2) // 8)
    bits = torch.empty(words, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    draws = bits.view(kind)[: like.numel()].view(like.shape)
    # 1 where draw ≥ dropped - levels/2, else 0: float arithmetic, since PyTorch's comparisons to bool are
    # slow.
    mask = draws.to(torch.float32).sub_(dropped - levels // 2 - 1).clamp_(0, 1)
    return mask.mul_(levels / (levels - dropped)).to(like.dtype)


class Dropout(nn.Module):
    """Sets a share `rate` of the elements to zero in training and scales the rest; nothing in evaluation."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Apply to a tensor of any shape."""
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)  # one fused kernel, drawn in parallel
        return x * keep_mask(x, self.rate)

    def extra_repr(self) -> str:
        """The rate, for `print(module)`."""
        return f"rate={self.rate}"
