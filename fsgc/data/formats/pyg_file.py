"""PyG graphs saved with `torch.save`: a list of `Data`, or the `(data, slices)` of an `InMemoryDataset`.

The file is loaded with `weights_only=True`: a pickle that would run code is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fsgc.data.formats.columns import label_text
from fsgc.data.formats.raw import Floats, RawGraphs
from fsgc.errors import DataFormatError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def read_pyg_file(path: Path) -> RawGraphs:
    """Read a `.pt` file, or the only one of a folder."""
    files = sorted(path.glob("*.pt")) if path.is_dir() else [path]
    if len(files) != 1:
        raise DataFormatError(f"expected one .pt file, found {len(files)}", file=path)
    try:
        return raw_from_pyg(_graphs_in(files[0]))
    except DataFormatError as error:
        raise DataFormatError(str(error), file=files[0]) from error


def _graphs_in(file: Path) -> list[Any]:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.separate import separate
    from torch_geometric.data.storage import GlobalStorage

    # The classes that a pickled `Data` is made of: containers, none of which runs anything when it is filled.
    allowed = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
    try:
        with torch.serialization.safe_globals(allowed):
            content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file makes the reader raise nearly anything
        found = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it contains {found.group(1)}" if found else type(error).__name__
        raise DataFormatError(f"cannot be loaded safely ({reason}); save a list of Data with torch.save") from error
    if isinstance(content, tuple) and len(content) in (2, 3, 4) and isinstance(content[1], dict):
        data, slices = content[:2]
        data = Data.from_dict(data) if isinstance(data, dict) else data
        try:
            count = len(next(iter(slices.values()))) - 1
            return [separate(Data, data, i, slices, decrement=False) for i in range(count)]
        except Exception as error:  # as above
            raise DataFormatError(f"the slices do not fit the data ({error!r})") from error
    content = [content] if isinstance(content, Data) else content
    if not isinstance(content, list | tuple):
        raise DataFormatError(f"expected a list of torch_geometric Data, found {type(content).__name__}")
    return list(content)


def raw_from_pyg(graphs: Iterable[Data], classes: Sequence[str | None] | None = None) -> RawGraphs:
    """PyG graphs: `x` are the attributes, `node_label` the labels, `y` the class unless `classes` gives it."""
    listed = list(graphs)
    if not listed:
        raise DataFormatError("there is no graph in it")
    labelled = sum(getattr(data, "node_label", None) is not None for data in listed)
    if labelled not in (0, len(listed)):
        raise DataFormatError("some graphs have 'node_label', others have not")
    attr: list[Floats] = []
    sizes, ends, labels, known = [], [], [], []
    start = 0
    for graph, data in enumerate(listed):
        nodes, edges, features, label = _parts(data, graph)
        if attr and features.shape[1] != attr[0].shape[1]:
            raise DataFormatError(
                f"'x' has {features.shape[1]} columns, that of the graphs before it {attr[0].shape[1]}", graph=graph
            )
        sizes.append(nodes)
        ends.append(edges + start)
        attr.append(features)
        labels += label
        known.append(_class(data, graph) if classes is None else classes[graph])
        start += nodes
    source, target = np.concatenate(ends, axis=1)
    values = np.concatenate(attr)
    return RawGraphs(
        names=tuple(str(number + 1) for number in range(len(listed))),
        sizes=np.array(sizes, dtype=np.int64),
        source=source,
        target=target,
        classes=tuple(known),
        node_label=pl.Series("label", labels, dtype=pl.String) if labelled else None,
        node_attr=values,
        attributes=tuple(f"attribute {column + 1}" for column in range(values.shape[1])),
    )


def _parts(data: Any, graph: int) -> tuple[int, Any, Floats, list[str]]:
    """Nodes, edges `[2, E]`, attributes `[n, A]` and labels `[n]` of one graph, checked."""
    import torch
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        raise DataFormatError(f"expected a torch_geometric Data, found {type(data).__name__}", graph=graph)
    edge_index, x = data.edge_index, data.x
    if not isinstance(edge_index, torch.Tensor) or edge_index.ndim != 2 or len(edge_index) != 2:
        raise DataFormatError("'edge_index' is not a tensor of shape [2, E]", graph=graph)
    if edge_index.is_floating_point() or edge_index.is_complex():
        raise DataFormatError("'edge_index' does not hold whole numbers", graph=graph)
    if x is not None and (not isinstance(x, torch.Tensor) or x.ndim == 0 or x.is_complex()):
        raise DataFormatError("'x' is not a matrix of numbers", graph=graph)
    edges = edge_index.detach().cpu().long().numpy()
    nodes = len(x) if x is not None else data.get("num_nodes") or int(edges.max(initial=-1)) + 1
    if not isinstance(nodes, int):
        raise DataFormatError("'num_nodes' is not a whole number", graph=graph)
    if ((edges < 0) | (edges >= nodes)).any():
        raise DataFormatError(f"an edge names a node outside 0..{nodes - 1}", graph=graph)
    features = np.zeros((nodes, 0))
    if x is not None:  # [n] is one number a node; `flatten` also takes what has no node
        features = (x.unsqueeze(1) if x.ndim == 1 else x.flatten(1)).detach().cpu().double().numpy()
    if not (np.abs(features) <= np.finfo(np.float32).max).all():
        raise DataFormatError("'x' has a number that is not finite", graph=graph)
    label = getattr(data, "node_label", None)
    listed = label.reshape(-1).tolist() if isinstance(label, torch.Tensor) else list(label or [])
    if label is not None and len(listed) != nodes:
        raise DataFormatError(f"'node_label' has {len(listed)} entries for {nodes} nodes", graph=graph)
    return nodes, edges, features, [_text(one, "'node_label'", graph) for one in listed]


def _class(data: Any, graph: int) -> str | None:
    import torch

    y = data.y
    if y is None:
        return None
    if isinstance(y, torch.Tensor):
        if y.numel() != 1:
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
