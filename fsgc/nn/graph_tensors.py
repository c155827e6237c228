"""Graph batches by index arithmetic from the arrays of a `GraphStore`.

A batch is compact: the nodes of its graphs one after the other, no padding, because linear layers cost most and would
work on the padding as well. Measured on a CPU on batches of TRIANGLES, Letter-High and COIL-DEL, an embedding bag sums
over neighbours at least twice as fast as matrix products over blocks into which the graphs are packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.errors import SettingsError
from fsgc.nn.adjacency import Adjacency
from fsgc.nn.inputs import NARROW, NodeFeatures, as_features
from fsgc.nn.segments import Segments, even_parts

CHUNK_CPU = 32_768
CHUNK_ACCELERATOR = 262_144


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Some graphs, with `n` nodes and `g` graphs in all; a graph may occur more than once.

    Attributes:
        features: the input features of the nodes.
        segments: which nodes belong to which graph.
        adjacency: the edges.
    """

    features: NodeFeatures
    segments: Segments
    adjacency: Adjacency

    @property
    def x(self) -> Tensor:
        """Input features, `[n, F]`."""
        return self.features.rows()

    @property
    def graph_id(self) -> Tensor:
        """The graph of each node, int64 `[n]`, ascending."""
        return self.segments.index

    @property
    def num_nodes(self) -> Tensor:
        """Nodes of each graph, int64 `[g]`."""
        return self.segments.sizes

    @property
    def num_graphs(self) -> int:
        """`g`."""
        return len(self.segments.sizes)


class GraphTensors:
    """All graphs of a store as tensors on a device, ready to be batched.

    Args:
        store: the graphs.
        x: node features of all nodes of the store, a matrix `[V, F]` or a `FeatureTable`.
        device: where batches live; that of `x` if not given.
    """

    def __init__(self, store: GraphStore, x: Tensor | FeatureTable, device: torch.device | str | None = None) -> None:
        features = as_features(x.detach() if isinstance(x, Tensor) else x)
        if len(features) != store.node_ptr[-1]:
            raise SettingsError(f"x: features of {len(features)} nodes, but the store has {store.node_ptr[-1]}")
        self._origin = (store, x)
        self.device = torch.device(device) if device is not None else features.table.device
        # Sizes stay on the host as well: they decide shapes, and a device would have to be waited for.
        self._host_nodes = torch.from_numpy(np.diff(store.node_ptr))
        self._host_edges = torch.from_numpy(np.diff(store.edge_ptr))
        self._node_start = self._on_device(store.node_ptr[:-1])
        self._edge_start = self._on_device(store.edge_ptr[:-1])
        self._source = self._on_device(store.edge_index[0])
        self._degree = self._on_device(store.degree)
        self.features = features.to(self.device)
        if features.width <= NARROW:
            rows = self.features.rows()
            whole = self.batch(torch.arange(len(store)))
            self.features = NodeFeatures(rows, None, whole.adjacency.neighbour_sum(rows))

    def to(self, device: torch.device | str) -> GraphTensors:
        """The same graphs on another device."""
        return self if torch.device(device) == self.device else GraphTensors(*self._origin, device)

    def _on_device(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)

    def __len__(self) -> int:
        return len(self._host_nodes)

    @property
    def num_features(self) -> int:
        """`F`."""
        return self.features.width

    def chunk_sizes(self, graphs: Tensor, max_nodes: int | None = None) -> list[int]:
        """How many of the graphs, `[g]`, or episodes, `[E, M]`, to take at a time for chunks of about equal size.

        A chunk has at most `max_nodes` nodes, by device if not given, and those of one more graph, or episode.
        """
        nodes = self._host_nodes[graphs.to("cpu", torch.int64)]
        by_device = CHUNK_CPU if self.device.type == "cpu" else CHUNK_ACCELERATOR
        return even_parts(nodes if nodes.ndim == 1 else nodes.sum(1), by_device if max_nodes is None else max_nodes)

    def batch(self, graphs: Tensor | Sequence[int] | npt.NDArray[Any]) -> GraphBatch:
        """The given graphs, `[g]`, in that order. Indices on the host spare an accelerator a wait."""
        chosen = torch.as_tensor(graphs).to("cpu", torch.int64).flatten()
        sizes, edges = self._host_nodes[chosen], self._host_edges[chosen]
        index = chosen.to(self.device)
        nodes = Segments.from_sizes(sizes.to(self.device), int(sizes.sum()))
        edge_segments = Segments.from_sizes(edges.to(self.device), int(edges.sum()))
        node_rows = nodes.ranges(self._node_start[index])
        edge_rows = edge_segments.ranges(self._edge_start[index])
        source = self._source.index_select(0, edge_rows) + nodes.pointer[:-1].index_select(0, edge_segments.index)
        degree = self._degree.index_select(0, node_rows)
        return GraphBatch(self.features.select(node_rows), nodes, Adjacency.from_degree(source, degree))
