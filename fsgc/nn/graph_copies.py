"""Graphs as compiled code takes them: copies of some distinct graphs, each for an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from fsgc.nn.graph_tensors import GraphBatch

LANES, MOST_CONVS = 16, 16  # what compiled code is cut for


@dataclass(frozen=True, eq=False)
class GraphCopies:
    """`c` graphs, each a copy of one of some distinct graphs; `Copies` of `graph_blocks.h`.

    Attributes:
        batch: the distinct graphs.
        place: int64 `[c]`, which of them each is a copy of.
        sizes: int64 `[c]`, nodes of each copy.
        row_pointer: int64 `[c+1]`, where the rows of each copy begin, one a node.
        episode: int64 `[c]`, the episode of each; None where all are of episode 0.
    """

    batch: GraphBatch
    place: Tensor
    sizes: Tensor
    row_pointer: Tensor
    episode: Tensor | None

    FIELDS: ClassVar = ("place", "node_pointer", "edge_pointer", "source", "row_pointer", "episode")

    @classmethod
    def make(cls, batch: GraphBatch, place: Tensor, episode: Tensor | None) -> GraphCopies:
        """Copies of the distinct graphs at `place` `[c]`."""
        sizes = batch.num_nodes.index_select(0, place)
        return cls(batch, place, sizes, F.pad(sizes.cumsum(0), (1, 0)), episode)

    @property
    def rows(self) -> int:
        """Nodes of all copies."""
        return int(self.row_pointer[-1])

    @property
    def node_pointer(self) -> Tensor:
        """Where the nodes of each distinct graph begin, int64."""
        return self.batch.segments.pointer

    def arrays(self) -> dict[str, Tensor | None]:
        """What compiled code takes, by the names of `FIELDS`."""
        adjacency = self.batch.adjacency
        pointers = self.node_pointer, adjacency.pointer, adjacency.source, self.row_pointer
        return dict(zip(self.FIELDS, (self.place, *pointers, self.episode), strict=True))
