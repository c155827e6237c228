"""Thousands of mutated real files: a reader answers each with a valid store or with our own error, never otherwise."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.as_maml import SETS, read_as_maml
from fsgc.data.readers.gsm import read_gsm
from fsgc.data.readers.r52 import read_r52
from fsgc.data.readers.tu import read_tu
from fsgc.errors import FsgcError
from tests.mutations import mutated

MUTATIONS = 1000  # per format
GRAPHS = 12

Reader = Callable[[Path, Mapping[str, Any]], GraphStore]


def _gsm(mirror: Path, directory: Path) -> dict[str, Any]:
    """The first graphs of the real TRIANGLES."""
    lines = (mirror / "gsm" / "TRIANGLES.txt").read_text().splitlines()
    end = 1
    for _ in range(GRAPHS):
        end += int(lines[end].split()[0]) + 1
    (directory / "x.txt").write_text("\n".join([str(GRAPHS), *lines[1:end]]) + "\n")
    return {"file": "x.txt"}


def _tu(coil_del: Path, directory: Path) -> dict[str, Any]:
    """The first graphs of the real COIL-DEL."""
    graph = np.loadtxt(coil_del / "COIL-DEL_graph_indicator.txt", dtype=int)
    nodes = int((graph <= GRAPHS).sum())
    rows = {"graph_indicator": nodes, "graph_labels": GRAPHS, "node_attributes": nodes}
    for name, count in rows.items():
        with (coil_del / f"COIL-DEL_{name}.txt").open() as file:
            (directory / f"X_{name}.txt").write_text("".join(islice(file, count)))
    with (coil_del / "COIL-DEL_A.txt").open() as file:
        edges = [line for line in islice(file, 20 * nodes) if max(map(int, line.split(","))) <= nodes]
    (directory / "X_A.txt").write_text("".join(edges))
    return {"prefix": "X"}


def _as_maml(mirror: Path, directory: Path) -> dict[str, Any]:
    """The first graphs of each real AS-MAML set, pickled anew."""
    source = mirror / "as-maml" / "TRIANGLES"
    for name in SETS:
        content = pickle.loads((source / f"TRIANGLES_{name}.pickle").read_bytes())
        kept = set(list(content["graph2nodes"])[:4])
        small = {
            "label2graphs": {c: [g for g in graphs if g in kept] for c, graphs in content["label2graphs"].items()},
            "graph2nodes": {g: content["graph2nodes"][g] for g in kept},
            "graph2edges": {g: content["graph2edges"][g] for g in kept},
        }
        (directory / f"X_{name}.pickle").write_bytes(pickle.dumps(small, protocol=3))
    attributes = "node_attributes.pickle"
    (directory / f"X_{attributes}").write_bytes((source / f"TRIANGLES_{attributes}").read_bytes())
    return {"prefix": "X"}


def _r52(mirror: Path, directory: Path) -> dict[str, Any]:
    """The first documents of the real R52."""
    for name in ("R52.txt", "R52.clean.txt"):
        with (mirror / "r52" / name).open() as file:
            (directory / name).write_text("".join(islice(file, 60)))
    return {"window": 6, "min_words": 1, "max_words": 67, "min_documents": 3}


@pytest.mark.real
@pytest.mark.parametrize(
    ("read", "prepare"), [(read_gsm, _gsm), (read_tu, _tu), (read_as_maml, _as_maml), (read_r52, _r52)]
)
def test_mutated_real_files(
    mirror: Path, coil_del: Path, tmp_path: Path, read: Reader, prepare: Callable[[Path, Path], dict[str, Any]]
) -> None:
    options = prepare(coil_del if prepare is _tu else mirror, tmp_path)
    assert len(read(tmp_path, options)) > 3, "the untouched files are fine"
    files = sorted(file for file in tmp_path.iterdir() if file.stat().st_size < 200_000)
    originals = {file: file.read_bytes() for file in files}
    rng = np.random.default_rng(0)
    refused = 0
    for number in range(MUTATIONS):
        file = files[number % len(files)]
        file.write_bytes(mutated(originals[file], rng))
        try:
            store = read(tmp_path, options)
        except FsgcError:
            refused += 1
        else:
            assert isinstance(store, GraphStore)  # its constructor has checked every invariant
        file.write_bytes(originals[file])
    assert MUTATIONS // 5 < refused < MUTATIONS, "the mutations are neither all harmless nor all fatal"
