"""`EpisodeStore`: the episodes of one dataset, shot count and seed, drawn once and kept as graph indices."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS, Part, Split
from fsgc.episodes.sampling import sample_episodes, stream_key
from fsgc.episodes.settings import EpisodeSettings
from fsgc.errors import SettingsError
from fsgc.zarr_io import ArrayGroup, open_group, write_arrays

KIND = "fsgc.episodes"
VERSION = 1
Indices = npt.NDArray[np.int32]


class FewerQueriesWarning(UserWarning):
    """The data does not allow as many queries per class as asked for."""


def usable_queries(dataset: str, part: Part, smallest: int, shots: int, queries: int) -> int:
    """Q, lowered to what the smallest class allows, with a warning; less than one is an error."""
    possible = smallest - shots
    if possible < 1:
        raise SettingsError(
            f"shots: {shots} do not fit {dataset!r}: its smallest class has {smallest} {part} graphs, "
            f"which leaves no query; use at most {smallest - 1}"
        )
    if possible < queries:
        warnings.warn(
            f"{dataset}, {shots}-shot, {part}: {possible} instead of {queries} queries per class, "
            f"since the smallest class has {smallest} graphs",
            FewerQueriesWarning,
            stacklevel=3,
        )
    return min(queries, possible)


@dataclass(frozen=True, eq=False)
class EpisodeStore:
    """Episodes as graph indices, int32 `[E, N, K+Q]`, class-major: the first K of a class are its supports.

    Attributes:
        path: the Zarr group.
        attributes: everything needed to draw the episodes again: dataset, way, shots, Q per part, seeds, counts.
    """

    path: Path
    attributes: Mapping[str, Any]
    _group: ArrayGroup = field(repr=False)

    @classmethod
    def open(cls, path: Path | str) -> EpisodeStore:
        """Open a store; its arrays are read when first used."""
        group = open_group(Path(path), KIND)
        return cls(Path(path), group.attributes, group)

    @property
    def way(self) -> int:
        """N, the classes of an episode."""
        return int(self.attributes["way"])

    @property
    def shots(self) -> int:
        """K, the supports of a class."""
        return int(self.attributes["shots"])

    @property
    def settings(self) -> EpisodeSettings:
        """How many episodes of what shape are stored."""
        return EpisodeSettings(**self.attributes["settings"])

    def queries(self, part: Part) -> int:
        """Q, the queries of a class; it may differ between the parts."""
        return int(self.attributes["queries"][part])

    def train(self, epoch: int = 0) -> Indices:
        """The training episodes of one epoch, one chunk of the store: `[train_per_epoch, N, K+Q]`."""
        epochs, rows = self.settings.train_epochs, self.settings.train_per_epoch
        if not 0 <= epoch < epochs:
            raise SettingsError(
                f"epoch {epoch} is not stored: {self.path} has {epochs}; raise episodes.train_epochs to store more"
            )
        return self._group.read("train", slice(epoch * rows, (epoch + 1) * rows))

    @cached_property
    def val(self) -> Indices:
        """All validation episodes."""
        return self._group.read("val")

    @cached_property
    def test(self) -> Indices:
        """All test episodes."""
        return self._group.read("test")

    def part(self, part: Part, epoch: int = 0) -> Indices:
        """The episodes of a part of the split; of training, those of one epoch."""
        return self.train(epoch) if part == "train" else getattr(self, part)


def draw_episodes(
    path: Path, graphs: GraphStore, split: Split, way: int, shots: int, seed: int, settings: EpisodeSettings
) -> None:
    """Draw all episodes and write them to `path`.

    Training and validation episodes depend on `seed`; test episodes on dataset, N, K, Q and `settings.test_seed` only.
    Asking for more episodes or epochs leaves the earlier ones as they were.
    """
    if shots < 1:
        raise SettingsError(f"shots: {shots} is not a positive number")
    counts = {
        "train": settings.train_epochs * settings.train_per_epoch,
        "val": settings.val,
        "test": settings.test,
    }
    arrays: dict[str, Indices] = {}
    queries: dict[str, int] = {}
    for part in PARTS:
        pools = list(split.pools(graphs.y, part).values())
        queries[part] = usable_queries(split.dataset, part, min(map(len, pools)), shots, settings.queries)
        part_seed = settings.test_seed if part == "test" else seed
        key = stream_key(split.dataset, part, way, shots, queries[part], part_seed)
        arrays[part] = sample_episodes(pools, counts[part], way, shots + queries[part], key)
    attributes = {
        "kind": KIND,
        "version": VERSION,
        "dataset": split.dataset,
        "graphs": graphs.fingerprint(),
        "way": way,
        "shots": shots,
        "seed": seed,
        "queries": queries,
        "classes": {part: list(split.pools(graphs.y, part)) for part in PARTS},
        "settings": asdict(settings),
    }
    write_arrays(path, arrays, attributes, chunk_rows={"train": settings.train_per_epoch})
