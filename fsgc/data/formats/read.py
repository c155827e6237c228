"""Reading a file or a folder of graphs in whatever format it is in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from fsgc.data.formats.edge_tables import SOURCE, TARGET, read_edge_tables
from fsgc.data.formats.json_graphs import SUFFIXES as JSON
from fsgc.data.formats.json_graphs import read_json_graphs
from fsgc.data.formats.pyg_file import read_pyg_file
from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.records import is_hidden
from fsgc.data.formats.smiles import is_smiles_table, read_smiles, read_smiles_bonds
from fsgc.data.formats.tables import header_of
from fsgc.data.formats.tu import find_prefix, read_tu_folder
from fsgc.data.formats.unzip import unpacked
from fsgc.data.formats.xml_graphs import SUFFIXES as XML
from fsgc.data.formats.xml_graphs import read_xml_graphs
from fsgc.errors import DataFormatError, SettingsError

FORMATS: Mapping[str, Callable[[Path], RawGraphs]] = {
    "tu": read_tu_folder,
    "csv": read_edge_tables,
    "smiles": read_smiles,
    "smiles_bonds": read_smiles_bonds,
    "xml": read_xml_graphs,
    "json": read_json_graphs,
    "pyg": read_pyg_file,
}
"""By name: TU text; edge lists in CSV; SMILES in CSV, with a node per atom, or per atom and bond; GraphML and GEXF;
node-link JSON; PyG `.pt`."""

_KNOWN = "TU text, edges.csv, a CSV file of SMILES, GraphML, GEXF, node-link JSON or a PyG .pt file"


def read_graphs(path: Path | str, format: str | None = None) -> RawGraphs:  # noqa: A002  (the user's word for it)
    """Read the graphs of a file, a folder or a zip.

    Args:
        path: where they are.
        format: one of `FORMATS`; recognised by names and contents if not given.

    Raises:
        DataFormatError: something is malformed; the message names the file and, where there are lines, the line.
    """
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise SettingsError(f"unknown format {format!r}; choose from {', '.join(FORMATS)}")
    if not path.exists():
        raise DataFormatError("there is no such file or folder", file=path)
    with ExitStack() as stack:
        if path.suffix.lower() == ".zip":
            path = unpacked(path, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fsgc-"))))
        raw = FORMATS[format or recognise(path)](path)
    if len(raw) == 0:
        raise DataFormatError("there is no graph in it", file=path)
    return raw


def recognise(path: Path) -> str:
    """The format of a file or folder."""
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        raise DataFormatError(f"the format was not recognised; expected {_KNOWN}", file=path)
    return found


def _of_file(file: Path) -> str | None:
    suffix = file.suffix.lower()
    if suffix in (".csv", ".tsv"):
        columns = header_of(file)
        if is_smiles_table(file):
            return "smiles"
        return "csv" if set(columns) & set(SOURCE) and set(columns) & set(TARGET) else None
    by_suffix = {**dict.fromkeys(XML, "xml"), **dict.fromkeys(JSON, "json"), ".pt": "pyg"}
    return by_suffix.get(suffix)


def _of_folder(folder: Path) -> str | None:
    if find_prefix(folder) is not None:
        return "tu"
    if (folder / "edges.csv").exists():
        return "csv"
    inside = sorted(file for file in folder.rglob("*") if file.is_file() and not is_hidden(file, folder))
    formats = {_of_file(file) for file in inside if file.name not in ("labels.csv", "nodes.csv")} - {None}
    if len(formats) > 1:
        raise DataFormatError(
            f"there are files of several formats ({', '.join(sorted(map(str, formats)))}); choose one with --format",
            file=folder,
        )
    return formats.pop() if formats else None
