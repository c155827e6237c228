"""Episodes of a dataset with their graphs: what a researcher iterates over."""

from __future__ import annotations

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
    """

    graphs: GraphStore
    split: Split
    store: EpisodeStore
    feature_names: tuple[str, ...]

    @classmethod
    def open(cls, workspace: Workspace, dataset: str, shots: int, seed: int, features: Sequence[str]) -> Episodes:
        """Open what is stored of a dataset; episodes drawn from other graphs than the stored ones are refused."""
        path = workspace.episodes(dataset, shots, seed)
        graphs, split = GraphStore.load(workspace.graphs(dataset)), Split.load(workspace.split(dataset, seed))
        store = EpisodeStore.open(path)
        if store.attributes["graphs"] != graphs.fingerprint():
            raise StoreError(f"{path} was drawn from other graphs than those stored now; delete it to draw it again")
        return cls(graphs, split, store, tuple(features))

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
