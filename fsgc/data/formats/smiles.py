"""Molecules as SMILES in a CSV file, read with RDKit, which is the optional extra `chem`.

An atom's label is its symbol, with its charge if it has one (`N+`). A store keeps no labels of edges, so the bonds come
as attributes of their atoms: how many single, double, triple and aromatic ones it has, beside its hydrogens and whether
it is in a ring.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.tables import CsvTable, header_of, read_table
from fsgc.errors import DataFormatError, FsgcError

SMILES = ("smiles", "smile", "canonical_smiles")
CLASS = ("label", "class", "y", "activity")
NAME = ("name", "id", "graph", "molecule")
BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
ATTRIBUTES = ("single bonds", "double bonds", "triple bonds", "aromatic bonds", "hydrogens", "in a ring")


def is_smiles_table(file: Path) -> bool:
    """Whether a CSV file has a column of SMILES."""
    return any(name in SMILES for name in header_of(file))


def read_smiles(path: Path) -> RawGraphs:
    """Read the molecules of a CSV file with a column `smiles`, and, if known, `label` and `name`; or of a folder."""
    files = [file for file in sorted(path.glob("*.csv")) if is_smiles_table(file)] if path.is_dir() else [path]
    if len(files) != 1:
        raise DataFormatError(f"expected one CSV file with a column 'smiles', found {len(files)}", file=path)
    table = read_table(files[0])
    column, classes, names = (table.column(*known) for known in (SMILES, CLASS, NAME))
    if column is None:
        raise DataFormatError("there is no column 'smiles'", file=files[0], line=1)
    texts = table.filled(column)
    if len(texts) == 0:
        raise DataFormatError("there is no molecule in it", file=files[0])
    return _molecules(
        table,
        texts,
        tuple(table.filled(names)) if names else tuple(str(row + 1) for row in range(len(texts))),
        tuple(table.filled(classes)) if classes else (None,) * len(texts),
    )


def _molecules(table: CsvTable, texts: pl.Series, names: tuple[str, ...], classes: tuple[str | None, ...]) -> RawGraphs:
    sizes: list[int] = []
    labels: list[str] = []
    attr: list[list[int]] = []
    ends: list[tuple[int, int]] = []
    parse = _parser()
    for row, text in enumerate(texts):
        molecule = parse(text)
        if molecule is None:
            raise table.refuse(f"{text[:60]!r} is not a molecule in SMILES", row)
        start = len(labels)
        for atom in molecule.GetAtoms():
            charge = atom.GetFormalCharge()
            labels.append(atom.GetSymbol() + ("+" if charge > 0 else "-") * abs(charge))
            kinds = [str(bond.GetBondType()) for bond in atom.GetBonds()]
            attr.append([*(kinds.count(kind) for kind in BONDS), atom.GetTotalNumHs(), int(atom.IsInRing())])
        ends += [(start + bond.GetBeginAtomIdx(), start + bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
        sizes.append(len(labels) - start)
    source, target = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return RawGraphs(
        names=names,
        sizes=np.array(sizes, dtype=np.int64),
        source=source,
        target=target,
        classes=classes,
        node_label=pl.Series("label", labels, dtype=pl.String),
        node_attr=np.array(attr, dtype=np.float64).reshape(len(labels), len(ATTRIBUTES)),
        attributes=ATTRIBUTES,
    )


def _parser() -> Any:
    try:
        from rdkit import Chem, RDLogger
    except ImportError as error:
        raise FsgcError("molecules in SMILES need RDKit; install it with: pip install 'fsgc[chem]'") from error
    # What RDKit would print to standard error is in our own error.
    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    return Chem.MolFromSmiles
