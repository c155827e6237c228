"""One network with weights of its own for every episode, run on the graphs of all episodes at once.

`torch.func.vmap` turns a module for one batch of graphs into one for `B` of them, each with weights of its own: linear
layers become batched matrix products over padded rows `[B, n, d]`. Sums over neighbours and over the nodes of graphs
involve no weights; they leave `vmap` and run once over the rows of all episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fsgc.nn.adjacency import Adjacency
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.inputs import NodeFeatures
from fsgc.nn.norms import Groups
from fsgc.nn.padded import PaddedNodes
from fsgc.nn.segments import Segments

RowMap = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class EpisodeGraphs:
    """`M` graphs of each of `B` episodes, every episode filled up to `n` nodes.

    Attributes:
        features: of the `B·n` rows, each tensor with the leading dimensions `[B, n]` but for a table of distinct rows.
        nodes: where the nodes are among those rows.
        adjacency: the edges among those rows.
    """

    features: NodeFeatures
    nodes: PaddedNodes
    adjacency: Adjacency

    @classmethod
    def make(cls, tensors: GraphTensors, graphs: Tensor) -> EpisodeGraphs:
        """Lay out the graphs of episodes, int64 `[B, …]`."""
        batch = tensors.batch(graphs)
        nodes = PaddedNodes.make(batch.num_nodes.view(len(graphs), -1))
        known = batch.features
        code, sums = (None if part is None else nodes.place(part) for part in (known.code, known.neighbour_sum))
        table = nodes.place(known.table) if code is None else known.table
        return cls(NodeFeatures(table, code, sums), nodes, nodes.place_edges(batch.adjacency))

    def run(self, module: nn.Module, weights: Mapping[str, Tensor]) -> Tensor:
        """Apply a module that maps a `GraphBatch` and `Groups` to a row per graph, with weights `[B, …]`: `[B, M, …]`.

        Dropout draws one mask for all episodes. Of the convolutions GIN and GCN can be run, not GAT, whose edges have
        weights.
        """
        count, graphs = self.nodes.counts.shape
        all_segments = self.nodes.segments
        source, pointer = self.adjacency.source, self.adjacency.pointer
        sizes = all_segments.sizes.view(count, -1)
        # For norms across graphs: the graphs of an episode are one group, its filling is another.
        group = Groups((torch.arange(graphs + 1, device=sizes.device) == graphs).long(), 2)
        features = {"table": self.features.table, "code": self.features.code, "sums": self.features.neighbour_sum}
        mapped = {name: part for name, part in features.items() if part is not None}
        dims = {name: None if name == "table" and "code" in mapped else 0 for name in mapped}

        def one(weights: dict[str, Tensor], parts: dict[str, Tensor], sizes: Tensor, degree: Tensor) -> Tensor:
            rows = NodeFeatures(parts["table"], parts.get("code"), parts.get("sums"))
            segments = _SegmentsOfOne(all_segments.pointer, all_segments.index, sizes, all_segments)
            edges = _EdgesOfOne(source, pointer, self.adjacency, degree)
            batch = GraphBatch(rows, segments, edges)
            return torch.func.functional_call(module, weights, (batch, group))[:graphs]

        degree = self.adjacency.degree.view(count, -1)
        return torch.func.vmap(one, (0, dims, 0, 0), randomness="same")(dict(weights), mapped, sizes, degree)


@dataclass(frozen=True, eq=False)
class _SegmentsOfOne(Segments):
    """The segments of one episode, whose operations run over those of all."""

    of_all: Segments

    def sum(self, rows: Tensor) -> Tensor:
        return _over_all(rows, self.of_all.sum)

    def spread(self, values: Tensor) -> Tensor:
        return _over_all(values, self.of_all.spread)


@dataclass(frozen=True, eq=False)
class _EdgesOfOne(Adjacency):
    """The edges of one episode, whose sums over neighbours run over those of all."""

    of_all: Adjacency
    own_degree: Tensor

    @property
    def degree(self) -> Tensor:
        return self.own_degree

    def neighbour_sum(self, x: Tensor) -> Tensor:
        return _over_all(x, self.of_all.neighbour_sum)


def _over_all(rows: Tensor, of_all: RowMap) -> Tensor:
    return _OverAll.apply(rows, of_all)  # type: ignore[no-untyped-call]


class _OverAll(torch.autograd.Function):
    """A map over the rows of all episodes, called from inside `vmap` with those of one."""

    @staticmethod
    def forward(rows: Tensor, of_all: RowMap) -> Tensor:  # noqa: ARG004
        raise RuntimeError("only inside vmap, which calls the rule below instead")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, RowMap], output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None], rows: Tensor, of_all: RowMap) -> tuple[Tensor, int]:
        flat = rows.movedim(in_dims[0], 0).flatten(0, 1)
        return of_all(flat).view(info.batch_size, -1, flat.shape[1]), 0
