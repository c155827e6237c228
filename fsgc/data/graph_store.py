"""`GraphStore`: all graphs of a dataset as a few flat arrays.

A graph is a range of rows; a batch is index arithmetic. No per-graph object exists unless a user asks for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsgc.errors import DataFormatError, StoreError
from fsgc.integrity import REMEDY
from fsgc.zarr_io import read_arrays, write_arrays

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data

    from fsgc.data.pyg import Features

IntArray = npt.NDArray[np.integer[Any]]
KIND = "fsgc.graphs"
VERSION = 1
ARRAYS = ("node_ptr", "edge_ptr", "edge_index", "node_label", "node_attr", "y")


@dataclass(frozen=True, eq=False)
class GraphStore:
    """Undirected graphs with node labels, node attributes and a class each.

    Shapes, for `G` graphs with `V` nodes, `E` directed edges and `A` attributes in all:

    Attributes:
        node_ptr: int64 `[G+1]`; graph `g` owns nodes `node_ptr[g]:node_ptr[g+1]`.
        edge_ptr: int64 `[G+1]`; the same for edges.
        edge_index: int32 `[2, E]`, source over target, node ids local to the graph. Both directions of every edge,
            sorted by target, then source; no duplicates, no self-loops.
        node_label: int32 `[V]`; all zero where the data has no node labels.
        node_attr: float32 `[V, A]`; `A` may be 0.
        y: int32 `[G]`, the class ids of the catalog.
        attributes: where the data comes from: source, checksum, reader, class names, meaning of the node labels.
    """

    node_ptr: npt.NDArray[np.int64]
    edge_ptr: npt.NDArray[np.int64]
    edge_index: npt.NDArray[np.int32]
    node_label: npt.NDArray[np.int32]
    node_attr: npt.NDArray[np.float32]
    y: npt.NDArray[np.int32]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_edges(
        cls,
        nodes_per_graph: IntArray,
        source: IntArray,
        target: IntArray,
        y: IntArray,
        node_label: IntArray | None = None,
        node_attr: npt.NDArray[np.floating[Any]] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> GraphStore:
        """Make a store from edges between global node ids (nodes of graph 0 first, then graph 1, …).

        Edges may come in any order, in one direction or both, repeated, with self-loops: the store keeps each
        undirected edge once per direction and no self-loops, as PyG's TU reader does.
        """
        node_ptr = np.concatenate([[0], np.cumsum(nodes_per_graph, dtype=np.int64)])
        num_nodes = int(node_ptr[-1])
        source, target = source.astype(np.int64, copy=False), target.astype(np.int64, copy=False)
        proper = source != target
        if not proper.all():
            source, target = source[proper], target[proper]
        # One integer per directed edge, ordered by (target, source), which also orders edges by graph. Sorting and
        # comparing neighbours is many times faster than np.unique, which hashes.
        bits = num_nodes.bit_length()
        key = np.concatenate([(target << bits) | source, (source << bits) | target])
        key.sort()
        key = key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key
        target, source = key >> bits, key & ((1 << bits) - 1)
        edge_ptr = np.searchsorted(target, node_ptr)
        local = np.stack([source, target]) - np.repeat(node_ptr[:-1], np.diff(edge_ptr))
        label = np.zeros(num_nodes) if node_label is None else node_label
        attr = np.zeros((num_nodes, 0)) if node_attr is None else node_attr
        return cls(
            node_ptr=node_ptr,
            edge_ptr=edge_ptr.astype(np.int64),
            edge_index=local.astype(np.int32),
            node_label=label.astype(np.int32),
            node_attr=attr.astype(np.float32),
            y=y.astype(np.int32),
            attributes=dict(attributes or {}),
        )

    @classmethod
    def from_pyg(cls, dataset: Iterable[Data], attributes: Mapping[str, Any] | None = None) -> GraphStore:
        """Make a store from a PyG dataset, or any iterable of `Data` with `y`; see `fsgc.data.pyg`."""
        from fsgc.data.pyg import graphs_from_pyg

        return graphs_from_pyg(dataset, attributes)

    @classmethod
    def load(cls, path: Path | str) -> GraphStore:
        """Read a store; `StoreError` if it is missing, damaged or inconsistent."""
        arrays, attributes = read_arrays(Path(path), KIND, ARRAYS)
        try:
            return cls(**arrays, attributes=attributes)
        except DataFormatError as error:
            raise StoreError(f"{path} is inconsistent ({error}); {REMEDY}") from error

    def save(self, path: Path | str) -> None:
        """Write the store as a Zarr group, whole or not at all."""
        attributes = {**self.attributes, "kind": KIND, "version": VERSION}
        write_arrays(Path(path), {name: getattr(self, name) for name in ARRAYS}, attributes)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def num_nodes(self) -> npt.NDArray[np.int64]:
        """Nodes of each graph, `[G]`."""
        return np.diff(self.node_ptr)

    @property
    def num_edges(self) -> npt.NDArray[np.int64]:
        """Undirected edges of each graph, `[G]`."""
        return np.diff(self.edge_ptr) // 2

    @property
    def degree(self) -> npt.NDArray[np.int64]:
        """Degree of every node, `[V]`."""
        first = np.repeat(self.node_ptr[:-1], np.diff(self.edge_ptr))
        return np.bincount(self.edge_index[1] + first, minlength=int(self.node_ptr[-1]))

    @property
    def classes(self) -> npt.NDArray[np.int32]:
        """The distinct class ids, ascending."""
        return np.unique(self.y)

    def fingerprint(self) -> str:
        """A SHA-256 over all arrays: equal exactly for equal graphs in equal order."""
        digest = hashlib.sha256()
        for name in ARRAYS:
            array = getattr(self, name)
            digest.update(f"{name} {array.shape} {array.dtype.str} ".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def select(self, graphs: Sequence[int] | IntArray) -> GraphStore:
        """The store of the given graphs, in that order; a graph may come more than once."""
        index = np.asarray(graphs, dtype=np.int64)
        nodes = self.rows_of(index)
        edges = _ranges(self.edge_ptr, index)
        return replace(
            self,
            node_ptr=_pointer(self.num_nodes[index]),
            edge_ptr=_pointer(np.diff(self.edge_ptr)[index]),
            edge_index=self.edge_index[:, edges],
            node_label=self.node_label[nodes],
            node_attr=self.node_attr[nodes],
            y=self.y[index],
        )

    def followed_by(self, other: GraphStore) -> GraphStore:
        """These graphs and then those of another store, whose nodes must have as many attributes."""
        if self.node_attr.shape[1] != other.node_attr.shape[1]:
            raise DataFormatError(
                f"the nodes of these graphs have {other.node_attr.shape[1]} attributes, those of the graphs before "
                f"them {self.node_attr.shape[1]}"
            )
        return replace(
            self,
            node_ptr=np.concatenate([self.node_ptr, self.node_ptr[-1] + other.node_ptr[1:]]),
            edge_ptr=np.concatenate([self.edge_ptr, self.edge_ptr[-1] + other.edge_ptr[1:]]),
            edge_index=np.concatenate([self.edge_index, other.edge_index], axis=1),
            node_label=np.concatenate([self.node_label, other.node_label]),
            node_attr=np.concatenate([self.node_attr, other.node_attr]),
            y=np.concatenate([self.y, other.y]),
        )

    def rows_of(self, graphs: IntArray) -> npt.NDArray[np.int64]:
        """The rows of the given graphs' nodes in `node_label`, `node_attr` and any feature matrix, concatenated."""
        return _ranges(self.node_ptr, np.asarray(graphs, dtype=np.int64))

    def to_data(self, graph: int, x: Features = None) -> Data:
        """Graph `graph` as a PyG `Data`; `x` are features of all nodes: a matrix `[V, F]` or a `FeatureTable`."""
        from fsgc.data.pyg import data_of

        return data_of(self, graph, x)

    def to_batch(self, graphs: Sequence[int] | IntArray, x: Features = None) -> Batch:
        """The given graphs as one PyG `Batch`, by index arithmetic; `x` as in `to_data`."""
        from fsgc.data.pyg import batch_of

        return batch_of(self, np.asarray(graphs, dtype=np.int64), x)


