"""A user's own datasets in the catalog: what `fsgc datasets add` and `remove` do.

A dataset is one small file of the project, `datasets/<name>.toml`, with the same keys as an entry of the catalog. The
graphs stay where they are, and the file holds their digest; what comes from an address is downloaded like any other.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from fsgc.data.build import statistics_of
from fsgc.data.catalog import KEY, WRITTEN_BY, Dataset, catalog_file, entry_of, is_own_entry, own_directory
from fsgc.data.features import FEATURES
from fsgc.data.formats.raw import Findings, NamedGraphs, in_order
from fsgc.data.formats.read import read_graphs
from fsgc.data.graph_store import GraphStore
from fsgc.data.informative import Column, features_for, node_columns
from fsgc.data.own_download import download_file
from fsgc.data.own_split import Proposal, propose_split
from fsgc.data.toml import as_toml
from fsgc.errors import CatalogError, DataFormatError, SettingsError
from fsgc.files import remove, replacing, sha256_of
from fsgc.workspace import Workspace

RESERVED = ("default", "train", "presets")  # keys of a section of params.yaml, beside those of datasets
MIN_CLASS = 20
STORED = ("raw", "graphs", "splits", "episodes", "prepared", ".training", ".partial")  # folders of a workspace
HEAD = f"""{WRITTEN_BY}; the keys are explained in fsgc/data/catalog.py. Class ids are places in
`options.classes`. Classes may be moved between base, validation and novel by hand."""


@dataclass(frozen=True)
class Choices:
    """What a user may choose about a dataset.

    Attributes:
        way: N; None leaves it to the rule of `own_split`.
        min_class: classes of fewer graphs are left out.
        drop_empty: whether graphs without nodes are left out; else they are an error.
        novel: the novel classes; None leaves them to the rule.
        leave_out: classes to leave out.
        format: of the files; recognised if None.
        features: node features; None takes those that are not constant.
    """

    way: int | None = None
    min_class: int = MIN_CLASS
    drop_empty: bool = False
    novel: Sequence[str] | None = None
    leave_out: Sequence[str] = ()
    format: str | None = None
    features: Sequence[str] | None = None


@dataclass(frozen=True)
class Added:
    """What was found in a dataset and became of it.

    Attributes:
        file: the entry that was written.
        named: the graphs that are used.
        findings: what was unusual about those that were read.
        sizes: class -> graphs, of all classes with nodes in them.
        small: those of them left out because they are too small.
        split: which classes serve what.
        columns: what node labels and attributes tell about the base classes.
        features: the node features chosen.
    """

    file: Path
    named: NamedGraphs
    findings: Findings
    sizes: Mapping[str, int]
    small: Mapping[str, int]
    split: Proposal
    columns: Sequence[Column]
    features: tuple[str, ...]


def add_dataset(source: str, name: str, choices: Choices, sha256: str = "", replace: bool = False) -> Added:
    """Read a folder, a file, a zip or an address (with its SHA-256), check it, and write its entry.

    Args:
        source: where the graphs are.
        name: the key that the dataset is to have.
        choices: what else is to be decided.
        sha256: what the file at an address must have.
        replace: whether a dataset of that name may be overwritten.
    """
    target = _free_name(name, replace)
    is_address = source.lower().startswith(("http://", "https://"))
    if not is_address and any(Path(source).resolve().is_relative_to(path.resolve()) for path in _stored(name)):
        raise SettingsError(
            f"{source} is among what fsgc stores of {name!r} and would be removed with it; move the graphs elsewhere"
        )
    unknown = [feature for feature in choices.features or () if feature not in FEATURES]
    if unknown:
        raise SettingsError(f"features: {unknown[0]!r} is unknown; there are {', '.join(FEATURES)}")
    with tempfile.TemporaryDirectory(prefix="fsgc-") as scratch:
        path = Path(scratch) / _file_name(source) if is_address else Path(source)
        if is_address:
            download_file(source, sha256, path)
        raw = read_graphs(path, choices.format)
        digest, size = digest_of(path), path.stat().st_size
    findings = raw.findings()
    if findings.without_class:
        nameless = raw.names[raw.classes.index(None)]
        raise DataFormatError(f"{findings.without_class} graphs have no class, the first is {nameless!r}", file=source)
    if findings.without_nodes and choices.drop_empty:
        raw = raw.without_empty()
    counts = Counter(str(c) for c in raw.classes)
    sizes = {c: counts[c] for c in in_order(counts)}
    for c in choices.leave_out:
        if c not in sizes:
            raise SettingsError(f"there is no class {c!r} to leave out; there are {', '.join(sizes)}")
    small = {c: n for c, n in sizes.items() if n < choices.min_class and c not in choices.leave_out}
    used = {c: n for c, n in sizes.items() if c not in small and c not in choices.leave_out}
    split = propose_split(name, used, choices.way, choices.novel, small)
    named = raw.named(classes=list(used))
    place = {c: number for number, c in enumerate(used)}
    columns = node_columns(named, [place[c] for c in split.base])
    features = tuple(choices.features or features_for(columns))
    options = {
        "path": _inside(source, is_address, target.parent.parent),
        "sha256": digest,
        "classes": list(used),
        "drop_empty": choices.drop_empty,
        **({"format": choices.format} if choices.format else {}),
    }
    entry = _entry(name, source, split, place, named, features, options)
    if is_address:
        file = str(options["path"])
        entry["files"] = [{"name": file, "mirror": f"own/{file}", "urls": [source], "size": size, "sha256": digest}]
    text = _readable(name, entry, target)
    _forget(name)
    with replacing(target) as partial:
        partial.write_text(text, encoding="utf-8")
    return Added(target, named, findings, sizes, small, split, columns, features)


def _readable(name: str, entry: Mapping[str, Any], target: Path) -> str:
    """An entry as text, read back first: every later command reads it, and one that cannot be read stops them all."""
    text = as_toml(entry, HEAD)
    try:
        entry_of(name, text)
    except (ValueError, CatalogError) as error:
        raise CatalogError(
            f"{target} was not written, since it could not be read again ({error}); rename the graphs' "
            "file or folder, or the class, that has such a character in its name"
        ) from error
    return text


def remove_dataset(name: str) -> list[Path]:
    """Delete the entry of a dataset and everything stored of it; the user's own files are not touched."""
    file = own_directory() / f"{name}.toml"
    if not KEY.fullmatch(name) or not file.exists():
        raise CatalogError(f"there is no dataset {name!r} of your own: {file} does not exist")
    if not is_own_entry(file):
        raise CatalogError(
            f"{file} is not an entry of 'fsgc datasets add' and stays; if it was one, delete it yourself"
        )
    file.unlink()
    return [file, *_forget(name)]


