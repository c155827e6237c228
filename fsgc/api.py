"""Loading datasets, splits and episodes by name; what is not stored yet is made first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fsgc.data.build import READERS, build_graphs
from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.download import download, is_downloaded
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split, make_split
from fsgc.episodes.batches import Episodes
from fsgc.episodes.store import EpisodeSettings, EpisodeStore, draw_episodes
from fsgc.errors import SettingsError
from fsgc.workspace import Workspace

log = logging.getLogger(__name__)


def load_graphs(dataset: str) -> GraphStore:
    """The graphs of a dataset of the catalog; downloaded and stored first if they are not there yet."""
    entry, workspace = catalog_entry(dataset), Workspace.find()
    path = workspace.graphs(dataset)
    if not path.exists():
        raw = workspace.raw(dataset)
        if not is_downloaded(entry, raw):
            log.info("downloading %s", entry.title)
            download(entry, raw, workspace.partial(dataset))
        log.info("storing the graphs of %s in %s", entry.title, path)
        build_graphs(entry, raw).save(path)
    return GraphStore.load(path)


def load_split(dataset: str, seed: int = 0) -> Split:
    """The classes and graphs of a dataset that serve training, validation and test."""
    path = Workspace.find().split(dataset, seed)
    if not path.exists():
        make_split(catalog_entry(dataset), load_graphs(dataset).y, seed).save(path)
    return Split.load(path)


def load_episodes(
    dataset: str,
    shots: int,
    seed: int = 0,
    settings: EpisodeSettings | None = None,
    features: Sequence[str] | None = None,
) -> Episodes:
    """The stored episodes of a dataset, with its graphs; drawn first if they are not there yet.

    Args:
        dataset: a key of the catalog.
        shots: K.
        seed: of the split and of the training and validation episodes; the test episodes do not depend on it.
        settings: how many episodes; `None` takes what is stored, or the defaults. Episodes stored under other settings
            are drawn anew; drawing more leaves the first ones as they were.
        features: node features, `None` for the catalog's; see `fsgc.data.features`.
    """
    entry, workspace = catalog_entry(dataset), Workspace.find()
    graphs, split = load_graphs(dataset), load_split(dataset, seed)
    path = workspace.episodes(dataset, shots, seed)
    if not path.exists() or (settings and EpisodeStore.open(path).settings != settings):
        log.info("drawing the episodes of %s in %s", entry.title, path)
        draw_episodes(path, graphs, split, entry.way, shots, seed, settings or EpisodeSettings())
    return Episodes.open(workspace, dataset, shots, seed, features or entry.features)


def read_graphs(reader: str, directory: str | Path, **options: Any) -> GraphStore:
    """Read graphs of your own in one of the known formats.

    Args:
        reader: `"tu"`, `"gsm"` or `"as_maml"`.
        directory: where the files are.
        options: of the reader: `prefix="ENZYMES"` for `tu` and `as_maml`, `file="ENZYMES.txt"` for `gsm`.
    """
    function = {str(name): known for name, known in READERS.items()}.get(reader)
    if function is None:
        raise SettingsError(f"unknown reader {reader!r}; choose from {', '.join(READERS)}")
    try:
        return function(Path(directory), options)
    except KeyError as error:
        raise SettingsError(f"the reader {reader!r} needs the option {error}") from error
