"""The pickle format of AS-MAML.

Three files of sets, each a dictionary of `label2graphs` (class -> graph ids), `graph2nodes` (graph id -> node ids) and
`graph2edges` (graph id -> pairs of node ids), and one of node attributes: row `i` belongs to node id `i`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.data.pickles import load_pickle
from fsgc.data.readers.common import check_int32
from fsgc.errors import DataFormatError

SETS = ("train_set", "val_set", "test_set")
_INT64 = np.iinfo(np.int64)


def read_as_maml(directory: Path, options: Mapping[str, Any]) -> GraphStore:
    """Read `<prefix>_{train,val,test}_set.pickle` and `<prefix>_node_attributes.pickle` of `directory`.

    The graphs of the three sets are put in the order of their ids; which set a graph came from is not kept, since the
    split is fsgc's own.

    Args:
        directory: where the files are.
        options: `prefix`, how the files' names begin.
    """
    prefix = options["prefix"]
    sets = [_read_set(directory / f"{prefix}_{name}.pickle") for name in SETS]
    graph_id, y = (np.concatenate([part[column] for part in sets]) for column in (0, 1))
    order = np.argsort(graph_id, kind="stable")
    graph_id, y = graph_id[order], y[order]
    repeated = np.flatnonzero(np.diff(graph_id) == 0)
    if len(repeated):
        raise DataFormatError(f"graph id {graph_id[repeated[0]]} is in two sets", file=directory / f"{prefix}_*.pickle")

    # Nodes in the order of their graphs; a node's place is found by its id, whatever ids the files use.
    node_graph = np.searchsorted(graph_id, np.concatenate([part[2] for part in sets]))
    node_id = np.concatenate([part[3] for part in sets])
    by_graph = np.argsort(node_graph, kind="stable")
    node_graph, node_id = node_graph[by_graph], node_id[by_graph]
    by_id = np.argsort(node_id, kind="stable")
    shared = np.flatnonzero(np.diff(node_id[by_id]) == 0)
    if len(shared):
        raise DataFormatError(
            f"node {node_id[by_id[shared[0]]]} is listed twice",
            file=directory,
            graph=int(node_graph[by_id[shared[0]]]),
        )

    edge_graph = np.searchsorted(graph_id, np.concatenate([part[4] for part in sets]))
    ends = np.concatenate([part[5] for part in sets])
    place = by_id[np.minimum(np.searchsorted(node_id[by_id], ends), len(node_id) - 1)]
    unknown = (node_id[place] != ends) | (node_graph[place] != edge_graph[:, None])
    if unknown.any():
        row, column = np.argwhere(unknown)[0]
        raise DataFormatError(
            f"an edge names node {ends[row, column]}, which is not a node of graph id {graph_id[edge_graph[row]]}",
            file=directory / f"{prefix}_*.pickle",
            graph=int(edge_graph[row]),
        )
    attributes = _read_attributes(directory / f"{prefix}_node_attributes.pickle", node_id)
    nodes_per_graph = np.bincount(node_graph, minlength=len(graph_id))
    return GraphStore.from_edges(nodes_per_graph, place[:, 0], place[:, 1], y, node_attr=attributes)


_Columns = tuple[npt.NDArray[np.int64], ...]


def _read_set(file: Path) -> _Columns:
    """One file of graphs, flattened.

    Returns:
        Graph ids `[G]` and classes `[G]`; of every node graph id and node id `[V]`; of every edge graph id `[E]` and
        node ids `[E, 2]`.
    """
    content = load_pickle(file)
    parts = []
    for key in ("label2graphs", "graph2nodes", "graph2edges"):
        if not isinstance(content, dict) or not isinstance(content.get(key), dict):
            raise DataFormatError(f"expected a dictionary with a dictionary {key!r}", file=file)
        parts.append(content[key])
    label2graphs, graph2nodes, graph2edges = parts

    graph, y = _flatten(label2graphs, file, "label2graphs")[::-1]
    check_int32(y, "the class", file, np.zeros(len(y), np.int64))
    node_graph, node = _flatten(graph2nodes, file, "graph2nodes")
    if set(graph.tolist()) != set(graph2nodes) or set(graph2nodes) != set(graph2edges):
        raise DataFormatError("label2graphs, graph2nodes and graph2edges do not name the same graphs", file=file)
    edge_graph, pairs = _lists(graph2edges, file, "graph2edges")
    if not {type(pair) for pair in pairs} <= {list, tuple} or not {len(pair) for pair in pairs} <= {2}:
        raise DataFormatError("graph2edges: expected pairs of node ids", file=file)
    edge = _integers(chain.from_iterable(pairs), file, "graph2edges").reshape(-1, 2)
    return graph, y, node_graph, node, edge_graph, edge


def _lists(mapping: dict[Any, Any], file: Path, what: str) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """The keys, each repeated as often as its list is long, and all lists chained."""
    for key, value in mapping.items():
        if not isinstance(value, list | tuple):
            raise DataFormatError(f"{what}[{key}]: expected a list, found {type(value).__name__}", file=file)
    keys = _integers(mapping, file, what)
    return np.repeat(keys, [len(value) for value in mapping.values()]), list(chain.from_iterable(mapping.values()))


def _flatten(mapping: dict[Any, Any], file: Path, what: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    keys, values = _lists(mapping, file, what)
    return keys, _integers(values, file, what)


def _integers(values: Iterable[Any], file: Path, what: str) -> npt.NDArray[np.int64]:
    listed = list(values)
    strange = {type(value) for value in listed} - {int}
    if strange:
        names = ", ".join(sorted(kind.__name__ for kind in strange))
        raise DataFormatError(f"{what}: expected integers, found {names}", file=file)
    if listed and not _INT64.min <= min(listed) <= max(listed) <= _INT64.max:
        raise DataFormatError(f"{what}: an id does not fit 64 bits", file=file)
    return np.array(listed, dtype=np.int64)


def _read_attributes(file: Path, node_id: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The attribute rows of the nodes `node_id`, `[V, A]`."""
    content = load_pickle(file)
    if isinstance(content, list) and {type(value) for value in content} <= {str, int, float}:
        try:
            content = np.array([float(value) for value in content])
        except (ValueError, OverflowError) as error:
            raise DataFormatError(f"an attribute is not a number: {error}", file=file) from error
    if not isinstance(content, np.ndarray) or content.ndim not in (1, 2) or content.dtype.kind not in "iuf":
        raise DataFormatError("expected a list of numbers or an array of one or two dimensions", file=file)
    table = content.reshape(len(content), -1) if content.size else content.reshape(0, 1)
    outside = np.flatnonzero((node_id < 0) | (node_id >= len(table)))
    if len(outside):
        raise DataFormatError(f"{len(table)} rows, but none for node {node_id[outside[0]]}", file=file)
    rows: npt.NDArray[np.float64] = table[node_id].astype(np.float64)
    unfit = np.flatnonzero(~(np.abs(rows) <= np.finfo(np.float32).max).all(axis=1))
    if len(unfit):
        raise DataFormatError(f"node {node_id[unfit[0]]} has an attribute that is not a finite number", file=file)
    return rows
