"""Graphs one by one, as XML, JSON and networkx give them, put together into `RawGraphs`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fsgc.data.formats.columns import from_values, why_no_text
from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.tables import read_table
from fsgc.errors import DataFormatError

CLASS_KEYS = ("label", "class", "y")


@dataclass
class GraphRecord:
    """One graph.

    Attributes:
        name: its name.
        file: where it is from, if from a file.
        nodes: what each node says of itself, by its id; in order.
        edges: pairs of ids.
        klass: its class, if it says so.
        node_lines: the line of each node, where a format has lines.
        edge_lines: the line of each edge.
    """

    name: str
    file: Path | None = None
    nodes: dict[Hashable, Mapping[str, Any]] = field(default_factory=dict)
    edges: list[tuple[Hashable, Hashable]] = field(default_factory=list)
    klass: str | None = None
    node_lines: list[int] = field(default_factory=list)
    edge_lines: list[int] = field(default_factory=list)

    def refuse(self, message: str, line: int | None = None) -> DataFormatError:
        """The error for this graph."""
        return DataFormatError(f"graph {self.name!r}: {message}", file=self.file, line=line)

    def check_texts(self, line: int | None = None) -> None:
        """Refuse a name or a class that nothing could write."""
        for what, text in (("its name", self.name), ("its class", self.klass)):
            if text is not None and (reason := why_no_text(text)):
                raise self.refuse(f"{what}: {reason}", line)


def assemble(records: Sequence[GraphRecord]) -> RawGraphs:
    """Put graphs together."""
    for record in records:
        record.check_texts()
    starts = np.cumsum([0, *(len(record.nodes) for record in records)])
    ends: list[tuple[int, int]] = []
    for record, start in zip(records, starts.tolist(), strict=False):
        place = {node: start + number for number, node in enumerate(record.nodes)}
        for number, (source, target) in enumerate(record.edges):
            if source not in place or target not in place:
                unknown = target if source in place else source
                line = record.edge_lines[number] if record.edge_lines else None
                raise record.refuse(f"an edge names the node {unknown!r}, which is not there", line)
            ends.append((place[source], place[target]))

    def refuse(message: str, node: int) -> DataFormatError:
        graph = int(np.searchsorted(starts, node, side="right")) - 1
        record, number = records[graph], node - int(starts[graph])
        line = record.node_lines[number] if record.node_lines else None
        return record.refuse(f"node {list(record.nodes)[number]!r}: {message}", line)

    columns = from_values([values for record in records for values in record.nodes.values()], refuse)
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return RawGraphs(
        names=tuple(record.name for record in records),
        sizes=np.diff(starts),
        source=pairs[:, 0],
        target=pairs[:, 1],
        classes=tuple(record.klass for record in records),
        node_label=columns.label,
        node_attr=columns.attr,
        attributes=columns.names,
    )


def graph_files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder and the folders in it that end in one of `suffixes`, sorted; or the file itself."""
    if not path.is_dir():
        return [path]
    inside = (file for file in path.rglob("*") if file.suffix.lower() in suffixes and file.is_file())
    return sorted(file for file in inside if not is_hidden(file, path))


def is_hidden(file: Path, folder: Path) -> bool:
    """Whether a file, or a folder on the way to it, has a name that begins with a dot."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def with_classes(records: list[GraphRecord], path: Path) -> list[GraphRecord]:
    """Fill in the classes that a folder gives: by `labels.csv`, else by the names of the folders in it."""
    if not path.is_dir():
        return records
    counts = Counter(record.name for record in records)
    for record in records:
        if counts[record.name] > 1 and record.file is not None:  # files of one name in several folders
            record.name = record.file.relative_to(path).with_suffix("").as_posix()
    labels = path / "labels.csv"
    if labels.exists():
        table = read_table(labels)
        names = [table.column("graph", "id", "name", "file"), table.column(*CLASS_KEYS)]
        if names[0] is None or names[1] is None:
            raise DataFormatError("expected the columns 'graph' and 'label'", file=labels, line=1)
        graphs = table.filled(names[0])
        again = (~graphs.is_first_distinct()).arg_true()
        if len(again):
            raise table.refuse(f"the graph {graphs[int(again[0])]!r} comes twice", int(again[0]))
        given = dict(zip(graphs, table.filled(names[1]), strict=True))
        for record in records:
            file = record.file.name if record.file else record.name
            record.klass = given.get(record.name, given.get(file, record.klass))
        return records
    for record in records:
        if record.klass is None and record.file is not None and record.file.parent != path:
            record.klass = record.file.relative_to(path).parts[0]
    return records
