"""The node rows of a GIN embedder, forward and back, in compiled code.

PyTorch writes every intermediate array of a batch to memory and reads it again; here a block of graphs goes through all
layers while its rows are in the cache. The equations are in `gin_kernel.cpp`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from fsgc.native.lease import Lease
from fsgc.native.library import address, library
from fsgc.nn.graph_tensors import GraphBatch
from fsgc.nn.segments import Segments

LANES = 16
MOST_CONVS = 16
_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p


class _Call(ctypes.Structure):
    """`GinCall`, field by field."""

    _fields_ = (
        *((name, _INTEGER) for name in ("width", "convs", "mlp_layers", "relu", "per_node", "begin", "end")),
        *((name, _POINTER) for name in ("place", "node_pointer", "edge_pointer", "source", "row_pointer", "episode")),
        *((name, _POINTER) for name in ("entry", "jump", "gamma", "beta", "weights", "saved", "out")),
        ("seed", ctypes.c_uint64),
        ("levels", _INTEGER),
        ("dropped", _INTEGER),
        ("scale", ctypes.c_double),
        ("grad_out", _POINTER),
        *((f"grad_{name}", _POINTER) for name in ("entry", "jump", "gamma", "beta", "weights")),
    )


@dataclass(frozen=True, eq=False)
class GinRows:
    """What is computed, beside weights and rows.

    Attributes:
        width: `d`, a multiple of 16.
        convs: `L`.
        mlp_layers: of a convolution, 1 or 2.
        relu: whether a ReLU follows each convolution.
        per_node: whether the result is one row a node, `[n, d]`, or the sum over the nodes of each graph, `[g, d]`.
        dropout: the share that is dropped.
        seed: of dropout.
        batch: the distinct graphs.
        place: int64 `[g]`, which of them each graph is; a graph may occur more than once.
        rows: which of the `n` rows belong to which graph.
        episode: int64 `[g]`, whose scales and shifts a graph takes; None without them.
    """

    width: int
    convs: int
    mlp_layers: int
    relu: bool
    per_node: bool
    dropout: float
    seed: int
    batch: GraphBatch
    place: Tensor
    rows: Segments
    episode: Tensor | None

    @property
    def kept_rows(self) -> int:
        """Rows a node that the way back needs."""
        return self.mlp_layers * self.convs

    def __call__(
        self, weights: Tensor, entry: Tensor, jump: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None
    ) -> Tensor:
        """The rows of the distinct graphs that enter, `[m, d]`, to those of all graphs.

        Args:
            weights: all of them in one array, as `gin_kernel.cpp` lays them out, matrices as `[in, out]`.
            entry: the first linear layer's result, `[m, d]`.
            jump: what jumping knowledge adds to its sum for the input features, `[m, d]`.
            gamma: scales `[E, L, d]`.
            beta: shifts `[E, L, d]`.
        """
        return _GinPass.apply(self, weights, entry, jump, gamma, beta)  # type: ignore[no-untyped-call]

    def call(self, **arrays: Tensor | None) -> _Call:
        """The arguments of the compiled functions, all but the range of graphs."""
        adjacency = self.batch.adjacency
        levels = 256 if (self.dropout * 256).is_integer() else 65536
        dropped = min(max(round(self.dropout * levels), 1), levels - 1)
        graphs = {
            "place": self.place,
            "node_pointer": self.batch.segments.pointer,
            "edge_pointer": adjacency.pointer,
            "source": adjacency.source,
            "row_pointer": self.rows.pointer,
            "episode": self.episode,
        }
        return _Call(
            **{name: getattr(self, name) for name in ("width", "convs", "mlp_layers", "relu", "per_node", "seed")},
            **{name: address(array) for name, array in (graphs | arrays).items()},
            levels=levels if self.dropout else 0,
            dropped=dropped,
            scale=levels / (levels - dropped),
        )

    def parts(self) -> list[tuple[int, int]]:
        """Ranges of graphs with about as many nodes, one a thread."""
        threads = torch.get_num_threads()
        wanted = self.rows.pointer[-1] * torch.arange(1, threads) // threads
        ends = torch.searchsorted(self.rows.pointer, wanted).tolist()
        return list(_ranges([0, *ends, len(self.place)]))


def _ranges(ends: list[int]) -> Iterator[tuple[int, int]]:
    return ((begin, end) for begin, end in pairwise(ends) if begin < end)


class _GinPass(torch.autograd.Function):
    """`GinRows`, with its gradient."""

    @staticmethod
    def forward(
        ctx: Any, gin: GinRows, weights: Tensor, entry: Tensor, jump: Tensor, gamma: Tensor | None, beta: Tensor | None
    ) -> Tensor:
        rows = int(gin.rows.pointer[-1])
        out = entry.new_empty(rows if gin.per_node else len(gin.place), gin.width)
        needed = any(ctx.needs_input_grad)
        ctx.kept = Lease(rows * gin.kept_rows * gin.width) if needed else None
        arrays = {"weights": weights, "entry": entry, "jump": jump, "gamma": gamma, "beta": beta}
        saved = None if ctx.kept is None else ctx.kept.array
        _in_parts("gin_forward", gin, [arrays | {"out": out, "saved": saved}] * len(gin.parts()))
        ctx.gin = gin
        ctx.save_for_backward(*arrays.values())
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        given = dict(zip(("weights", "entry", "jump", "gamma", "beta"), ctx.saved_tensors, strict=True))
        parts = [
            {f"grad_{name}": None if array is None else torch.zeros_like(array) for name, array in given.items()}
            for _ in ctx.gin.parts()
        ]
        known = given | {"saved": ctx.kept.array, "grad_out": grads[0].contiguous()}
        _in_parts("gin_backward", ctx.gin, [known | part for part in parts])
        return None, *(_sum_of([part[name] for part in parts]) for name in parts[0])


def _sum_of(grads: list[Tensor | None]) -> Tensor | None:
    known = [grad for grad in grads if grad is not None]
    return torch.stack(known).sum(0) if len(known) > 1 else known[0] if known else None


def _in_parts(function: str, gin: GinRows, arrays: list[dict[str, Tensor | None]]) -> None:
    """Call a compiled function for every part of the graphs, each in a thread."""
    compiled: Callable[..., None] = getattr(_library(), function)
    calls = []
    for (begin, end), part in zip(gin.parts(), arrays, strict=True):
        call = gin.call(**part)
        call.begin, call.end = begin, end
        calls.append(call)
    if len(calls) == 1:
        compiled(ctypes.byref(calls[0]))
    else:
        list(_threads(len(calls)).map(lambda call: compiled(ctypes.byref(call)), calls))


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="gin")


def _library() -> ctypes.CDLL:
    found = library(__file__)
    assert found is not None
    return found


def is_compiled() -> bool:
    """Whether this machine has the compiled functions."""
    return library(__file__) is not None
