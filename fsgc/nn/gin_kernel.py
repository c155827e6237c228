"""The node rows of a GIN embedder, forward and back, in compiled code.

PyTorch writes every intermediate array of a batch to memory and reads it again; here a block of graphs goes through all
layers while its rows are in the cache. The equations are in `gin_kernel.cpp`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fsgc.native import parts
from fsgc.native.lease import Lease
from fsgc.native.library import address, functions, library
from fsgc.nn.graph_copies import GraphCopies

_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p
_GIVEN = ("weights", "entry", "jump", "gamma", "beta", "spread")


class _Call(ctypes.Structure):
    """`GinCall`, field by field."""

    _fields_ = (
        *((name, _INTEGER) for name in ("width", "convs", "mlp_layers", "relu", "columns", "begin", "end")),
        *((name, _POINTER) for name in (*GraphCopies.FIELDS, "entry", "jump", "gamma", "beta", "weights", "spread")),
        *((name, _POINTER) for name in ("saved", "sums", "variances")),
        ("seed", ctypes.c_uint64),
        ("levels", _INTEGER),
        ("dropped", _INTEGER),
        ("scale", ctypes.c_double),
        *((f"grad_{name}", _POINTER) for name in ("sums", "variances", "entry", "jump")),
        *((f"grad_{name}", _POINTER) for name in ("gamma", "beta", "weights", "spread")),
    )


@dataclass(frozen=True, eq=False)
class GinRows:
    """What is computed, beside weights and rows.

    Attributes:
        width: `d`, a multiple of 16.
        convs: `L`.
        mlp_layers: of a convolution, 1 or 2.
        relu: whether a ReLU follows each convolution.
        dropout: the share that is dropped.
        seed: of dropout.
        copies: the graphs; a graph may occur more than once in an episode.
    """

    width: int
    convs: int
    mlp_layers: int
    relu: bool
    dropout: float
    seed: int
    copies: GraphCopies

    @property
    def kept_rows(self) -> int:
        """Rows a node that the way back needs."""
        return self.mlp_layers * self.convs

    def __call__(
        self,
        weights: Tensor,
        entry: Tensor,
        jump: Tensor,
        gamma: Tensor | None = None,
        beta: Tensor | None = None,
        spread: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Sums over the nodes of each of `c` copies, `[c, d]`, and the wanted variances, `[c, k]`.

        Args:
            weights: all of them in one array, as `gin_kernel.cpp` lays them out, matrices as `[in, out]`.
            entry: the first linear layer's result, `[m, d]`, of the distinct graphs' nodes.
            jump: what jumping knowledge adds to its sum for the input features, `[m, d]`.
            gamma: scales `[E, L, d]`.
            beta: shifts `[E, L, d]`.
            spread: `[E, d, k]`, the matrix whose results' variances are wanted; None without.
        """
        result: tuple[Tensor, Tensor] = _GinPass.apply(self, weights, entry, jump, gamma, beta, spread)  # type: ignore[no-untyped-call]
        return result

    def run(self, function: str, shared: dict[str, Tensor | None], own: list[dict[str, Tensor | None]] | None) -> None:
        """Call a compiled function for every thread's range of graphs; `own` are the arrays that each has alone."""
        levels = 256 if (self.dropout * 256).is_integer() else 65536
        dropped = min(max(round(self.dropout * levels), 1), levels - 1)
        spread = shared["spread"]
        calls = []
        for index, (begin, end) in enumerate(parts.ranges(self.copies.row_pointer)):
            arrays = self.copies.arrays() | shared | ({} if own is None else own[index])
            call = _Call(
                **{name: getattr(self, name) for name in ("width", "convs", "mlp_layers", "relu", "seed")},
                **{name: address(array) for name, array in arrays.items()},
                columns=0 if spread is None else spread.shape[2],
                begin=begin,
                end=end,
                levels=levels if self.dropout else 0,
                dropped=dropped,
                scale=levels / (levels - dropped),
            )
            calls.append(call)
        parts.run(getattr(functions(__file__), function), calls)


class _GinPass(torch.autograd.Function):
    """`GinRows`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, gin: GinRows, *given: Tensor | None) -> tuple[Tensor, Tensor]:
        arrays = dict(zip(_GIVEN, given, strict=True))
        weights, spread = arrays["weights"], arrays["spread"]
        assert weights is not None
        sums = weights.new_empty(len(gin.copies.place), gin.width)
        variances = weights.new_empty(len(gin.copies.place), 0 if spread is None else spread.shape[2])
        ctx.kept = Lease(gin.copies.rows * gin.kept_rows * gin.width) if any(ctx.needs_input_grad) else None
        saved = None if ctx.kept is None else ctx.kept.array
        gin.run("gin_forward", arrays | {"sums": sums, "variances": variances, "saved": saved}, None)
        ctx.gin = gin
        ctx.save_for_backward(*given)
        return sums, variances

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        given = dict(zip(_GIVEN, ctx.saved_tensors, strict=True))
        found = [
            {f"grad_{name}": None if array is None else torch.zeros_like(array) for name, array in given.items()}
            for _ in parts.ranges(ctx.gin.copies.row_pointer)
        ]
        known = {"saved": ctx.kept.array, "grad_sums": grads[0].contiguous(), "grad_variances": grads[1].contiguous()}
        ctx.gin.run("gin_backward", given | known, found)
        return None, *(parts.sum_of(found, f"grad_{name}") for name in _GIVEN)


def is_compiled() -> bool:
    """Whether this machine has the compiled functions."""
    return library(__file__) is not None
