"""Episodes of a dataset with their graphs: what a researcher iterates over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.features import FeatureEncoder
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Part, Split
from fsgc.episodes.store import EpisodeStore
from fsgc.errors import SettingsError, StoreError
from fsgc.integrity import REMEDY

if TYPE_CHECKING:
    from torch_geometric.data import Batch


@dataclass(frozen=True)
class EpisodeBatch:
    """`B` episodes as graph indices.

    Attributes:
        graphs: int64 `[B, N, K+Q]`, class-major.
        shots: K.
    """

    graphs: Tensor
    shots: int

    @classmethod
    def of_labelled(cls, support: Tensor, labels: Tensor, query: Tensor) -> EpisodeBatch:
        """One episode of labelled graphs, any number of each class, and others, whose order is that of `query`.

        Supports of smaller classes are repeated in turn; the last query is repeated until every class has as many.

        Args:
            support: int64 `[S]`, graph indices.
            labels: int64 `[S]`, 0 to C−1, each at least once.
            query: int64 `[M]`, graph indices.
        """
        counts = torch.bincount(labels)
        way, shots = len(counts), int(counts.max())
        first = counts.cumsum(0) - counts
        place = first[:, None] + torch.arange(shots, device=labels.device) % counts[:, None]
        supports = support[labels.argsort(stable=True)][place]  # [C, K]
        queries = -(-len(query) // way)
        padded = query[torch.arange(way * queries, device=query.device).clamp(max=len(query) - 1)]
        return cls(torch.cat([supports, padded.view(way, queries)], 1).unsqueeze(0), shots)

    def to(self, device: torch.device) -> EpisodeBatch:
        """The same on a device."""
        return EpisodeBatch(self.graphs.to(device), self.shots)

    @property
    def support(self) -> Tensor:
        """The supports, `[B, N, K]`."""
        return self.graphs[:, :, : self.shots]

    @property
    def query(self) -> Tensor:
        """The queries, `[B, N, Q]`."""
        return self.graphs[:, :, self.shots :]

    @property
    def support_labels(self) -> Tensor:
        """The class (0..N-1) of each support in the order of `support`, `[N·K]`: the same in every episode."""
        return _class_major(self.graphs.shape[1], self.shots, self.graphs.device)

    @property
    def labels(self) -> Tensor:
        """The class (0..N-1) of each query in the order of `query`, `[B, N·Q]`."""
        episodes, way, queries = self.query.shape
        return _class_major(way, queries, self.graphs.device).expand(episodes, -1)


@dataclass(frozen=True, eq=False)
class Episodes:
    """The stored episodes of a dataset together with its graphs, split and node features.

    Attributes:
        graphs: all graphs of the dataset.
        split: which classes and graphs serve what.
        store: the episodes as graph indices.
        feature_names: what `features` are made of.
        prepared: the store that the method wanted to have prepared for these graphs; None if it wanted none.
    """

    graphs: GraphStore
    split: Split
    store: EpisodeStore
    feature_names: tuple[str, ...]
    prepared: Path | None = None

    @classmethod
    def open(
        cls, graphs: Path, split: Path, store: Path, features: Sequence[str], prepared: Path | None = None
    ) -> Episodes:
        """Open what is stored of a dataset; episodes drawn from other graphs than the stored ones are refused."""
        stored, episodes = GraphStore.load(graphs), EpisodeStore.open(store)
        if episodes.attributes["graphs"] != stored.fingerprint():
            raise StoreError(f"{store} was drawn from other graphs than those stored now; delete it to draw it again")
        divided = Split.load(split)
        origin = (divided.dataset, divided.seed, divided.graphs)
        for file, found in (
            (graphs, (stored.attributes.get("dataset", divided.dataset), divided.seed, len(stored))),
            (store, (episodes.attributes["dataset"], episodes.attributes["seed"], len(stored))),
        ):
            if found != origin:
                raise StoreError(f"{file} is of {found}, but {split} of {origin} (dataset, seed, graphs); {REMEDY}")
        return cls(stored, divided, episodes, tuple(features), prepared)

    @property
    def way(self) -> int:
        """N, the classes of an episode."""
        return self.store.way

    @property
    def shots(self) -> int:
        """K, the supports of a class."""
        return self.store.shots

    @cached_property
    def features(self) -> FeatureTable:
        """The node features of all graphs; scales and vocabularies come from base classes."""
        return self.encoder.encode(self.graphs)

    @cached_property
    def encoder(self) -> FeatureEncoder:
        """What makes features of graphs, these or others."""
        return FeatureEncoder.fit(self.graphs, self.feature_names, self.split.base)

    @property
    def num_features(self) -> int:
        """The width of the node features."""
        return int(self.features.table.shape[1])

    def identity(self) -> str:
        """A SHA-256 over what the episodes are: their graphs, split, counts, seeds and features."""
        what = {
            "episodes": dict(self.store.attributes),
            "held_out": self.split.held_out.tolist(),
            "features": self.feature_names,
        }
        return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()

    def test_fingerprint(self) -> str:
        """A SHA-256 over the test episodes and their graphs: equal where results can be compared in pairs."""
        digest = hashlib.sha256(self.graphs.fingerprint().encode())
        indices = self.store.part("test").astype(np.int64)
        digest.update(f"{indices.shape} {self.shots} ".encode())
        digest.update(indices.tobytes())
        return digest.hexdigest()

    def batches(self, part: Part = "test", batch_size: int = 32, epoch: int = 0) -> Iterator[EpisodeBatch]:
        """Iterate over the episodes of a part as index tensors; of training, over those of one epoch."""
        if batch_size < 1:
            raise SettingsError(f"batch_size: {batch_size} is not a positive number")
        return iter(StoredBatches.of(self, part, batch_size, epoch))

    def pyg_batches(
        self, part: Part = "test", batch_size: int = 32, epoch: int = 0
    ) -> Iterator[tuple[EpisodeBatch, Batch]]:
        """The same with the graphs: a PyG `Batch` of all `B·N·(K+Q)` graphs in the order of `EpisodeBatch.graphs`.

        An embedding `[B·N·(K+Q), d]` of that batch becomes `[B, N, K+Q, d]` by `view(*episodes.graphs.shape, -1)`.
        """
        for episodes in self.batches(part, batch_size, epoch):
            yield episodes, self.graphs.to_batch(episodes.graphs.reshape(-1).numpy(), self.features)


@dataclass(frozen=True, eq=False)
class StoredBatches:
    """Stored episodes in batches; an iterable of its own kind, since Lightning takes a list for a list of loaders.

    Attributes:
        graphs: int64 `[E, N, K+Q]`, the episodes in the order to take them.
        shots: K.
        size: episodes of a batch.
    """

    graphs: Tensor
    shots: int
    size: int

    @classmethod
    def of(cls, episodes: Episodes, part: Part, size: int, epoch: int = 0, first: int | None = None) -> StoredBatches:
        """The episodes of a part, or the first of them; of training, those stored for an epoch."""
        return cls(_indices(episodes.store.part(part, epoch)[:first]), episodes.shots, size)

    @classmethod
    def in_turn(cls, episodes: Episodes, size: int, epoch: int, per_epoch: int) -> StoredBatches:
        """Training episodes where an epoch has `per_epoch` of them, however many are stored for one.

        All stored training episodes are taken one after the other, and the first again after the last.
        """
        store = episodes.store
        number = np.arange(epoch * per_epoch, (epoch + 1) * per_epoch)
        number %= store.settings.train_epochs * store.settings.train_per_epoch
        stored, row = np.divmod(number, store.settings.train_per_epoch)
        rows = [store.train(int(one))[row[stored == one]] for one in dict.fromkeys(stored.tolist())]
        return cls(_indices(np.concatenate(rows)), episodes.shots, size)

    def __iter__(self) -> Iterator[EpisodeBatch]:
        starts = range(0, len(self.graphs), self.size)
        return (EpisodeBatch(self.graphs[start : start + self.size], self.shots) for start in starts)

    def __len__(self) -> int:
        return -(-len(self.graphs) // self.size)


def _class_major(way: int, per_class: int, device: torch.device) -> Tensor:
    return torch.arange(way, device=device).repeat_interleave(per_class)


def _indices(stored: npt.NDArray[np.int32]) -> Tensor:
    return torch.from_numpy(stored.astype(np.int64))
