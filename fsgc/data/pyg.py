"""Graph stores as PyG objects, and PyG datasets as graph stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError

Features = Tensor | FeatureTable | None


def _node_rows(store: GraphStore, nodes: npt.NDArray[np.int64], x: Features) -> dict[str, Tensor]:
    """What nodes carry: their labels, and as `x` the given features or else their attributes, if they have any."""
    rows = {"node_label": torch.from_numpy(store.node_label[nodes]).long()}
    if isinstance(x, FeatureTable):
        rows["x"] = torch.from_numpy(x.rows(nodes))
    elif x is not None:
        rows["x"] = x[torch.from_numpy(nodes)]
    elif store.node_attr.shape[1]:
        rows["x"] = torch.from_numpy(store.node_attr[nodes])
    return rows


def data_of(store: GraphStore, graph: int, x: Features = None) -> Data:
    """Graph `graph` of `store` as a `Data` with `edge_index`, `y`, `node_label` and, if there are features, `x`."""
    nodes = store.rows_of(np.array([graph]))
    edges = slice(*store.edge_ptr[graph : graph + 2].tolist())
    return Data(
        edge_index=torch.from_numpy(store.edge_index[:, edges]).long(),
        y=torch.from_numpy(store.y[graph : graph + 1]).long(),
        **_node_rows(store, nodes, x),
    )


def batch_of(store: GraphStore, graphs: npt.NDArray[np.int64], x: Features = None) -> Batch:
    """What `Batch.from_data_list` makes of the `Data` of these graphs, without making them.

    All arrays come from the store by index arithmetic. The slices are filled in as well, so that `to_data_list` and
    indexing work.
    """
    part = store.select(graphs)
    rows = _node_rows(store, store.rows_of(graphs), x)
    nodes, edges = torch.from_numpy(part.node_ptr), torch.from_numpy(part.edge_ptr)
    offset = nodes[:-1].repeat_interleave(edges.diff())
    batch = Batch(
        _base_cls=Data,
        edge_index=torch.from_numpy(part.edge_index).long() + offset,
        y=torch.from_numpy(part.y).long(),
        **rows,
        batch=torch.arange(len(part)).repeat_interleave(nodes.diff()),
        ptr=nodes,
    )
    none = torch.zeros(len(part), dtype=torch.long)
    batch._num_graphs = len(part)
    batch._slice_dict = {"edge_index": edges, "y": torch.arange(len(part) + 1), **dict.fromkeys(rows, nodes)}
    batch._inc_dict = {"edge_index": nodes[:-1], "y": none, **dict.fromkeys(rows, none)}
    return batch


def graphs_from_pyg(dataset: Iterable[Data], attributes: Mapping[str, Any] | None = None) -> GraphStore:
    """Make a store of a PyG dataset: `y` is the class, `x` the attributes, `node_label` (if present) the labels.

    Edges are made undirected; edge attributes are not kept.
    """
    listed = list(dataset)
    for graph, data in enumerate(listed):
        if data.edge_index is None or data.y is None or data.y.numel() != 1:
            raise DataFormatError("a graph needs 'edge_index' and a 'y' of one class", graph=graph)
    if not listed:
        raise DataFormatError("the dataset has no graphs")
    batch = Batch.from_data_list(listed)
    label = batch.node_label.numpy() if "node_label" in batch else None
    features = batch.x.reshape(len(batch.x), -1).numpy() if batch.x is not None else None
    source, target = batch.edge_index.numpy()
    return GraphStore.from_edges(
        batch.ptr.diff().numpy(), source, target, batch.y.reshape(-1).numpy(), label, features, attributes
    )
