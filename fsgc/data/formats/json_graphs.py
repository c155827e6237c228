"""Node-link JSON: one graph, a list of graphs, one graph a line, or one a file.

A graph is an object with `nodes`, each with an `id`, and `links` (or `edges`), each with `source` and `target`; its
class is `label` (or `class`, `y`) of the object itself or of its `graph`. That is what networkx, D3 and others write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from fsgc.data.formats.columns import label_text
from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.records import CLASS_KEYS, GraphRecord, assemble, graph_files, with_classes
from fsgc.data.text import read_text
from fsgc.errors import DataFormatError

SUFFIXES = (".json", ".jsonl", ".ndjson")


def read_json_graphs(path: Path) -> RawGraphs:
    """Read a JSON file, or all of them in a folder."""
    records: list[GraphRecord] = []
    for file in graph_files(path, SUFFIXES):
        records += _of_file(file)
    if not records:
        raise DataFormatError("there is no graph in it", file=path)
    return assemble(with_classes(records, path))


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _of_file(file: Path) -> list[GraphRecord]:
    text = read_text(file).lstrip("\ufeff")
    try:
        contents = _graphs_in(text)
    except json.JSONDecodeError as error:
        raise DataFormatError(f"not valid JSON: {error.msg}", file=file, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise DataFormatError(f"not valid JSON: {error}", file=file) from error
    if len(contents) == 1:
        return [_record(contents[0][1], file.stem, file, contents[0][0])]
    return [_record(content, f"{file.stem}-{number}", file, line) for number, (line, content) in enumerate(contents)]


def _graphs_in(text: str) -> list[tuple[int | None, Any]]:
    """The graphs of a file, each with its line if it has one of its own."""
    try:
        whole = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if error.msg != "Extra data" or len(lines) < 2:
            raise
        graphs: list[tuple[int | None, Any]] = []
        for number, line in lines:
            try:
                graphs.append((number, json.loads(line, parse_constant=_no_constant)))
            except json.JSONDecodeError as damage:
                damage.lineno = number
                raise
        return graphs
    return [(None, graph) for graph in whole] if isinstance(whole, list) else [(None, whole)]


def _record(content: Any, name: str, file: Path, line: int | None) -> GraphRecord:
    record = GraphRecord(name, file)
    if not isinstance(content, Mapping) or not isinstance(content.get("nodes"), list):
        raise record.refuse("expected an object with 'nodes' and 'links'", line)
    about = content.get("graph") if isinstance(content.get("graph"), Mapping) else {}
    assert isinstance(about, Mapping)
    record.name = str(content.get("name") or about.get("name") or name)
    klass = next((part[key] for part in (content, about) for key in CLASS_KEYS if part.get(key) is not None), None)
    try:
        record.klass = None if klass is None else label_text(klass)
    except (TypeError, ValueError) as error:
        raise record.refuse(f"its class: {error}", line) from error
    record.check_texts(line)
    for node in content["nodes"]:
        known = dict(node) if isinstance(node, Mapping) else {"id": node}
        identity = known.pop("id", None)
        if not isinstance(identity, str | int):
            raise record.refuse(f"a node needs an 'id', a string or a whole number; found {identity!r}", line)
        if identity in record.nodes:
            raise record.refuse(f"the node {identity!r} comes twice", line)
        record.nodes[identity] = known
    links = content.get("links", content.get("edges", []))
    if not isinstance(links, list):
        raise record.refuse("'links' is not a list", line)
    record.edges = [_link(link, record, line) for link in links]
    return record


def _link(link: Any, record: GraphRecord, line: int | None) -> tuple[str | int, str | int]:
    ends = (link.get("source"), link.get("target")) if isinstance(link, Mapping) else link
    if not isinstance(ends, list | tuple) or len(ends) < 2 or not all(isinstance(end, str | int) for end in ends[:2]):
        raise record.refuse(f"a link needs 'source' and 'target', each a node's id; found {str(link)[:60]}", line)
    return ends[0], ends[1]