def read_own(raw: Path, options: Mapping[str, Any]) -> GraphStore:
    """The graphs of an entry; `raw` is the directory of its downloaded files, if it has any."""
    path = raw / options["path"]
    if not path.exists():
        path = own_directory().parent / options["path"]
    if not path.exists():
        raise DataFormatError("there is no such file or folder; put it back, or add the dataset again", file=path)
    if digest_of(path) != options["sha256"]:
        raise DataFormatError(
            "it has changed since the dataset was added; add it again with 'fsgc datasets add … --replace'", file=path
        )
    graphs = read_graphs(path, options.get("format"))
    graphs = graphs.without_empty() if options["drop_empty"] else graphs
    return graphs.named(classes=options["classes"]).store


def digest_of(path: Path) -> str:
    """A SHA-256 over a file, or over the names and contents of all files of a folder but hidden ones."""
    if not path.is_dir():
        return sha256_of(path)
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        inner = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in inner.parts):
            # A name on Linux is bytes, which need not be UTF-8.
            digest.update(f"{inner.as_posix()}\0{sha256_of(file)}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _free_name(name: str, replace: bool) -> Path:
    if not KEY.fullmatch(name) or name in RESERVED:
        raise SettingsError(
            f"name: {name!r} cannot be a dataset's; use lower-case letters, digits and underscores, a letter first, "
            f"and none of {', '.join(RESERVED)}"
        )
    if name in catalog_file():
        raise SettingsError(f"name: {name!r} is a dataset of fsgc's own catalog; choose another name")
    target = own_directory() / f"{name}.toml"
    if target.exists() and not is_own_entry(target):
        raise SettingsError(
            f"name: {target} exists and is not an entry of 'fsgc datasets add'; choose another name, or move it away"
        )
    if target.exists() and not replace:
        raise SettingsError(f"name: {target} exists already; choose another name, or give --replace")
    return target


def _inside(source: str, is_address: bool, root: Path) -> str:
    """Where the graphs are, for the entry: a name in the raw directory, or a path, relative if within the project."""
    if is_address:
        return _file_name(source)
    path = Path(source).resolve()
    return path.relative_to(root.resolve()).as_posix() if path.is_relative_to(root.resolve()) else str(path)


def _file_name(address: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", PurePosixPath(urlsplit(address).path).name).lstrip(".")
    return name or "graphs.zip"


def _forget(name: str) -> list[Path]:
    """Delete what is stored of a dataset of this name: it may be of other graphs."""
    stored = _stored(name)
    for path in stored:
        remove(path)
    return stored


def _stored(name: str) -> list[Path]:
    """What fsgc itself has made of a dataset; other folders of the data root may be the user's."""
    return [
        path
        for folder in STORED
        for path in sorted((Workspace.find().root / folder).glob("*"))
        if path.name == name or path.name.startswith((f"{name}-", f"{name}."))  # keys have neither dot nor dash
    ]


def source_of(entry: Dataset) -> Path | None:
    """Where the graphs of a user's own dataset are; `None` for one of the catalog, or from an address."""
    if entry.reader != "own" or entry.files:
        return None
    return own_directory().parent / str(entry.options["path"])


def _entry(
    name: str, source: str, split: Proposal, place: Mapping[str, int], named: NamedGraphs, features: tuple[str, ...],
    options: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    found = statistics_of(named.store)
    return {
        "title": name,
        "about": f"{len(named.store)} graphs of {source}",
        "reader": "own",
        "way": split.way,
        **{part: sorted(place[c] for c in getattr(split, part)) for part in ("base", "validation", "novel")},
        "features": list(features),
        "node_labels": "the user's" if named.vocabulary.labels else "none",
        "citation": "the user's own graphs",
        "terms": "the user's own",
        "files": [],
        "statistics": {
            "graphs": found.graphs, "classes": found.classes, "nodes": found.nodes, "edges": found.edges,
        },
        "options": options,
    }  # fmt: skip
