"""SMF-GIN's loss from read-outs, with its gradient, in compiled code.

A step is one episode, a few dozen vectors: as operations of PyTorch, dropout, fusion, prototypes and cross-entropy take
as long as all matrix products of the GIN, and most of that is spent between them. The equations are in
`episode_loss_kernel.cpp`.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsgc.native.library import address, library

LANES = 16
_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p


class _Call(ctypes.Structure):
    """`LossCall`, field by field."""

    _fields_ = (
        *((name, _INTEGER) for name in ("graphs", "layers", "width", "episodes", "way", "per_class", "shots")),
        ("local_weight", ctypes.c_double),
        *((name, _POINTER) for name in ("found", "keep", "fusion", "place", "result", "grad_found", "grad_fusion")),
    )


class EpisodesOfRows(NamedTuple):
    """What the rows of read-outs are in the episodes of a batch.

    Attributes:
        place: int64 `[B, N, K+Q]`, which of the `g` graphs each is.
        shots: K.
        layers: `L`, whose read-outs are side by side in a row.
        local_weight: of the mean of the two halves, whose rows `[g, 2]` follow those of the graphs; None without them.
        keep: factors of dropout, as many as read-outs; None without it.
    """

    place: Tensor
    shots: int
    layers: int
    local_weight: float | None
    keep: Tensor | None


def is_compiled_for(found: Tensor, layers: int) -> bool:
    """Whether the compiled functions take read-outs `[r, L·d]`."""
    return (
        found.is_cpu
        and found.dtype == torch.float32
        and found.shape[1] % (layers * LANES) == 0
        and not torch.is_autocast_enabled("cpu")
        and library(__file__) is not None
    )


def episode_loss(found: Tensor, fusion: Tensor | None, episodes: EpisodesOfRows) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy over all queries, and the share of them that is classified right.

    Args:
        found: read-outs, `[g, L·d]`, and those of halves.
        fusion: a factor of each layer, `[L]`, by which they are summed; None where they stay side by side.
        episodes: what the rows are.
    """
    return _Loss.apply(found.contiguous(), fusion, episodes)  # type: ignore[no-untyped-call]


def distinct_graphs(graphs: Tensor) -> tuple[Tensor, Tensor]:
    """`torch.unique(graphs, return_inverse=True)`, which takes far longer than to sort the graphs of an episode."""
    compiled = library(__file__)
    if compiled is None or not graphs.is_cpu:
        return torch.unique(graphs, return_inverse=True)
    graphs = graphs.contiguous()
    distinct, place = graphs.new_empty(graphs.numel()), torch.empty_like(graphs)
    found = compiled.distinct_graphs(_INTEGER(graphs.numel()), *map(address, (graphs, distinct, place)))
    return distinct[:found], place


class _Loss(torch.autograd.Function):
    """`episode_loss`; the gradients are found with the loss and wait for the factor that comes back."""

    @staticmethod
    def forward(ctx: Any, found: Tensor, fusion: Tensor | None, episodes: EpisodesOfRows) -> tuple[Tensor, Tensor]:
        place, shots, layers, local_weight, keep = episodes
        result, of_found = found.new_empty(2), torch.empty_like(found)
        of_fusion = None if fusion is None else torch.empty_like(fusion)
        arrays = (found, keep, fusion, place, result, of_found, of_fusion)
        call = _Call(
            len(found) if local_weight is None else len(found) // 3,
            layers,
            found.shape[1] // layers,
            *place.shape,
            shots,
            -1.0 if local_weight is None else local_weight,
            *map(address, arrays),
        )
        compiled = library(__file__)
        assert compiled is not None
        compiled.smf_gin_loss(ctypes.byref(call))
        ctx.grads = of_found, of_fusion
        loss, right = result.unbind()
        ctx.mark_non_differentiable(right)
        return loss, right

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, factor: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *(grad if grad is None or factor == 1 else grad * factor for grad in ctx.grads), None
