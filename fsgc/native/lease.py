"""Memory of compiled passes that is used again: fresh memory would be faulted in page by page."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor


class Lease:
    """An array of floats that goes back, when its holder is gone, for the next one to use.

    Args:
        size: how many floats; the array may have more.
    """

    _MOST_SPARE = 2  # a step of TAE makes two passes
    _spare: ClassVar[list[Tensor]] = []

    def __init__(self, size: int) -> None:
        fitting = [array for array in self._spare if array.numel() >= size]
        self.array = min(fitting, key=Tensor.numel) if fitting else torch.empty(size)
        self._spare[:] = [array for array in self._spare if array is not self.array]

    def __del__(self) -> None:
        kept = sorted([*self._spare, self.array], key=Tensor.numel)
        self._spare[:] = kept[-self._MOST_SPARE :]
