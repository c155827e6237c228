"""The mean of each class, whose rows may be any number."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def class_means(z: Tensor, labels: Tensor) -> Tensor:
    """The mean of the rows of each class, `[S, d]` and `[S]` (0 to C−1, each at least once) to `[C, d]`."""
    member = F.one_hot(labels).to(z.dtype).T
    return member @ z / member.sum(1, keepdim=True)
