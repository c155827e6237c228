"""The text format of GIN and GSM.

```
<number of graphs>
<number of nodes> <class>                          one such line a graph, followed by one line a node:
<tag> <number of neighbours> <neighbour> …         neighbours are nodes of the same graph, counted from 0
```
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.common import check_int32
from fsgc.data.text import IntegerLines, read_integers
from fsgc.errors import DataFormatError


def read_gsm(directory: Path, options: Mapping[str, Any]) -> GraphStore:
    """Read the GSM text file `options["file"]` of `directory`; a node's tag becomes its label."""
    lines = read_integers(directory / options["file"])
    headers = _header_lines(lines)
    starts = lines.line_ptr[:-1]
    nodes_per_graph, y = lines.values[starts[headers]], lines.values[starts[headers] + 1]

    is_node = np.ones(len(starts), dtype=bool)
    is_node[0] = False
    is_node[headers] = False
    node_lines = np.flatnonzero(is_node)
    tag, degree = _tags_and_degrees(lines, node_lines)

    # Neighbours are the tokens of a node line after its first two.
    token = np.repeat(starts[node_lines] + 2 - np.cumsum(degree) + degree, degree) + np.arange(int(degree.sum()))
    neighbour = lines.values[token]
    node = np.repeat(np.arange(len(node_lines)), degree)
    graph = np.repeat(np.arange(len(headers)), nodes_per_graph)[node]
    outside = np.flatnonzero((neighbour < 0) | (neighbour >= nodes_per_graph[graph]))
    if len(outside):
        first = outside[0]
        raise DataFormatError(
            f"neighbour {neighbour[first]} is not a node of a graph with {nodes_per_graph[graph[first]]} nodes",
            file=lines.file,
            line=int(node_lines[node[first]]) + 1,
        )
    check_int32(tag, "the tag", lines.file, node_lines + 1)
    check_int32(y, "the class", lines.file, headers + 1)
    first_node = np.concatenate([[0], np.cumsum(nodes_per_graph)[:-1]])
    return GraphStore.from_edges(nodes_per_graph, node, neighbour + first_node[graph], y, node_label=tag)


def _header_lines(lines: IntegerLines) -> npt.NDArray[np.int64]:
    """Where each graph's first line is (from 0), following the announced node counts through the file."""
    counts = lines.tokens_per_line
    if len(counts) == 0 or counts[0] != 1 or lines.values[0] < 1:
        raise DataFormatError("expected the number of graphs alone on the first line", file=lines.file, line=1)
    graphs, total = int(lines.values[0]), len(counts)
    first_value = lines.values[np.minimum(lines.line_ptr[:-1], len(lines.values) - 1)].tolist()
    headers: list[int] = []
    position = 1
    for graph in range(graphs):
        if position >= total:
            raise DataFormatError(f"the file ends after {graph} of {graphs} graphs", file=lines.file, line=total)
        nodes = first_value[position]
        if counts[position] != 2 or nodes < 1:
            raise DataFormatError(
                f"expected '<number of nodes> <class>' of graph {graph}, with at least one node",
                file=lines.file,
                line=position + 1,
            )
        if position + nodes >= total:
            raise DataFormatError(
                f"graph {graph} should have {nodes} nodes, but the file ends at line {total}",
                file=lines.file,
                line=position + 1,
            )
        headers.append(position)
        position += nodes + 1
    if position < total:
        raise DataFormatError(f"text after the last of {graphs} graphs", file=lines.file, line=position + 1)
    return np.asarray(headers, dtype=np.int64)


def _tags_and_degrees(
    lines: IntegerLines, node_lines: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first two integers of every node line; the second must count the others."""
    counts = lines.tokens_per_line[node_lines]
    short = np.flatnonzero(counts < 2)
    if len(short):
        raise DataFormatError(
            "expected '<tag> <number of neighbours> <neighbour> …'",
            file=lines.file,
            line=int(node_lines[short[0]]) + 1,
        )
    start = lines.line_ptr[node_lines]
    tag, degree = lines.values[start], lines.values[start + 1]
    odd = np.flatnonzero(degree != counts - 2)
    if len(odd):
        raise DataFormatError(
            f"{degree[odd[0]]} neighbours announced, {counts[odd[0]] - 2} listed",
            file=lines.file,
            line=int(node_lines[odd[0]]) + 1,
        )
    return tag, degree
