"""The average over neighbours in compiled code, which leaves out what is at or below the threshold.

Of the similarities of a sample graph a few in a hundred are above it. PyTorch multiplies with zeros for all the others,
forward and back, and takes a graph that several tasks have drawn as often as they did. The equations are in
`neighbour_kernel.cpp`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsgc.native.library import address, functions, library

LANES = 16
MOST_DENSE = 0.25
"""Share of pairs above the threshold from which on products of whole matrices are faster."""
_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p


class _Call(ctypes.Structure):
    """`AverageCall`, field by field."""

    _fields_ = (
        *((name, _INTEGER) for name in ("rows", "graphs", "width", "values", "most")),
        ("threshold", ctypes.c_double),
        *((name, _POINTER) for name in ("place", "similarity", "edges", "pointer", "neighbour", "weight", "connected")),
        *((name, _POINTER) for name in ("unit", "value", "averaged", "grad", "grad_unit", "grad_value")),
    )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Which of `D` graphs are neighbours of each of `R` rows, and their weights, which sum to 1.

    Attributes:
        graphs: `D`.
        place: int64 `[R]`, the graph that each row is.
        pointer: int64 `[R + 1]`, where the neighbours of a row begin.
        neighbour: int64, graphs.
        weight: of each.
        connected: uint8 `[R]`; of a row without any edge the weights do not depend on the similarities.
    """

    graphs: int
    place: Tensor
    pointer: Tensor
    neighbour: Tensor
    weight: Tensor
    connected: Tensor

    def average(self, unit: Tensor, values: Tensor) -> Tensor:
        """The averages of `[D, v]`, `[R, v]`; the unit vectors `[D, d]` are what the weights come from."""
        return _Average.apply(self, unit.contiguous(), values.contiguous())  # type: ignore[no-untyped-call]

    def call(self, function: str, unit: Tensor, values: Tensor, **arrays: Tensor) -> None:
        """Call a compiled function."""
        names = ("place", "pointer", "neighbour", "weight", "connected")
        given = {name: getattr(self, name) for name in names} | {"unit": unit, "value": values} | arrays
        sizes = {"rows": len(self.place), "graphs": self.graphs, "width": unit.shape[1], "values": values.shape[1]}
        call = _Call(**sizes, **{name: address(array) for name, array in given.items()})
        getattr(functions(__file__), function)(ctypes.byref(call))


def is_compiled_for(unit: Tensor, place: Tensor) -> bool:
    """Whether the compiled functions take unit vectors `[D, d]` and the rows of one episode, `[1, R]`.

    They work with one thread: where PyTorch has several, its products of whole matrices are left to them.
    """
    return (
        len(place) == 1
        and unit.is_cpu
        and unit.dtype == torch.float32
        and unit.shape[1] % LANES == 0
        and torch.get_num_threads() == 1
        and library(__file__) is not None
    )


@torch.no_grad()
def find_neighbours(unit: Tensor, place: Tensor, edges: Tensor, threshold: float) -> Neighbours | None:
    """The neighbours of rows `[R]` by the cosines of `[D, d]` plus the edges `[R, R]`; None if they are too many."""
    most = int(MOST_DENSE * len(place) * len(unit))
    place = place.contiguous()
    pointer, neighbour = place.new_empty(len(place) + 1), place.new_empty(most)
    weight, connected = unit.new_empty(most), torch.empty(len(place), dtype=torch.uint8)
    call = _Call(
        rows=len(place),
        graphs=len(unit),
        most=most,
        threshold=threshold,
        place=address(place),
        similarity=address(similarity := unit @ unit.mT),
        edges=address(edges := edges.to(unit).contiguous()),
        pointer=address(pointer),
        neighbour=address(neighbour),
        weight=address(weight),
        connected=address(connected),
    )
    function = functions(__file__).faith_neighbours
    function.restype = _INTEGER
    found = function(ctypes.byref(call))
    del similarity, edges  # which had to live until here
    return Neighbours(len(unit), place, pointer, neighbour, weight, connected) if found >= 0 else None


class _Average(torch.autograd.Function):
    """`Neighbours.average`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, neighbours: Neighbours, unit: Tensor, values: Tensor) -> Tensor:
        averaged = values.new_empty(len(neighbours.place), values.shape[1])
        neighbours.call("faith_average", unit, values, averaged=averaged)
        ctx.neighbours = neighbours
        ctx.save_for_backward(unit, values, averaged)
        return averaged

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        unit, values, averaged = ctx.saved_tensors
        of_unit, of_values = torch.empty_like(unit), torch.empty_like(values)
        arrays = {"averaged": averaged, "grad": grad.contiguous(), "grad_unit": of_unit, "grad_value": of_values}
        ctx.neighbours.call("faith_average_back", unit, values, **arrays)
        return None, of_unit, of_values
