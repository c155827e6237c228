"""GraphML and GEXF, read with the bare parser of the standard library.

A document type is refused before anything in it is looked at, and with it external entities and entities that expand
without end; neither format needs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.parsers import expat

from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.records import CLASS_KEYS, GraphRecord, assemble, graph_files, with_classes
from fsgc.data.text import read_bytes
from fsgc.errors import DataFormatError

SUFFIXES = (".graphml", ".gexf", ".xml")
_NUMBERS = ("int", "integer", "long", "float", "double", "short", "byte")


def read_xml_graphs(path: Path) -> RawGraphs:
    """Read a GraphML or GEXF file, or all of them in a folder; a file is named after itself, or after its graphs."""
    records: list[GraphRecord] = []
    for file in graph_files(path, SUFFIXES):
        found = _Reader(file).read()
        if len(found) == 1:
            found[0].name = file.stem
        records += found
    if not records:
        raise DataFormatError("there is no graph in it", file=path)
    return assemble(with_classes(records, path))


class _Reader:
    """The state of reading one file: the graph, node and attribute that the parser is in."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.records: list[GraphRecord] = []
        self.keys: dict[tuple[str, str], tuple[str, str, str | None]] = {}  # (for, id) -> name, type, default
        self.path: list[str] = []
        self.values: dict[str, Any] | None = None  # of the node that is being read
        self.key: tuple[str, str] | None = None
        self.key_scope = "node"
        self.text: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.text.append

    def read(self) -> list[GraphRecord]:
        try:
            self.parser.Parse(read_bytes(self.file), True)
        except expat.ExpatError as error:
            raise DataFormatError(
                f"not well-formed XML ({expat.ErrorString(error.code)})", file=self.file, line=error.lineno
            ) from error
        except (LookupError, ValueError) as error:
            raise DataFormatError(f"the encoding cannot be read ({error})", file=self.file, line=1) from error
        return self.records

    def refuse(self, message: str) -> DataFormatError:
        return DataFormatError(message, file=self.file, line=self.parser.CurrentLineNumber)

    def _doctype(self, *_: Any) -> None:
        raise self.refuse("a document type (<!DOCTYPE …>) is not allowed; delete it")

    def _start(self, qualified: str, attributes: Mapping[str, str]) -> None:
        name = qualified.rpartition(" ")[2]
        if not self.path and name not in ("graphml", "gexf"):
            raise self.refuse(f"expected <graphml> or <gexf>, found <{name}>")
        self.path.append(name)
        self.text.clear()
        starter = getattr(self, f"_start_{name}", None)
        if starter is not None:
            starter(attributes)

    def _end(self, qualified: str) -> None:
        name = qualified.rpartition(" ")[2]
        self.path.pop()
        if name in ("data", "default"):
            self._end_value(name)
        elif name == "node":
            self._end_node()
        elif name == "graph":
            self._end_graph()

    def _wanted(self, attributes: Mapping[str, str], name: str) -> str:
        if name not in attributes:
            raise self.refuse(f"<{self.path[-1]}> has no {name}")
        return attributes[name]

    @property
    def graph(self) -> GraphRecord:
        """The graph that is being read."""
        if "graph" not in self.path:
            raise self.refuse(f"<{self.path[-1]}> outside of a graph")
        return self.records[-1]

    def _start_key(self, attributes: Mapping[str, str]) -> None:
        """GraphML: `<key id for attr.name attr.type>`."""
        identity = self._wanted(attributes, "id")
        scope = attributes.get("for", "all")
        self.key = (scope, identity)
        self.keys[self.key] = (attributes.get("attr.name", identity), attributes.get("attr.type", "string"), None)

    def _start_attributes(self, attributes: Mapping[str, str]) -> None:
        """GEXF: `<attributes class>`."""
        self.key_scope = attributes.get("class", "node")

    def _start_attribute(self, attributes: Mapping[str, str]) -> None:
        """GEXF: `<attribute id title type>`."""
        identity = self._wanted(attributes, "id")
        self.key = (self.key_scope, identity)
        self.keys[self.key] = (attributes.get("title", identity), attributes.get("type", "string"), None)

    def _start_graph(self, attributes: Mapping[str, str]) -> None:
        if self.path.count("graph") > 1:
            raise self.refuse("a graph inside a graph is not supported")
        self.records.append(GraphRecord(attributes.get("id", f"{self.file.stem}-{len(self.records)}"), self.file))

    def _start_node(self, attributes: Mapping[str, str]) -> None:
        identity = self._wanted(attributes, "id")
        if self.path.count("node") > 1:
            raise self.refuse("a node inside a node is not supported")
        if identity in self.graph.nodes:
            raise self.refuse(f"the node {identity!r} comes twice")
        self.values = {}
        self.graph.nodes[identity] = self.values
        self.graph.node_lines.append(self.parser.CurrentLineNumber)

    def _start_edge(self, attributes: Mapping[str, str]) -> None:
        self.graph.edges.append((self._wanted(attributes, "source"), self._wanted(attributes, "target")))
        self.graph.edge_lines.append(self.parser.CurrentLineNumber)

    def _start_hyperedge(self, _: Mapping[str, str]) -> None:
        raise self.refuse("a hyperedge is not supported")

    def _start_data(self, attributes: Mapping[str, str]) -> None:
        """GraphML: `<data key>value</data>`; the value is known when it ends."""
        self.key = (self._scope(), self._wanted(attributes, "key"))

    def _start_attvalue(self, attributes: Mapping[str, str]) -> None:
        """GEXF: `<attvalue for value>`."""
        key = (self._scope(), attributes.get("for") or self._wanted(attributes, "id"))
        self._take(key, self._wanted(attributes, "value"))

    def _scope(self) -> str:
        return next((name for name in reversed(self.path) if name in ("node", "edge", "graph")), "graph")

    def _end_value(self, element: str) -> None:
        value, self.text[:] = "".join(self.text).strip(), []
        if self.key is None:
            return
        if element == "default":
            name, kind, _ = self.keys[self.key]
            self.keys[self.key] = (name, kind, value)
        else:
            self._take(self.key, value)
        self.key = None

    def _take(self, key: tuple[str, str], value: str) -> None:
        """Give a value to the node or graph that is being read; those of edges are not kept."""
        scope = key[0]
        found = key if key in self.keys else ("all", key[1])
        if found not in self.keys:
            raise self.refuse(f"the attribute {key[1]!r} is not declared for a {scope}")
        name, kind, _ = self.keys[found]
        if scope == "node" and self.values is not None:
            self.values[name] = self._typed(name, kind, value)
        elif scope == "graph" and self.records and name.lower() in CLASS_KEYS:
            self.graph.klass = value

    def _typed(self, name: str, kind: str, value: str) -> Any:
        if kind == "boolean":
            return float(value.lower() in ("true", "1"))
        if kind not in _NUMBERS or name == "label":
            return value
        try:
            return float(value)
        except ValueError:
            raise self.refuse(f"{name}: {value[:40]!r} is not a number") from None

    def _end_node(self) -> None:
        assert self.values is not None
        for (scope, _), (name, kind, default) in self.keys.items():
            if scope in ("node", "all") and default is not None and name not in self.values:
                self.values[name] = self._typed(name, kind, default)
        self.values = None

    def _end_graph(self) -> None:
        record = self.records[-1]
        if record.klass is None:
            defaults = {name.lower(): value for (scope, _), (name, _, value) in self.keys.items() if scope == "graph"}
            record.klass = next((defaults[key] for key in CLASS_KEYS if defaults.get(key)), None)
