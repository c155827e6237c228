"""Molecules as SMILES in a CSV file, read with RDKit, which is the optional extra `chem`.

An atom's label is what SMILES writes for it: its symbol, in lower case if it is aromatic, with its charge if it has one
(`C`, `c`, `N+`). A store keeps no labels of edges, so there are two ways for bonds:

- `smiles`: a node per atom. Bonds come as attributes of their atoms: how many single, double, triple and aromatic ones
  it has, beside its hydrogens and whether it is in a ring. Graph kernels, which look at labels only, see of the bonds
  no more than who is bonded and what is aromatic.
- `smiles_bonds`: a node per atom and one per bond, between its two atoms, whose label is that of SMILES: `-`, `=`, `#`,
  `:`. Every method then tells bonds apart, with twice as many nodes and paths twice as long. Attributes are hydrogens
  and whether the atom or bond is in a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fsgc.data.formats.raw import Floats, Ints, RawGraphs
from fsgc.data.formats.tables import CsvTable, header_of, read_table
from fsgc.errors import DataFormatError, FsgcError

SMILES = ("smiles", "smile", "canonical_smiles")
CLASS = ("label", "class", "y", "activity")
NAME = ("name", "id", "graph", "molecule")
BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}
COUNTED = ("single bonds", "double bonds", "triple bonds", "aromatic bonds")
ATTRIBUTES = ("hydrogens", "in a ring")


def is_smiles_table(file: Path) -> bool:
    """Whether a CSV file has a column of SMILES."""
    return any(name in SMILES for name in header_of(file))


def read_smiles(path: Path, bonds_as_nodes: bool = False) -> RawGraphs:
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
    molecules = _parsed(table, texts)
    drawn = [_with_bonds(molecule) if bonds_as_nodes else _atoms(molecule) for molecule in molecules]
    sizes = np.array([len(each.labels) for each in drawn], dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    source, target = np.concatenate([each.edges + start for each, start in zip(drawn, first, strict=True)], axis=1)
    return RawGraphs(
        names=tuple(table.filled(names)) if names else tuple(str(row + 1) for row in range(len(texts))),
        sizes=sizes,
        source=source,
        target=target,
        classes=tuple(table.blank_or_filled(classes)) if classes else (None,) * len(texts),
        node_label=pl.Series("label", [label for each in drawn for label in each.labels], dtype=pl.String),
        node_attr=np.concatenate([each.attr for each in drawn]),
        attributes=ATTRIBUTES if bonds_as_nodes else (*COUNTED, *ATTRIBUTES),
    )


def read_smiles_bonds(path: Path) -> RawGraphs:
    """The same with a node per bond."""
    return read_smiles(path, bonds_as_nodes=True)


@dataclass(frozen=True)
class _Molecule:
    """Labels and attributes `[n, A]` of the nodes, and the edges, int64 `[2, e]`."""

    labels: list[str]
    attr: Floats
    edges: Ints


def _atoms(molecule: Any) -> _Molecule:
    atoms = list(molecule.GetAtoms())
    rows = []
    for atom in atoms:
        kinds = [str(bond.GetBondType()) for bond in atom.GetBonds()]
        rows.append([*(kinds.count(kind) for kind in BONDS), atom.GetTotalNumHs(), atom.IsInRing()])
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    return _Molecule([_atom_label(atom) for atom in atoms], _rows(rows, len(BONDS) + len(ATTRIBUTES)), _pairs(ends))


def _with_bonds(molecule: Any) -> _Molecule:
    atoms, bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    rows = [[atom.GetTotalNumHs(), atom.IsInRing()] for atom in atoms] + [[0, bond.IsInRing()] for bond in bonds]
    labels = [_atom_label(atom) for atom in atoms]
    labels += [BONDS.get(kind := str(bond.GetBondType()), kind.lower()) for bond in bonds]
    ends = [
        (end, len(atoms) + number)
        for number, bond in enumerate(bonds)
        for end in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    ]
    return _Molecule(labels, _rows(rows, len(ATTRIBUTES)), _pairs(ends))


def _atom_label(atom: Any) -> str:
    symbol, charge = atom.GetSymbol(), atom.GetFormalCharge()
    return (symbol.lower() if atom.GetIsAromatic() else symbol) + ("+" if charge > 0 else "-") * abs(charge)


def _rows(rows: list[list[int]], width: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _pairs(ends: list[tuple[int, int]]) -> Ints:
    return np.array(ends, dtype=np.int64).reshape(-1, 2).T


def _parsed(table: CsvTable, texts: pl.Series) -> list[Any]:
    parse = _parser()
    molecules = []
    for row, text in enumerate(texts):
        molecules.append(parse(text))
        if molecules[-1] is None:
            raise table.refuse(f"{text[:60]!r} is not a molecule in SMILES", row)
    return molecules


def _parser() -> Any:
    try:
        from rdkit import Chem, RDLogger
    except ImportError as error:
        raise FsgcError("molecules in SMILES need RDKit; install it with: pip install 'fsgc[chem]'") from error
    # What RDKit would print to standard error is in our own error.
    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    return Chem.MolFromSmiles
