"""Node features: what the models see of a node.

A dataset's features are a list of names from `FEATURES`, concatenated in that order. Vocabularies, means and
deviations are taken from the base-class graphs alone: a value that only novel classes have falls into the last slot of
its one-hot block, so that neither width nor scale of the features knows the novel classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fsgc.data.catalog import Dataset
from fsgc.data.encodings import (
    AsIs,
    Encoding,
    FeatureTable,
    InverseDocumentFrequency,
    NearestOneHot,
    OneHot,
    Standardised,
    WordVectors,
)
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, SettingsError

LOADED_LATER = ("fsgc.data.structure",)


class Feature(NamedTuple):
    """What nodes have, and how that becomes columns."""

    values: Callable[[GraphStore], npt.NDArray[Any]]
    encoding: type[Encoding]


def _words(graphs: GraphStore) -> npt.NDArray[np.int64]:
    """The label (a word) and the graph of every node, `[V, 2]`."""
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    return np.stack([graphs.node_label.astype(np.int64), graph], axis=1)


def _structure(graphs: GraphStore) -> npt.NDArray[Any]:
    """What surrounds every node."""
    from fsgc.data.structure import node_structure  # SciPy with it, which most commands do without

    return node_structure(graphs)


FEATURES: Mapping[str, Feature] = {
    "degree": Feature(lambda graphs: graphs.degree[:, None], AsIs),
    "degree_onehot": Feature(lambda graphs: graphs.degree, NearestOneHot),
    "label": Feature(lambda graphs: graphs.node_label[:, None], Standardised),
    "label_onehot": Feature(lambda graphs: graphs.node_label, OneHot),
    "attributes": Feature(lambda graphs: graphs.node_attr, Standardised),
    "attributes_raw": Feature(lambda graphs: graphs.node_attr, AsIs),
    "structure": Feature(_structure, Standardised),
    "idf": Feature(_words, InverseDocumentFrequency),
    "word_vectors": Feature(_words, WordVectors),
}


@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """What turns graphs into node features: kept with a model, so that new graphs become what it was trained on.

    Attributes:
        names: which features; their columns come in this order.
        encodings: one for each.
        num_attributes: how many columns of attributes the graphs have.
    """

    names: tuple[str, ...]
    encodings: tuple[Encoding, ...]
    num_attributes: int

    @classmethod
    def fit(cls, graphs: GraphStore, names: Sequence[str], base_classes: Sequence[int]) -> FeatureEncoder:
        """Take vocabularies and scales from the graphs of some classes."""
        unknown = [name for name in names if name not in FEATURES]
        if unknown or not names:
            what = unknown[0] if unknown else "an empty list"
            raise SettingsError(f"features: {what!r} is unknown; choose from {', '.join(FEATURES)}")
        base = np.repeat(np.isin(graphs.y, list(base_classes)), graphs.num_nodes)
        if not base.any():
            raise SettingsError("features: no graph of a base class to take statistics from")
        encodings = [FEATURES[name].encoding.fit(FEATURES[name].values(graphs)[base]) for name in names]
        return cls(tuple(names), tuple(encodings), graphs.node_attr.shape[1])

    def encode(self, graphs: GraphStore) -> FeatureTable:
        """The features of all nodes of `graphs`."""
        found = graphs.node_attr.shape[1]
        if {"attributes", "attributes_raw"} & set(self.names) and found != self.num_attributes:
            raise DataFormatError(f"the nodes have {found} attributes, expected {self.num_attributes}")
        parts = [
            encoding.encode(FEATURES[name].values(graphs))
            for name, encoding in zip(self.names, self.encodings, strict=True)
        ]
        empty = [name for name, part in zip(self.names, parts, strict=True) if not part.table.shape[1]]
        if empty:
            raise SettingsError(f"features: these graphs have no {empty[0]}; choose others", key="features")
        if len(parts) == 1:
            return parts[0]
        # The distinct combinations of the parts' codes are the rows of the whole.
        combined = np.ravel_multi_index([part.code for part in parts], [len(part.table) for part in parts])
        _, first, code = np.unique(combined, return_index=True, return_inverse=True)
        return FeatureTable(np.concatenate([part.rows(first) for part in parts], axis=1), code)

    def state(self) -> dict[str, Any]:
        """What a model file must hold: words and numbers."""
        return {
            "names": list(self.names),
            "encodings": [encoding.state() for encoding in self.encodings],
            "num_attributes": self.num_attributes,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> FeatureEncoder:
        """What `state` gave; a KeyError or a TypeError if it is something else."""
        names = tuple(state["names"])
        encodings = [
            FEATURES[name].encoding.from_state(known) for name, known in zip(names, state["encodings"], strict=True)
        ]
        return cls(names, tuple(encodings), int(state["num_attributes"]))


STRUCTURAL = "structural"


def _own_values(dataset: Dataset) -> tuple[str, ...]:
    """What a dataset's nodes have beside their place in the graph."""
    if "attributes" in dataset.features:
        return ("attributes",)
    if "idf" in dataset.features:
        return ("idf",)
    return () if dataset.node_labels in ("degree", "none") else ("label_onehot",)


def check_features(dataset: Dataset, choice: str, as_authors: bool = False) -> tuple[str, ...]:
    """The names of the features that a setting chooses.

    Args:
        dataset: the dataset.
        choice: `dataset`, those of the catalog; `structural`, what surrounds a node together with its attributes or
            label where the dataset has them; or names joined by `+`.
        as_authors: whether to take what the authors' code takes, where that differs from the catalog.
    """
    if choice == STRUCTURAL:
        return ("structure", *_own_values(dataset))
    if choice == "dataset":
        return dataset.authors_features if as_authors and dataset.authors_features else dataset.features
    names = tuple(choice.split("+"))
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        allowed = ", ".join(FEATURES)
        raise SettingsError(
            f"features must be 'dataset', '{STRUCTURAL}' or names from {allowed} joined by '+', got {choice!r}",
            key="features",
        )
    return names


def node_features(graphs: GraphStore, names: Sequence[str], base_classes: Sequence[int]) -> FeatureTable:
    """The features of all nodes of `graphs`.

    Args:
        graphs: the store.
        names: which features, e.g. `["degree_onehot", "label_onehot"]`; their columns come in this order.
        base_classes: the classes whose graphs the statistics are taken from.
    """
    return FeatureEncoder.fit(graphs, names, base_classes).encode(graphs)
