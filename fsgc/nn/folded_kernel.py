"""The node rows of a GIN embedder with nothing nonlinear between its convolutions, forward and back, in compiled code.

The last layer of a convolution, FiLM and the first layer of the next are one matrix, that of an episode: a node costs
three products where there were five, and what comes before the first FiLM is computed once a distinct graph. The
equations are in `folded_kernel.cpp`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fsgc.native import parts
from fsgc.native.lease import Lease
from fsgc.native.library import address, functions, library
from fsgc.nn.graph_copies import MOST_CONVS, GraphCopies

_WEIGHTS = ("norms", "own", "vectors", "layer_norm", "spread")
_MATRICES = tuple(f"matrix_{index}" for index in range(2 * MOST_CONVS - 1))
_GIVEN = ("entry", "jump", *_WEIGHTS, *_MATRICES)


class _Call(ctypes.Structure):
    """`FoldedCall`, field by field."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("width", "convs", "columns", "nodes", "begin", "end")),
        *((name, ctypes.c_void_p) for name in (*GraphCopies.FIELDS, *_GIVEN, "shared", "saved")),
        *((name, ctypes.c_void_p) for name in ("sums", "variances", "grad_sums", "grad_variances")),
        *((f"grad_{name}", ctypes.c_void_p) for name in ("shared", "jump", *_WEIGHTS, *_MATRICES)),
    )


@dataclass(frozen=True, eq=False)
class FoldedWeights:
    """Weights of `L` convolutions of width `d`, for `E` episodes.

    Attributes:
        norms: `[L, 3, d]`, weight, bias and scale of the mean of each GraphNorm.
        own: `[L-1]`, `1 + ε` of each convolution but the first.
        matrices: `2 L - 1` of `[E, d, d]`, `[in, out]`: to jumping knowledge and, in turn, to the next convolution.
        vectors: `[E, 2 L - 1, d]`: the shift in jumping knowledge; for each further convolution the shift that its
            sum over neighbours takes along, and its bias.
        layer_norm: `[2, d]`, weight and bias.
        spread: `[E, d, c]`, the matrix whose results' variances are wanted; None without.
    """

    norms: Tensor
    own: Tensor
    matrices: list[Tensor]
    vectors: Tensor
    layer_norm: Tensor
    spread: Tensor | None


def folded_rows(copies: GraphCopies, entry: Tensor, jump: Tensor, weights: FoldedWeights) -> tuple[Tensor, Tensor]:
    """Sums over the nodes of each of `c` copies, `[c, d]`, and the wanted variances, `[c, …]`.

    Args:
        copies: no two of an episode are of the same graph, and those of an episode follow each other.
        entry: the first linear layer's result, `[m, d]`, of the distinct graphs' nodes.
        jump: what jumping knowledge adds to its sum for the input features, `[m, d]`.
        weights: the weights.
    """
    arrays = [getattr(weights, name) for name in _WEIGHTS]
    sums, variances = _FoldedPass.apply(copies, entry, jump, *arrays, *weights.matrices)  # type: ignore[no-untyped-call]
    return sums, variances


class _FoldedPass(torch.autograd.Function):
    """`folded_rows`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, copies: GraphCopies, *given: Tensor | None) -> tuple[Tensor, Tensor]:
        arrays = dict(zip(_GIVEN, given, strict=False))
        entry, norms, spread = arrays["entry"], arrays["norms"], arrays["spread"]
        assert entry is not None
        assert norms is not None
        (nodes, width), convs = entry.shape, len(norms)
        columns = 0 if spread is None else spread.shape[2]
        ctx.sizes = {"width": width, "convs": convs, "columns": columns, "nodes": nodes}
        ctx.copies = copies
        ctx.leases = [Lease(2 * nodes * width)]
        if any(ctx.needs_input_grad):
            ctx.leases.append(Lease(copies.rows * convs * width))
        sums = entry.new_empty(len(copies.place), width)
        variances = entry.new_empty(len(copies.place), columns)
        known = arrays | {"shared": ctx.leases[0].array, "sums": sums, "variances": variances}
        known["saved"] = ctx.leases[1].array if len(ctx.leases) > 1 else None
        _run("folded_share", ctx.sizes, copies, copies.node_pointer, known)
        _run("folded_forward", ctx.sizes, copies, copies.row_pointer, known)
        ctx.save_for_backward(*given)
        return sums, variances

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        given = dict(zip(_GIVEN, ctx.saved_tensors, strict=False))
        copies: GraphCopies = ctx.copies
        known = given | {"shared": ctx.leases[0].array, "saved": ctx.leases[1].array}
        known |= {"grad_sums": grads[0].contiguous(), "grad_variances": grads[1].contiguous()}
        nodes, width = given["entry"].shape
        found: list[dict[str, Tensor | None]] = [
            {f"grad_{name}": _zeros_like(array) for name, array in given.items() if name != "entry"}
            | {"grad_shared": given["entry"].new_zeros(2, nodes, width)}
            for _ in parts.ranges(copies.row_pointer)
        ]
        _run("folded_backward", ctx.sizes, copies, copies.row_pointer, known, found)
        shared = parts.sum_of(found, "grad_shared")
        assert shared is not None
        of_first: list[dict[str, Tensor | None]] = [
            {f"grad_{name}": torch.zeros_like(given[name]) for name in ("norms", "own")}
            for _ in parts.ranges(copies.node_pointer)
        ]
        _run("folded_share_back", ctx.sizes, copies, copies.node_pointer, known | {"grad_shared": shared}, of_first)
        others = (parts.sum_of([*found, *of_first], f"grad_{name}") for name in given if name != "entry")
        return None, shared[0], *others


def _zeros_like(array: Tensor | None) -> Tensor | None:
    return None if array is None else torch.zeros_like(array)


def _run(
    function: str,
    sizes: Mapping[str, int],
    copies: GraphCopies,
    pointer: Tensor,
    arrays: dict[str, Tensor | None],
    own_arrays: list[dict[str, Tensor | None]] | None = None,
) -> None:
    """Call a compiled function for every thread's range of graphs; `own_arrays` are those that each has for itself."""
    graphs = copies.arrays()
    calls = []
    for index, (begin, end) in enumerate(parts.ranges(pointer)):
        known = graphs | arrays | ({} if own_arrays is None else own_arrays[index])
        calls.append(_Call(begin=begin, end=end, **sizes, **{name: address(array) for name, array in known.items()}))
    parts.run(getattr(functions(__file__), function), calls)


def is_compiled() -> bool:
    """Whether this machine has the compiled functions."""
    return library(__file__) is not None