def _pointer(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _ranges(pointer: npt.NDArray[np.int64], index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The rows `pointer[i]:pointer[i+1]` of every `i` in `index`, concatenated."""
    sizes = np.diff(pointer)[index]
    return np.arange(int(sizes.sum())) + np.repeat(pointer[index] - _pointer(sizes)[:-1], sizes)


def _check(store: GraphStore) -> None:
    """Refuse arrays that are not graphs; the first offending graph is named."""
    graphs, nodes, edges = len(store.y), len(store.node_label), store.edge_index.shape[1]
    if not (len(store.node_ptr) == len(store.edge_ptr) == graphs + 1):
        raise DataFormatError(f"{graphs} classes, but pointers for {len(store.node_ptr) - 1} graphs")
    for pointer, total, what in ((store.node_ptr, nodes, "nodes"), (store.edge_ptr, edges, "edges")):
        if pointer[0] != 0 or pointer[-1] != total or (np.diff(pointer) < 0).any():
            raise DataFormatError(f"the pointers of {what} do not cover the {total} rows")
    if len(store.node_attr) != nodes:
        raise DataFormatError(f"{nodes} nodes, but attributes for {len(store.node_attr)}")
    empty = np.flatnonzero(store.num_nodes == 0)
    if len(empty):
        raise DataFormatError("the graph has no nodes", graph=int(empty[0]))
    unfit = np.flatnonzero(~np.isfinite(store.node_attr).all(axis=1))
    if len(unfit):
        graph = int(np.searchsorted(store.node_ptr, unfit[0], side="right")) - 1
        node = int(unfit[0] - store.node_ptr[graph])
        raise DataFormatError(f"node {node} has an attribute that is not a finite number", graph=graph)
    size = np.repeat(store.num_nodes, np.diff(store.edge_ptr))
    outside = np.flatnonzero(((store.edge_index < 0) | (store.edge_index >= size)).any(axis=0))
    if len(outside):
        graph = int(np.searchsorted(store.edge_ptr, outside[0], side="right")) - 1
        raise DataFormatError(f"an edge names a node outside 0..{size[outside[0]] - 1}", graph=graph)
