"""Graphs as somebody's files have them, and what becomes of them: a `GraphStore` with the names beside it.

Classes, graphs and node labels have names, which are strings; a store has integers. A `GraphVocabulary` says which
integer stands for which node label, and is kept with a model, so that new graphs are read in the terms of the old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fsgc.data.graph_store import GraphStore
from fsgc.data.vocabulary import GraphVocabulary
from fsgc.errors import DataFormatError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names sorted as people do: whole numbers by size, then everything else by its letters."""

    def key(name: str) -> tuple[int, int, str]:
        digits = name.removeprefix("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 19
        return (0, int(name), name) if is_number else (1, 0, name)

    return tuple(sorted(set(names), key=key))


@dataclass(frozen=True, eq=False)
class NamedGraphs:
    """A store and the names of what is in it.

    Attributes:
        store: the graphs; `y` is the place of a graph's class in `classes`, −1 for a graph without one.
        names: of the graphs, `G` of them.
        classes: the names of the classes.
        vocabulary: what node labels and attributes stand for.
    """

    store: GraphStore
    names: tuple[str, ...]
    classes: tuple[str, ...]
    vocabulary: GraphVocabulary

    @property
    def labels(self) -> list[str | None]:
        """The name of each graph's class, None for one without."""
        return [None if c < 0 else self.classes[c] for c in self.store.y.tolist()]


@dataclass(frozen=True)
class Findings:
    """What is unusual about the graphs of a file, and is put right (or refused) when a store is made of them.

    Attributes:
        without_nodes: graphs without nodes.
        without_edges: graphs that have nodes but no edge between two of them.
        repeated_edges: edges given again in the same direction.
        self_loops: edges from a node to itself.
        without_class: graphs that have no class.
    """

    without_nodes: int
    without_edges: int
    repeated_edges: int
    self_loops: int
    without_class: int


@dataclass(frozen=True, eq=False)
class RawGraphs:
    """`G` graphs with `V` nodes and `E` edges, before anything is tidied up.

    Attributes:
        names: of the graphs.
        sizes: int64 `[G]`, nodes of each graph; may be 0.
        source: int64 `[E]`, global node ids: those of graph 0 first, then those of graph 1, …
        target: int64 `[E]`.
        classes: the class of each graph, None where it has none.
        node_label: strings `[V]`, or None where nodes have no labels.
        node_attr: float64 `[V, A]`, finite.
        attributes: the names of the `A` columns.
    """

    names: tuple[str, ...]
    sizes: Ints
    source: Ints
    target: Ints
    classes: tuple[str | None, ...]
    node_label: pl.Series | None
    node_attr: Floats
    attributes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def vocabulary(self) -> GraphVocabulary:
        """The vocabulary of these graphs themselves."""
        labels = () if self.node_label is None else in_order(self.node_label.unique().to_list())
        return GraphVocabulary(labels, self.attributes)

    def findings(self) -> Findings:
        """Count what is unusual."""
        loops = self.source == self.target
        pairs = (self.source << 32) | self.target
        graph = np.repeat(np.arange(len(self)), self.sizes)
        has_edge = np.zeros(len(self), dtype=bool)
        has_edge[graph[self.source[~loops]]] = True
        return Findings(
            without_nodes=int((self.sizes == 0).sum()),
            without_edges=int(((self.sizes > 0) & ~has_edge).sum()),
            repeated_edges=len(pairs) - len(np.unique(pairs)),
            self_loops=int(loops.sum()),
            without_class=sum(c is None for c in self.classes),
        )

    def without_empty(self) -> RawGraphs:
        """The graphs that have nodes."""
        kept = np.flatnonzero(self.sizes > 0).tolist()
        return replace(
            self,
            names=tuple(self.names[g] for g in kept),
            classes=tuple(self.classes[g] for g in kept),
            sizes=self.sizes[kept],
        )

    def named(
        self,
        vocabulary: GraphVocabulary | None = None,
        classes: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> NamedGraphs:
        """The graphs as a store: each edge once per direction, no self-loops.

        Args:
            vocabulary: in whose terms to write node labels; their own if not given.
            classes: the classes in order; graphs of other classes are left out. All, sorted, if not given.
            attributes: of the store.
        """
        empty = np.flatnonzero(self.sizes == 0)
        if len(empty):
            name = self.names[int(empty[0])]
            raise DataFormatError(
                f"{len(empty)} graph(s) have no nodes, the first is {name!r}; leave such graphs out with --drop-empty"
            )
        vocabulary = vocabulary or self.vocabulary
        given = in_order(c for c in self.classes if c is not None) if classes is None else tuple(classes)
        place = {name: c for c, name in enumerate(given)}
        y = np.array([-1 if c is None else place.get(c, -2) for c in self.classes], dtype=np.int64)
        about = {"class_names": list(given), "vocabulary": vocabulary.state(), **(attributes or {})}
        store = GraphStore.from_edges(
            self.sizes, self.source, self.target, y,
            node_label=vocabulary.codes(self.node_label, int(self.sizes.sum())),
            node_attr=self.node_attr,
            attributes=about,
        )  # fmt: skip
        if classes is None:
            return NamedGraphs(store, self.names, given, vocabulary)
        kept = np.flatnonzero(y >= 0)
        return NamedGraphs(store.select(kept), tuple(self.names[g] for g in kept.tolist()), given, vocabulary)
