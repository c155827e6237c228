"""The TU format, as people write it: gaps in the indicator, unsorted nodes, labels of any kind, several columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from fsgc.data.formats.raw import Floats, Ints, RawGraphs
from fsgc.data.text import read_floats, read_integers, read_text
from fsgc.errors import DataFormatError


def find_prefix(directory: Path) -> str | None:
    """How the files' names begin: of the one `…_A.txt` of a directory; None if there is none."""
    found = sorted(directory.glob("*_A.txt"))
    if len(found) > 1:
        raise DataFormatError(
            f"there are several datasets ({', '.join(file.name for file in found[:3])}); give each a folder of its own",
            file=directory,
        )
    return found[0].name.removesuffix("_A.txt") if found else None


def read_tu_folder(directory: Path, prefix: str | None = None) -> RawGraphs:
    """Read the TU files of a folder.

    A graph that the indicator does not name has no nodes. Lines of `graph_labels` and `node_labels` are taken as text;
    several columns of a node's labels are one label together. Without `graph_labels` the graphs have no class.
    """
    prefix = prefix or find_prefix(directory)
    if prefix is None:
        raise DataFormatError("there is no file …_A.txt", file=directory)
    graph_file = directory / f"{prefix}_graph_indicator.txt"
    graph = read_integers(graph_file).table(1)[:, 0]
    classes = _lines(directory / f"{prefix}_graph_labels.txt")
    graphs = int(graph.max(initial=0)) if classes is None else len(classes)
    outside = np.flatnonzero((graph < 1) | (graph > graphs))
    if len(outside):
        raise DataFormatError(
            f"graph {graph[outside[0]]} has no label: there are {graphs}", file=graph_file, line=int(outside[0]) + 1
        )
    if graphs > len(graph) + 1_000_000:
        raise DataFormatError(f"{graphs} graphs for {len(graph)} nodes", file=graph_file)
    order = np.argsort(graph, kind="stable")  # nodes of a graph need not stand together
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    source, target = place[_edges(directory / f"{prefix}_A.txt", graph)].T
    labels = _lines(directory / f"{prefix}_node_labels.txt", len(graph))
    attr = _attributes(directory / f"{prefix}_node_attributes.txt", len(graph))
    return RawGraphs(
        names=tuple(str(number + 1) for number in range(graphs)),
        sizes=np.bincount(graph - 1, minlength=graphs),
        source=source,
        target=target,
        classes=tuple(classes) if classes is not None else (None,) * graphs,
        node_label=None if labels is None else labels.gather(order),
        node_attr=attr[order],
        attributes=tuple(f"attribute {column + 1}" for column in range(attr.shape[1])),
    )


def _edges(file: Path, graph: Ints) -> Ints:
    edges = read_integers(file).table(2)
    outside = np.flatnonzero(((edges < 1) | (edges > len(graph))).any(axis=1))
    if len(outside):
        shown = tuple(edges[outside[0]].tolist())
        raise DataFormatError(
            f"the edge {shown} names a node outside 1..{len(graph)}", file=file, line=int(outside[0]) + 1
        )
    crossing = np.flatnonzero(graph[edges[:, 0] - 1] != graph[edges[:, 1] - 1])
    if len(crossing):
        shown = tuple(edges[crossing[0]].tolist())
        raise DataFormatError(f"the edge {shown} joins two graphs", file=file, line=int(crossing[0]) + 1)
    return edges - 1


def _lines(file: Path, expected: int | None = None) -> pl.Series | None:
    """The lines of a file as text, blanks around them and after commas dropped; None if there is no such file."""
    if not file.exists():
        return None
    lines = pl.Series(read_text(file).rstrip().split("\n"), dtype=pl.String).str.strip_chars()
    lines = lines.str.replace_all(r"\s*,\s*|\s+", ",")
    empty = (lines == "").arg_true()
    if len(empty):
        raise DataFormatError("the line is empty", file=file, line=int(empty[0]) + 1)
    if expected is not None and len(lines) != expected:
        raise DataFormatError(f"{len(lines)} lines for {expected} nodes", file=file, line=min(len(lines), expected) + 1)
    return lines


def _attributes(file: Path, nodes: int) -> Floats:
    if not file.exists():
        return np.zeros((nodes, 0))
    attr = read_floats(file)
    if len(attr) != nodes:
        raise DataFormatError(f"{len(attr)} lines for {nodes} nodes", file=file, line=min(len(attr), nodes) + 1)
    return attr
