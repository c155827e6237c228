"""Thousands of mutated files: each gives graphs or our own error, never anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fsgc.data.formats.read import read_graphs
from fsgc.errors import FsgcError
from tests.data.formats import made
from tests.mutations import mutated

MUTATIONS = 600  # per format


def _smiles(folder: Path) -> None:
    molecules = ["CCO", "c1ccccc1O", "CC(=O)[O-]", "C#N", "[NH4+]", "CC(C)(C)c1ccc2occ(CC(=O)Nc3ccccc3F)c2c1"]
    rows = "".join(f"m{i},{text},{'ab'[i % 2]}\n" for i, text in enumerate(molecules))
    (folder / "molecules.csv").write_text(f"name,smiles,label\n{rows}")


@pytest.mark.parametrize(
    ("write", "format_name"),
    [
        (made.write_tu, "tu"),
        (made.write_csv, "csv"),
        (_smiles, "smiles"),
        (_smiles, "smiles_bonds"),
        (made.write_graphml, "xml"),
        (made.write_gexf, "xml"),
        (made.write_json, "json"),
        (made.write_pyg, "pyg"),
    ],
)
def test_mutated_files(tmp_path: Path, write: Callable[[Path], None], format_name: str) -> None:
    write(tmp_path)
    assert len(read_graphs(tmp_path)) >= 5, "the untouched files are fine"
    files = sorted(file for file in tmp_path.rglob("*") if file.is_file())
    originals = {file: file.read_bytes() for file in files}
    rng = np.random.default_rng(0)
    refused = 0
    for number in range(MUTATIONS):
        file = files[number % len(files)]
        file.write_bytes(mutated(originals[file], rng))
        try:
            raw = read_graphs(tmp_path, format_name)
            raw.findings()
            raw.without_empty().named()
        except FsgcError:
            refused += 1
        file.write_bytes(originals[file])
    assert refused > MUTATIONS // 10, "the mutations are not all harmless"
