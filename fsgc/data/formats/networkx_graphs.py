"""networkx graphs; networkx itself is not imported, a graph brings its methods along."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.records import GraphRecord, assemble
from fsgc.errors import DataFormatError


def is_networkx(graph: Any) -> bool:
    """Whether this is a networkx graph."""
    return all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def raw_from_networkx(graphs: Iterable[Any], classes: Sequence[str | None] | None = None) -> RawGraphs:
    """Take networkx graphs of any kind; edges lose their direction, their attributes are not kept.

    A node's label is its attribute `label`; see `fsgc.data.formats.columns` for the others.

    Args:
        graphs: the graphs.
        classes: the class of each; else the graph's own attribute `label`, if it has one.
    """
    records = []
    for number, graph in enumerate(graphs):
        if not is_networkx(graph):
            raise DataFormatError(f"expected a networkx graph, found {type(graph).__name__}", graph=number)
        klass = graph.graph.get("label") if classes is None else classes[number]
        record = GraphRecord(str(number + 1), klass=None if klass is None else str(klass))
        record.nodes = dict(graph.nodes(data=True))
        record.edges = [(edge[0], edge[1]) for edge in graph.edges()]
        records.append(record)
    if not records:
        raise DataFormatError("there are no graphs")
    return assemble(records)
