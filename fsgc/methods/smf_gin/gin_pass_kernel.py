"""The training pass of a GIN with batch norm, forward and back, in compiled code.

PyTorch writes every intermediate array to memory and reads it again; here what lies between two norms is done for a
block of graphs while its rows are in the cache. The equations are in `gin_pass_kernel.cpp`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fsgc.native.lease import Lease
from fsgc.native.library import TYPES, library
from fsgc.nn.convs import GINConv
from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.norms import BatchNorm

LANES = 16
MOST_FOR_ONE_THREAD = 2**14
"""Graphs times width of the largest pass that is not left to PyTorch where it has several threads."""
_CALL = "5q12Q"
"""`PassCall`: sizes, then addresses."""
_LAYER = "8Q2d7Q2d"
"""`Layer`: addresses up to those of the first norm, its momentum and ε, and so on."""


def is_compiled_for(gin: GINReadOuts, tensors: GraphTensors, graphs: Tensor) -> bool:
    """Whether this machine has the compiled functions, and they take such weights and graphs `[g]`.

    They work with one thread: where PyTorch has several, passes as large as FAITH's are left to it.
    """
    parts = (next(gin.parameters()), tensors.features.table)
    return (
        library(__file__) is not None
        and gin.width % LANES == 0
        and all(part.is_cpu and part.dtype == torch.float32 for part in parts)
        and (torch.get_num_threads() == 1 or len(graphs) * gin.width <= MOST_FOR_ONE_THREAD)
    )


def compiled_read_outs(gin: GINReadOuts, tensors: GraphTensors, graphs: Tensor) -> Tensor:
    """The read-outs of graphs `[g]` side by side, `[g, L·d]`, and what batch norm learns from them."""
    features, entry = tensors.features, None
    if features.neighbour_sum is not None:
        gin_pass = _Pass(gin, _kept(_stored, tensors), graphs.to("cpu", torch.int64).contiguous(), features.width)
    else:
        first, batch = gin.convs[0], tensors.batch(graphs)
        assert isinstance(first, GINConv)
        gin_pass, entry = _Pass(gin, batch, torch.arange(len(graphs)), 0), first._first_linear(batch.features, batch)
    if gin_pass.rows < 2:
        return gin.of_graphs(tensors, graphs)  # which says what is wrong: batch norm has nothing to learn from one row
    return _Differentiable.apply(gin_pass, entry, *gin_pass.learned)  # type: ignore[no-untyped-call]


_memory: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _kept(make: Callable[[Any], Any], of: Any) -> Any:
    """`make(of)`, made once in the life of `of`."""
    if of not in _memory:
        _memory[of] = make(of)
    return _memory[of]


def _stored(tensors: GraphTensors) -> GraphBatch:
    """All graphs as a batch; a pass takes from it what it needs."""
    return tensors.batch(torch.arange(len(tensors)))


class _Network:
    """Where the modules of a GIN hold its arrays: to ask them by attribute every time took as long as the products.

    Looked at anew in each pass, since a module may be given other tensors; described anew only if it was.
    """

    def __init__(self, gin: GINReadOuts) -> None:
        self.convs = len(gin.convs)
        self._slots: list[tuple[Mapping[str, Tensor | None], str]] = []
        self._norms: list[nn.BatchNorm1d] = []
        norm_names = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
        for conv, outer in zip(gin.convs, gin.norms, strict=True):
            assert isinstance(conv, GINConv)
            inner = conv.norms[0]
            assert isinstance(inner, BatchNorm)
            assert isinstance(outer, BatchNorm)
            self._norms += [inner.norm, outer.norm]
            named = (
                (conv, ("eps",)),
                (conv.first, norm_names[:2]),
                (inner.norm, norm_names),
                (conv.last, norm_names[:2]),
                (outer.norm, norm_names),
            )
            self._slots += [
                (module._parameters if name in module._parameters else module._buffers, name)
                for module, names in named
                for name in names
            ]
        self._learned = [number for number, (_, name) in enumerate(self._slots) if name in ("eps", "weight", "bias")]
        self._known: Any = None
        self._packed = b""

    def __call__(self, inputs: int) -> tuple[list[Tensor], bytes]:
        """The weights that have a gradient, in their order, and the `Layer`s; `inputs` as `_Pass` has them."""
        arrays = [tensors.get(name) for tensors, name in self._slots]
        if not inputs:
            arrays[:3] = [None, None, None]
        learned = [array for array in map(arrays.__getitem__, self._learned) if array is not None]
        at = [0 if array is None else array.data_ptr() for array in arrays]
        numbers = [(-1.0 if norm.momentum is None else norm.momentum, norm.eps) for norm in self._norms]
        if (at, numbers) != self._known:
            for array in arrays:
                _address(array)  # which has something to say of arrays that cannot be taken
            self._known = at, numbers
            self._packed = b"".join(map(self._layer, range(self.convs)))
        return learned, self._packed

    def _layer(self, number: int) -> bytes:
        at, numbers = self._known
        each = len(at) // self.convs
        mine, (inner, outer) = at[number * each : (number + 1) * each], numbers[2 * number : 2 * number + 2]
        return struct.pack(_LAYER, *mine[:8], *inner, *mine[8:], *outer)


class _Pass:
    """What is computed.

    Args:
        gin: the network.
        stored: graphs.
        place: int64 `[g]`, which of them to read out.
        inputs: `F` where the first convolution is given features, 0 where it is given its first linear layer's result.
    """

    def __init__(self, gin: GINReadOuts, stored: GraphBatch, place: Tensor, inputs: int) -> None:
        network: _Network = _kept(_Network, gin)
        self.width, self.convs, self.inputs = gin.width, network.convs, inputs
        self.stored, self.place = stored, place
        self.rows = int(stored.segments.sizes[place].sum())
        self.learned, self._packed = network(inputs)

    def run(self, function: str, kept: Tensor, *arrays: Tensor | None) -> None:
        """Call a compiled function; the arrays are the last ones of `PassCall`."""
        graphs, edges = self.stored.segments, self.stored.adjacency
        features = self.stored.features if self.inputs else None
        inputs = (None, None) if features is None else (features.table, features.neighbour_sum)
        given = (self.place, graphs.pointer, edges.pointer, edges.source, *inputs, kept, *arrays)
        sizes = (self.width, self.convs, len(self.place), self.rows, self.inputs)
        getattr(library(__file__), function)(struct.pack(_CALL, *sizes, *map(_address, given)), self._packed)


def _address(tensor: Tensor | None) -> int:
    """`fsgc.native.library.address` as a plain number, of which there are many here."""
    if tensor is None:
        return 0
    assert tensor.is_contiguous()
    assert tensor.is_cpu
    assert tensor.dtype in TYPES
    return tensor.data_ptr()


class _Differentiable(torch.autograd.Function):
    """A pass, with its gradient."""

    @staticmethod
    def forward(ctx: Any, gin_pass: _Pass, entry: Tensor | None, *learned: Tensor) -> Tensor:
        norms, width = 2 * gin_pass.convs, gin_pass.width
        ctx.kept = Lease(((norms + 1) * gin_pass.rows + 4 * norms) * width)
        out = torch.empty(len(gin_pass.place), gin_pass.convs * width, dtype=torch.float32)
        gin_pass.run("gin_pass_forward", ctx.kept.array, entry, out, None, None, None)
        ctx.gin_pass, ctx.has_entry = gin_pass, entry is not None
        ctx.save_for_backward(*learned)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        learned, gin_pass = ctx.saved_tensors, ctx.gin_pass
        of_entry = grad.new_empty(gin_pass.rows, gin_pass.width) if ctx.has_entry else None
        sizes = [weight.numel() for weight in learned]
        grads = grad.new_zeros(sum(sizes))
        gin_pass.run("gin_pass_backward", ctx.kept.array, None, None, grad.contiguous(), grads, of_entry)
        parts = zip(torch.split_with_sizes(grads, sizes), learned, strict=True)
        return None, of_entry, *(part if weight.ndim == 1 else part.view_as(weight) for part, weight in parts)
