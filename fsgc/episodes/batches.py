"""Episodes of a dataset with their graphs: what a researcher iterates over."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch

from fsgc.data.features import FeatureTable, node_features
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Part, Split
from fsgc.episodes.store import EpisodeStore
from fsgc.errors import SettingsError, StoreError
from fsgc.integrity import REMEDY
from fsgc.workspace import Workspace


@dataclass(frozen=True)
class EpisodeBatch:
    """`B` episodes as graph indices.

    Attributes:
        graphs: int64 `[B, N, K+Q]`, class-major.
        shots: K.
    """

    graphs: Tensor
    shots: int

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
    def labels(self) -> Tensor:
        """The class (0..N-1) of each query in the order of `query`, `[B, N·Q]`."""
        episodes, way, queries = self.query.shape
        return torch.arange(way, device=self.graphs.device).repeat_interleave(queries).expand(episodes, -1)


@dataclass(frozen=True, eq=False)
class Episodes:
    """The stored episodes of a dataset together with its graphs, split and node features.

    Attributes:
        graphs: all graphs of the dataset.
        split: which classes and graphs serve what.
        store: the episodes as graph indices.
        feature_names: what `features` are made of.
        workspace: where they are stored, and with them what methods prepare once for a dataset.
    """

    graphs: GraphStore
    split: Split
    store: EpisodeStore
    feature_names: tuple[str, ...]
    workspace: Workspace | None = None

    @classmethod
    def open(cls, workspace: Workspace, dataset: str, shots: int, seed: int, features: Sequence[str]) -> Episodes:
        """Open what is stored of a dataset; episodes drawn from other graphs than the stored ones are refused."""
        path = workspace.episodes(dataset, shots, seed)
        graphs, split = GraphStore.load(workspace.graphs(dataset)), Split.load(workspace.split(dataset, seed))
        store = EpisodeStore.open(path)
        if store.attributes["graphs"] != graphs.fingerprint():
            raise StoreError(f"{path} was drawn from other graphs than those stored now; delete it to draw it again")
        for file, found, wanted in (
            (workspace.graphs(dataset), graphs.attributes.get("dataset", dataset), dataset),
            (workspace.split(dataset, seed), (split.dataset, split.seed, split.graphs), (dataset, seed, len(graphs))),
            (path, tuple(store.attributes[name] for name in ("dataset", "shots", "seed")), (dataset, shots, seed)),
        ):
            if found != wanted:
                raise StoreError(f"{file} is of {found}, expected {wanted}; {REMEDY}")
        return cls(graphs, split, store, tuple(features), workspace)

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
        return node_features(self.graphs, self.feature_names, self.split.base)

    @property
    def num_features(self) -> int:
        """The width of the node features."""
        return int(self.features.table.shape[1])

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
        indices = torch.from_numpy(self.store.part(part, epoch).astype(np.int64))
        return (
            EpisodeBatch(indices[start : start + batch_size], self.shots)
            for start in range(0, len(indices), batch_size)
        )

    def pyg_batches(
        self, part: Part = "test", batch_size: int = 32, epoch: int = 0
    ) -> Iterator[tuple[EpisodeBatch, Batch]]:
        """The same with the graphs: a PyG `Batch` of all `B·N·(K+Q)` graphs in the order of `EpisodeBatch.graphs`.

        An embedding `[B·N·(K+Q), d]` of that batch becomes `[B, N, K+Q, d]` by `view(*episodes.graphs.shape, -1)`.
        """
        for episodes in self.batches(part, batch_size, epoch):
            yield episodes, self.graphs.to_batch(episodes.graphs.reshape(-1).numpy(), self.features)


@dataclass(frozen=True)
class StoredBatches:
    """The batches of a part; an iterable of its own kind, since Lightning takes a list for a list of loaders.

    Attributes:
        episodes: the stored episodes.
        part: `train`, `val` or `test`.
        size: episodes of a batch.
        epoch: which epoch of training.
        per_epoch: how many episodes to take, where not all; 0 means all. Of training, epoch `e` then takes the stored
            episodes from `e · per_epoch` on, from the first again after the last; of other parts, the first ones.
    """

    episodes: Episodes
    part: Part
    size: int
    epoch: int = 0
    per_epoch: int = 0

    def __iter__(self) -> Iterator[EpisodeBatch]:
        if not self.per_epoch:
            return self.episodes.batches(self.part, self.size, self.epoch)
        store = self.episodes.store
        if self.part != "train":
            first = torch.from_numpy(store.part(self.part)[: self.per_epoch].astype(np.int64))
            return (EpisodeBatch(batch, self.episodes.shots) for batch in torch.split(first, self.size))
        number = np.arange(self.epoch * self.per_epoch, (self.epoch + 1) * self.per_epoch)
        number %= store.settings.train_epochs * store.settings.train_per_epoch
        stored, row = np.divmod(number, store.settings.train_per_epoch)
        rows = np.concatenate([store.train(int(one))[row[stored == one]] for one in dict.fromkeys(stored.tolist())])
        indices = torch.from_numpy(rows.astype(np.int64))
        return (EpisodeBatch(batch, self.episodes.shots) for batch in torch.split(indices, self.size))

    def __len__(self) -> int:
        counts = self.episodes.store.settings
        stored = {"train": counts.train_per_epoch, "val": counts.val, "test": counts.test}[self.part]
        taken = (
            stored if not self.per_epoch else self.per_epoch if self.part == "train" else min(stored, self.per_epoch)
        )
        return -(-taken // self.size)
