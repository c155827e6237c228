"""A dataset made up for the tests: random graphs in the TU format, an archive and a plain file to download."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from tests.data.raw_files import plain_file, zip_bytes, zip_file

KEY = "made_up"
ARCHIVE, PLAIN = "tu/MADE-UP.zip", "made up/notes.bin"
_CLASSES, _PER_CLASS, _NODES = 8, 100, 14


def raw_files() -> tuple[dict[str, bytes], str]:
    """The files as a mirror has them, by path, and the entry to append to the catalog."""
    rng = np.random.default_rng(0)
    graphs = _CLASSES * _PER_CLASS
    first = np.arange(graphs)[:, None] * _NODES + 1
    step = rng.integers(1, _NODES, size=(graphs, _NODES))
    source = first + np.arange(_NODES)
    target = first + (np.arange(_NODES) + step) % _NODES
    pairs = np.unique(np.sort(np.stack([source.ravel(), target.ravel()], axis=1)), axis=0)
    y = np.arange(graphs) % _CLASSES
    texts = {
        "A": "".join(f"{a}, {b}\n{b}, {a}\n" for a, b in pairs.tolist()),
        "graph_indicator": "".join(f"{graph}\n" for graph in np.repeat(np.arange(graphs) + 1, _NODES).tolist()),
        "graph_labels": "".join(f"{label}\n" for label in y.tolist()),
    }
    members = {f"MADE-UP_{name}.txt": text.encode() for name, text in texts.items()}
    content = {ARCHIVE: zip_bytes(members), PLAIN: rng.bytes(400_000)}
    statistics = {"graphs": graphs, "classes": _CLASSES, "nodes": float(_NODES), "edges": round(len(pairs) / graphs, 2)}
    return content, _entry(members, content, statistics)


def _entry(members: Mapping[str, bytes], content: Mapping[str, bytes], statistics: Mapping[str, float]) -> str:
    """The table of the catalog; a JSON string, number or list is TOML as well."""
    archive = zip_file("MADE-UP.zip", ARCHIVE, members)
    plain = plain_file("notes.bin", PLAIN, content[PLAIN])
    inline = ", ".join(f"{name} = {value}" for name, value in statistics.items())
    values = {
        **dict.fromkeys(("title", "about", "citation", "terms", "node_labels"), "made up"),
        "reader": "tu",
        "way": 2,
        "base": [0, 1, 2, 3],
        "validation": [],
        "novel": [4, 5, 6, 7],
        "features": ["degree_onehot"],
    }
    lines = [f"\n[{KEY}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    lines += [f"statistics = {{ {inline} }}", 'options = { prefix = "MADE-UP" }']
    for file in (archive, plain):
        lines += [f"[[{KEY}.files]]", f'name = "{file.name}"', f'mirror = "{file.mirror}"', "urls = []"]
        lines += [f"size = {file.size}", f'sha256 = "{file.sha256}"']
        for member in file.members:
            lines += [f"[[{KEY}.files.members]]", f'name = "{member.name}"']
            lines += [f"size = {member.size}", f'sha256 = "{member.sha256}"']
    return "\n".join(lines) + "\n"
