"""The TU format: one file a property, one line a node, an edge or a graph; ids count from 1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.common import check_int32
from fsgc.data.text import read_floats, read_integers
from fsgc.errors import DataFormatError


def read_tu(directory: Path, options: Mapping[str, Any]) -> GraphStore:
    """Read the TU files of `directory`.

    Node labels and node attributes are read where their files exist; edge labels are not kept.

    Args:
        directory: where the files are.
        options: `prefix`, how the files' names begin; `label_offset`, added to every graph label.
    """
    prefix = options["prefix"]
    graph_file, label_file = (
        directory / f"{prefix}_graph_indicator.txt",
        directory / f"{prefix}_graph_labels.txt",
    )
    graph = read_integers(graph_file).table(1)[:, 0]
    y = read_integers(label_file).table(1)[:, 0] + int(options.get("label_offset", 0))
    check_int32(y, "the class", label_file, np.arange(len(y)) + 1)
    nodes_per_graph = _count_nodes(graph, len(y), graph_file)

    edge_file = directory / f"{prefix}_A.txt"
    edges = read_integers(edge_file).table(2)
    outside = np.flatnonzero(((edges < 1) | (edges > len(graph))).any(axis=1))
    if len(outside):
        raise DataFormatError(
            f"the edge {tuple(edges[outside[0]].tolist())} names a node outside 1..{len(graph)}",
            file=edge_file,
            line=int(outside[0]) + 1,
        )
    source, target = edges.T - 1
    crossing = np.flatnonzero(graph[source] != graph[target])
    if len(crossing):
        raise DataFormatError(
            f"the edge {tuple(edges[crossing[0]].tolist())} joins two graphs",
            file=edge_file,
            line=int(crossing[0]) + 1,
        )
    return GraphStore.from_edges(
        nodes_per_graph,
        source,
        target,
        y,
        node_label=_node_labels(directory / f"{prefix}_node_labels.txt", len(graph)),
        node_attr=_node_attributes(directory / f"{prefix}_node_attributes.txt", len(graph)),
    )


def _count_nodes(graph: npt.NDArray[np.int64], graphs: int, file: Path) -> npt.NDArray[np.int64]:
    """Nodes of each graph; the indicator must run from 1 to `graphs`, ascending, without a gap."""
    outside = np.flatnonzero((graph < 1) | (graph > graphs))
    if len(outside):
        raise DataFormatError(
            f"graph {graph[outside[0]]} has no label: there are {graphs}", file=file, line=int(outside[0]) + 1
        )
    descents = np.flatnonzero(np.diff(graph) < 0)
    if len(descents):
        raise DataFormatError("the nodes are not grouped by graph", file=file, line=int(descents[0]) + 2)
    counts = np.bincount(graph - 1, minlength=graphs)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        raise DataFormatError("the graph has no nodes", file=file, graph=int(empty[0]))
    return counts


def _check_rows(rows: int, nodes: int, file: Path) -> None:
    if rows != nodes:
        raise DataFormatError(f"{rows} lines for {nodes} nodes", file=file, line=min(rows, nodes) + 1)


def _node_labels(file: Path, nodes: int) -> npt.NDArray[np.int64] | None:
    if not file.exists():
        return None
    label = read_integers(file).table(1)[:, 0]
    _check_rows(len(label), nodes, file)
    check_int32(label, "the node label", file, np.arange(nodes) + 1)
    return label


def _node_attributes(file: Path, nodes: int) -> npt.NDArray[np.float64] | None:
    if not file.exists():
        return None
    attributes = read_floats(file)
    _check_rows(len(attributes), nodes, file)
    return attributes
