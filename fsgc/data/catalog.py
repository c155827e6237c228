"""The catalog: what datasets exist, where their raw files are, and the protocol they are used under.

The entries that come with fsgc are in `catalog.toml`, one table a dataset. A user's own are files of a project,
`datasets/<key>.toml`, written by `fsgc datasets add`; they count wherever a key does. What other tools keep in a folder
of that name is passed over.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from fsgc.errors import CatalogError

CATALOG_FILE = Path(__file__).with_name("catalog.toml")
OWN_VARIABLE = "FSGC_DATASETS"
OWN_FOLDER = "datasets"
KEY = re.compile(r"[a-z][a-z0-9_]{0,40}")
ReaderName = Literal["gsm", "tu", "as_maml", "r52", "triangles_gen", "own"]
WRITTEN_BY = "Written by 'fsgc datasets add'"  # begins the comment at the head of an entry
_ENTRY = re.compile(
    rf"^[ \t]*(#\s*{re.escape(WRITTEN_BY)}|[\"']?reader[\"']?\s*=\s*[\"']({'|'.join(get_args(ReaderName))})[\"'])",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Member:
    """A file inside a zip: its base name, exact size in bytes and SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class RawFile:
    """A file to download.

    Attributes:
        name: its name in `data/raw/<dataset>/`.
        mirror: its name below the mirror.
        urls: public addresses, tried in order.
        size: exact size in bytes; for a zip an upper bound, since archives of the same members may differ.
        sha256: of the file; empty for a zip, whose `members` are verified instead.
        members: for a zip, the members to take; they are stored under their own base names.
    """

    name: str
    mirror: str
    urls: tuple[str, ...]
    size: int
    sha256: str = ""
    members: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Statistics:
    """What a dataset should contain; the averages count each undirected edge once."""

    graphs: int
    classes: int
    nodes: float
    edges: float


@dataclass(frozen=True)
class Dataset:
    """One entry of the catalog; the class ids are those of the paper's table 5.

    Attributes:
        key: its name in `params.yaml` and on the command line.
        title: its name in tables.
        about: what the graphs and classes are.
        reader: which reader turns its raw files into a `GraphStore`.
        way: N, the classes of an episode.
        base: the classes to train on.
        validation: the classes to validate on; empty where part of each base class's graphs is held out instead.
        novel: the classes to test on.
        features: default node features, see `fsgc.data.features`.
        authors_features: those of the authors' code where they differ, taken by the preset `authors`; else empty.
        node_labels: what a node's label means.
        files: the raw files.
        options: settings of the reader.
        statistics: what the store should contain.
        citation: whom to cite.
        terms: what is known of the data's licence.
        variant_of: the key of the dataset this one is another edition of, or empty.
    """

    key: str
    title: str
    about: str
    reader: ReaderName
    way: int
    base: tuple[int, ...]
    validation: tuple[int, ...]
    novel: tuple[int, ...]
    features: tuple[str, ...]
    node_labels: str
    files: tuple[RawFile, ...]
    statistics: Statistics
    citation: str
    terms: str
    options: Mapping[str, Any] = field(default_factory=dict)
    variant_of: str = ""
    authors_features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        groups = (self.base, self.validation, self.novel)
        every = [c for group in groups for c in group]
        if len(set(every)) != len(every):
            raise CatalogError(f"{self.key}: base, validation and novel classes overlap")
        if min(len(self.base), len(self.novel)) < self.way or 0 < len(self.validation) < self.way:
            raise CatalogError(f"{self.key}: fewer classes than way={self.way}")
        if self.reader not in get_args(ReaderName):
            raise CatalogError(f"{self.key}: unknown reader {self.reader!r}, known: {', '.join(get_args(ReaderName))}")

    @property
    def classes(self) -> tuple[int, ...]:
        """All class ids, ascending."""
        return tuple(sorted((*self.base, *self.validation, *self.novel)))


def _raw_file(entry: Mapping[str, Any]) -> RawFile:
    members = tuple(Member(**member) for member in entry.get("members", ()))
    return RawFile(**{**entry, "urls": tuple(entry["urls"]), "members": members})


def _dataset(key: str, entry: Mapping[str, Any]) -> Dataset:
    converted: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    try:
        converted["files"] = tuple(_raw_file(file) for file in entry["files"])
        converted["statistics"] = Statistics(**entry["statistics"])
        return Dataset(key=key, **converted)
    except (KeyError, TypeError) as error:
        raise CatalogError(f"the catalog's entry {key!r} is malformed: {error}") from error


def entry_of(key: str, text: str) -> Dataset:
    """The dataset that the text of a user's own entry describes.

    Raises:
        ValueError: it is not TOML.
        CatalogError: a key is missing, unknown, or has a value that makes no sense.
    """
    return _dataset(key, tomllib.loads(text))


@cache
def catalog_file(path: Path = CATALOG_FILE) -> Mapping[str, Dataset]:
    """The datasets of one file."""
    with path.open("rb") as file:
        return {key: _dataset(key, entry) for key, entry in tomllib.load(file).items()}


def own_directory() -> Path:
    """Where a user's own datasets are: `$FSGC_DATASETS`, else `datasets/` of the project, else of this directory.

    The project is the nearest directory upwards that has `dvc.yaml` or entries of datasets already.
    """
    if value := os.environ.get(OWN_VARIABLE):
        return Path(value)
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / "dvc.yaml").exists() or any(map(is_own_entry, (directory / OWN_FOLDER).glob("*.toml"))):
            return directory / OWN_FOLDER
    return here / OWN_FOLDER


def is_own_entry(file: Path) -> bool:
    """Whether a file is an entry of a user's own dataset, be it edited or damaged; other tools write TOML, too.

    An entry is known by the comment at its head or by its reader: one of the two is left after most edits.
    """
    try:
        return file.is_file() and _ENTRY.search(file.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def own_datasets(directory: Path) -> dict[str, Dataset]:
    """A user's own datasets by key, sorted; files of other tools are passed over."""
    found: dict[str, Dataset] = {}
    for file in filter(is_own_entry, sorted(directory.glob("*.toml"))):
        if not KEY.fullmatch(file.stem) or file.stem in catalog_file():
            raise CatalogError(f"{file} cannot be the dataset {file.stem!r}; delete it or give it another name")
        try:
            found[file.stem] = entry_of(file.stem, file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CatalogError(f"{file} cannot be read ({error}); add the dataset again") from error
        except CatalogError as error:
            raise CatalogError(f"{file}: {error}; add the dataset again") from error
    return found


def load_catalog(path: Path = CATALOG_FILE) -> Mapping[str, Dataset]:
    """All datasets by key: those of the file in its order, then the user's own."""
    return {**catalog_file(path), **own_datasets(own_directory())}


def dataset(key: str) -> Dataset:
    """The entry `key`; an unknown one is an error that suggests the nearest."""
    catalog = load_catalog()
    if key not in catalog:
        file = own_directory() / f"{key}.toml"
        if KEY.fullmatch(key) and file.exists():
            raise CatalogError(
                f"unknown dataset {key!r}: {file} is not an entry of 'fsgc datasets add'; if it was one, delete it and "
                "add the dataset again"
            )
        near = difflib.get_close_matches(key, catalog, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise CatalogError(f"unknown dataset {key!r}{hint} The catalog has: {', '.join(catalog)}")
    return catalog[key]
