"""Graph batches by index arithmetic from the arrays of a `GraphStore`.

A batch is compact: the nodes of its graphs one after the other, no padding, because linear layers cost most and would
work on the padding as well. Measured on a CPU on batches of TRIANGLES, Letter-High and COIL-DEL, an embedding bag sums
over neighbours at least twice as fast as matrix products over blocks into which the graphs are packed. So on a CPU all
graphs take the sparse path. On an accelerator those of up to 64 nodes take the dense one, a choice not measured yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.data.features import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.errors import SettingsError
from fsgc.nn.adjacency import Adjacency, DenseBlocks
from fsgc.nn.inputs import NARROW, NodeFeatures, as_features
from fsgc.nn.segments import Segments, even_parts

DENSE_UP_TO_CPU = 0
DENSE_UP_TO_ACCELERATOR = 64
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
        dense_up_to: graphs with at most this many nodes take the dense path; by device if not given.
    """

    def __init__(
        self,
        store: GraphStore,
        x: Tensor | FeatureTable,
        device: torch.device | str | None = None,
        dense_up_to: int | None = None,
    ) -> None:
        features = as_features(x.detach() if isinstance(x, Tensor) else x)
        if len(features) != store.node_ptr[-1]:
            raise SettingsError(f"x: features of {len(features)} nodes, but the store has {store.node_ptr[-1]}")
        self._origin = (store, x)
        self.device = torch.device(device) if device is not None else features.table.device
        by_device = DENSE_UP_TO_CPU if self.device.type == "cpu" else DENSE_UP_TO_ACCELERATOR
        self.dense_up_to = by_device if dense_up_to is None else dense_up_to
        # Sizes stay on the host as well: they decide shapes, and a device would have to be waited for.
        self._host_nodes = torch.from_numpy(np.diff(store.node_ptr))
        self._host_edges = torch.from_numpy(np.diff(store.edge_ptr))
        self._node_start = self._on_device(store.node_ptr[:-1])
        self._edge_start = self._on_device(store.edge_ptr[:-1])
        self._source = self._on_device(store.edge_index[0])
        self._target = self._on_device(store.edge_index[1])
        self._degree = self._on_device(store.degree)
        self.features = features.to(self.device)
        if features.width <= NARROW:
            rows = self.features.rows()
            whole = self.batch(torch.arange(len(store)))
            self.features = NodeFeatures(rows, None, whole.adjacency.neighbour_sum(rows))

    def to(self, device: torch.device | str) -> GraphTensors:
        """The same graphs on another device, where another path may be the faster one."""
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
        pointer = F.pad(degree.cumsum(0), (1, 0))
        adjacency = Adjacency(source, pointer, source, pointer, None)
        is_dense = sizes <= self.dense_up_to
        if bool(is_dense.any()):
            adjacency = self._with_dense(adjacency, is_dense, nodes, edge_segments, edge_rows)
        return GraphBatch(self.features.select(node_rows), nodes, adjacency)

    def _with_dense(
        self, adjacency: Adjacency, is_dense: Tensor, nodes: Segments, edges: Segments, edge_rows: Tensor
    ) -> Adjacency:
        """Move the graphs marked in `is_dense` (`[g]`, on the host) into dense blocks."""
        graph = is_dense.nonzero().flatten().to(self.device)
        others = (~is_dense).nonzero().flatten().to(self.device)
        inside, in_edges = _subset(nodes, graph), _subset(edges, graph)
        block_size = int(inside.sizes.max())
        slots = torch.arange(block_size, device=self.device)
        first = nodes.pointer[graph].unsqueeze(1)
        node_of_slot = first + torch.minimum(slots, inside.sizes.unsqueeze(1) - 1)
        node_rows = inside.ranges(nodes.pointer[graph])
        slot_of_node = inside.index * block_size + node_rows - nodes.pointer[graph].index_select(0, inside.index)
        rows = edge_rows.index_select(0, in_edges.ranges(edges.pointer[graph]))
        row = in_edges.index * block_size + self._target.index_select(0, rows)
        matrices = torch.zeros(len(graph) * block_size**2, device=self.device)
        matrices = matrices.index_fill(0, row * block_size + self._source.index_select(0, rows), 1.0)
        blocks = DenseBlocks(
            matrices.view(len(graph), block_size, block_size),
            node_of_slot.flatten(),
            node_rows,
            slot_of_node,
            all_nodes=len(others) == 0,
        )
        left = _subset(edges, others).ranges(edges.pointer[others])
        degree = adjacency.pointer.diff().index_fill(0, node_rows, 0)
        bag_source = adjacency.source.index_select(0, left)
        return Adjacency(adjacency.source, adjacency.pointer, bag_source, F.pad(degree.cumsum(0), (1, 0)), blocks)


def _subset(segments: Segments, chosen: Tensor) -> Segments:
    sizes = segments.sizes.index_select(0, chosen)
    return Segments.from_sizes(sizes, int(sizes.sum()))
