"""The softmax of graph attention over the few links of a target, forward and backward, for many steps on fixed links.

A target of the super-graph has a handful of links, `k` at most, itself included. Scores, softmax and dropout are those
of the links alone, `[B, k, m·H]`; only products with features want them as a matrix, whose other entries stay zero.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.super_graph import Links


class Layout(NamedTuple):
    """A matrix, and where in it, row after row, the entry of a target, a source and a head lies.

    Attributes:
        shape: rows and columns.
        strides: of target, source and head; the entry is at the sum of each times its stride.
    """

    shape: tuple[int, int]
    strides: tuple[int, int, int]


class LinkSoftmax:
    """Attention along links with `H` heads: `forward`, then `backward`, any number of times.

    Args:
        links: of the `m` targets, which are the first `m` sources.
        heads: `H`.
        slope: of the leaky ReLU.
        scores: layout of the scores, those of graphs as sources in its upper half and as targets in its lower half;
            strides are those of a half.
        attention: layout of the matrix of attention.
        like: of the type and on the device that results should be.

    Attributes:
        attention: `[B, rows, columns]`, after dropout; zero where there is no link.
        grad_attention: the gradient at `attention`, for the caller to write; where there is no link it does not count.
        grad_scores: the gradient at the scores.
    """

    def __init__(self, links: Links, heads: int, slope: float, scores: Layout, attention: Layout, like: Tensor) -> None:
        count, targets, _ = links.source.shape
        self._slope = slope
        source = links.source.mT.unsqueeze(3)  # [B, k, m, 1]
        target = torch.arange(targets, device=like.device).view(1, 1, -1, 1).expand_as(source)
        head = torch.arange(heads, device=like.device)
        taken = links.taken.mT.unsqueeze(3).expand(*source.shape[:3], heads)
        _, step, head_step = scores.strides
        self._ends = torch.stack([one * step + head * head_step for one in (source, target)], 1).flatten(2)
        to_target, to_source, to_head = attention.strides
        place = target * to_target + source * to_source + head * to_head
        # Where there is no link, a last entry that is no part of the matrix is written and read.
        size = attention.shape[0] * attention.shape[1]
        self._place = torch.where(taken, place, size).flatten(1)  # [B, k·m·H]
        self._bias = like.new_zeros(taken.shape).masked_fill_(~taken, -torch.inf).flatten(2)  # [B, k, m·H]
        self._entries, self._grad_entries = (like.new_zeros(count, size + 1) for _ in range(2))
        self.attention, self.grad_attention = (
            entries[:, :size].view(count, *attention.shape) for entries in (self._entries, self._grad_entries)
        )
        self.grad_scores = like.new_zeros(count, *scores.shape)
        self._grad_halves = self.grad_scores.view(count, 2, -1)

    def forward(self, scores: Tensor, keep: Tensor) -> None:
        """Scores as in the layout and a dropout mask `[k, m·H]`, already scaled, to `attention`."""
        ends = scores.view(self._grad_halves.shape).gather(2, self._ends).view(-1, 2, *self._bias.shape[1:])
        pairs = torch.add(ends[:, 0], ends[:, 1]).add_(self._bias)
        self._pairs, self._keep = F.leaky_relu_(pairs, self._slope), keep
        self._p = self._pairs.softmax(1)
        self._entries.scatter_(1, self._place, (self._p * keep).flatten(1))

    def backward(self) -> None:
        """`grad_attention` to `grad_scores`."""
        at_p = self._grad_entries.gather(1, self._place).view_as(self._p).mul_(self._keep)
        at_links = torch.ops.aten._softmax_backward_data(at_p, self._p, 1, at_p.dtype)
        at_pairs = torch.ops.aten.leaky_relu_backward(at_links, self._pairs, self._slope, True)
        both = at_pairs.flatten(1).unsqueeze(1).expand_as(self._ends)
        self._grad_halves.zero_().scatter_add_(2, self._ends, both)
