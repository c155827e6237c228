"""PyG graphs saved with `torch.save`: a list of `Data`, or the `(data, slices)` of an `InMemoryDataset`.

A file is loaded by `fsgc.data.formats.pyg_load`; here every graph is checked before anything of it is copied.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fsgc.data.formats.columns import label_text
from fsgc.data.formats.pyg_load import PER_GRAPH, load_graphs, room_of
from fsgc.data.formats.raw import Floats, Ints, RawGraphs
from fsgc.errors import DataFormatError

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

_UNNAMED = 1_000_000  # nodes that a graph may have beside those that edges, attributes or labels tell of


def read_pyg_file(path: Path) -> RawGraphs:
    """Read a `.pt` file, or the only one of a folder."""
    files = sorted(path.glob("*.pt")) if path.is_dir() else [path]
    if len(files) != 1:
        raise DataFormatError(f"expected one .pt file, found {len(files)}", file=path)
    try:
        return raw_from_pyg(load_graphs(files[0]), room=room_of(files[0]))
    except DataFormatError as error:
        raise DataFormatError(str(error), file=files[0]) from error


def raw_from_pyg(
    graphs: Iterable[Data], classes: Sequence[str | None] | None = None, room: int | None = None
) -> RawGraphs:
    """PyG graphs: `x` are the attributes, `node_label` the labels, `y` the class unless `classes` gives it.

    Args:
        graphs: the graphs.
        classes: the class of each.
        room: how many numbers they may have together; any if not given.
    """
    parts: list[_Parts] = []
    known: list[str | None] = []
    left = sys.maxsize if room is None else room
    for graph, data in enumerate(graphs):
        try:
            part = _parts(data, graph, left)
            known.append(_class(data, graph) if classes is None else classes[graph])
        except DataFormatError:
            raise
        except Exception as error:  # PyTorch has tensors of many more kinds, and a stranger's `Data` may lack anything
            reason = str(error).split("\n", 1)[0][:200]
            raise DataFormatError(f"cannot be used ({type(error).__name__}: {reason})", graph=graph) from error
        if parts:
            _check_alike(part, parts[0], graph)
        parts.append(part)
        left -= part.numbers
        if left < 0:
            raise _too_much(graph)
    if not parts:
        raise DataFormatError("there is no graph in it")
    sizes = np.array([part.nodes for part in parts], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    source, target = np.concatenate([part.edges + start for part, start in zip(parts, starts, strict=True)], axis=1)
    values = np.concatenate([part.attr for part in parts])
    has_labels = parts[0].labels is not None
    labels = [label for part in parts for label in part.labels or ()]
    return RawGraphs(
        names=tuple(str(number + 1) for number in range(len(parts))),
        sizes=sizes,
        source=source,
        target=target,
        classes=tuple(known),
        node_label=pl.Series("label", labels, dtype=pl.String) if has_labels else None,
        node_attr=values,
        attributes=tuple(f"attribute {column + 1}" for column in range(values.shape[1])),
    )


@dataclass(frozen=True, eq=False)
class _Parts:
    """One graph: its nodes, edges `[2, E]`, attributes `[n, A]` and labels `[n]`, if it has any."""

    nodes: int
    edges: Ints
    attr: Floats
    labels: list[str] | None

    @property
    def numbers(self) -> int:
        """How much it takes, in numbers."""
        return PER_GRAPH + self.nodes + self.edges.size + self.attr.size + sum(map(len, self.labels or ()))


def _check_alike(part: _Parts, first: _Parts, graph: int) -> None:
    if part.attr.shape[1] != first.attr.shape[1]:
        raise DataFormatError(
            f"'x' has {part.attr.shape[1]} columns, that of the graphs before it {first.attr.shape[1]}", graph=graph
        )
    if (part.labels is None) != (first.labels is None):
        raise DataFormatError("some graphs have 'node_label', others have not", graph=graph)


def _parts(data: Any, graph: int, left: int) -> _Parts:
    """One graph, checked; it may have as many numbers as are left. Nothing is copied before its size is known."""
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        raise DataFormatError(f"expected a torch_geometric Data, found {type(data).__name__}", graph=graph)
    edge_index, x, label = _edge_index(data, graph), _x(data, graph), _labels(data, graph)
    stored = edge_index.numel() + x.numel() + len(label or ())
    if stored > left:
        raise _too_much(graph)
    edges = edge_index.detach().cpu().long().numpy()
    nodes = len(x) if data.x is not None else _num_nodes(data, graph) or int(edges.max(initial=-1)) + 1
    for count, what in ((nodes, "nodes"), (x.shape[1], "columns of 'x'")):
        if count > stored + _UNNAMED:
            raise DataFormatError(f"{count} {what}, though its edges, 'x' and labels are {stored} in all", graph=graph)
    if ((edges < 0) | (edges >= nodes)).any():
        raise DataFormatError(f"an edge names a node outside 0..{nodes - 1}", graph=graph)
    attr = x.detach().cpu().double().numpy() if data.x is not None else np.zeros((nodes, 0))
    if not (np.abs(attr) <= np.finfo(np.float32).max).all():
        raise DataFormatError("'x' has a number that is not finite", graph=graph)
    if label is not None and len(label) != nodes:
        raise DataFormatError(f"'node_label' has {len(label)} entries for {nodes} nodes", graph=graph)
    labels = None if label is None else [_text(one, "'node_label'", graph) for one in label]
    return _Parts(nodes, edges, attr, labels)


def _too_much(graph: int) -> DataFormatError:
    return DataFormatError(
        "with it the graphs are many times what the file holds, since parts of it are used again and again; save fewer "
        "graphs in one file",
        graph=graph,
    )


def _edge_index(data: Data, graph: int) -> Tensor:
    edge_index = _plain(data.edge_index, "'edge_index'", graph)
    if edge_index.ndim != 2 or len(edge_index) != 2:
        raise DataFormatError("'edge_index' is not a tensor of shape [2, E]", graph=graph)
    if edge_index.is_floating_point() or edge_index.is_complex():
        raise DataFormatError("'edge_index' does not hold whole numbers", graph=graph)
    return edge_index


def _x(data: Data, graph: int) -> Tensor:
    """The attributes `[n, A]`; `[0, 0]` if there are none."""
    import torch

    if data.x is None:
        return torch.zeros(0, 0)
    x = _plain(data.x, "'x'", graph)
    if x.ndim == 0 or x.is_complex():
        raise DataFormatError("'x' is not a matrix of numbers", graph=graph)
    return x.unsqueeze(1) if x.ndim == 1 else x.flatten(1)  # [n] is one number a node; `flatten` takes [0, A], too


def _plain(value: Any, what: str, graph: int) -> Tensor:
    """A tensor whose numbers are all there, one by one; of the others, some take far more memory than their file."""
    import torch

    if not isinstance(value, torch.Tensor):
        raise DataFormatError(f"{what} is not a tensor", graph=graph)
    if value.layout != torch.strided or value.is_nested:
        raise DataFormatError(f"{what} is not dense; convert it with to_dense()", graph=graph)
    if value.is_meta:
        raise DataFormatError(f"{what} has no values: it is on the device 'meta'", graph=graph)
    if value.is_quantized:
        raise DataFormatError(f"{what} is quantised; convert it with dequantize()", graph=graph)
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise DataFormatError(
            f"{what} is expanded: {value.numel()} numbers, of which fewer are stored; convert it with clone()",
            graph=graph,
        )
    return value


def _labels(data: Data, graph: int) -> list[Any] | None:
    """What `node_label` says, node by node."""
    import torch

    value = getattr(data, "node_label", None)
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        return list(_plain(value, "'node_label'", graph).reshape(-1).tolist())
    if not isinstance(value, list | tuple | np.ndarray):
        raise DataFormatError(f"'node_label' is neither a tensor nor a list, but {type(value).__name__}", graph=graph)
    return list(value)


def _num_nodes(data: Data, graph: int) -> int:
    """What `num_nodes` says; 0 if it says nothing."""
    nodes = data.get("num_nodes")
    if nodes is not None and (not isinstance(nodes, int) or isinstance(nodes, bool)):
        raise DataFormatError("'num_nodes' is not a whole number", graph=graph)
    if nodes is not None and nodes < 0:
        raise DataFormatError(f"'num_nodes' is {nodes}", graph=graph)
    return nodes or 0


def _class(data: Any, graph: int) -> str | None:
    import torch

    y = data.y
    if y is None:
        return None
    if isinstance(y, torch.Tensor):
        if _plain(y, "'y'", graph).numel() != 1:
            raise DataFormatError(f"'y' has {y.numel()} numbers, expected one class", graph=graph)
        y = y.item()
    if isinstance(y, float) and y.is_integer():
        y = int(y)
    return _text(y, "'y'", graph)


def _text(value: Any, what: str, graph: int) -> str:
    """A label or a class as text; it stands alone, since the text of nested containers may have no end."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str | bool | int | float):
        raise DataFormatError(f"{what} has a {type(value).__name__}; use strings or numbers", graph=graph)
    try:
        return label_text(value)
    except ValueError as error:
        raise DataFormatError(f"{what}: {error}", graph=graph) from error
