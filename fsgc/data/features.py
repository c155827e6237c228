"""Node features: what the models see of a node.

A dataset's features are a list of names from `FEATURES`, concatenated in that order. Vocabularies, means and
deviations are taken from the base-class graphs alone: a value that only novel classes have falls into the last slot of
its one-hot block, so that neither width nor scale of the features knows the novel classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fsgc.data.catalog import Dataset
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, SettingsError

Matrix = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of `V` nodes as distinct rows and a code per node.

    One-hot features have few distinct rows: for the 645,202 nodes of Reddit a few hundred instead of a gigabyte.

    Attributes:
        table: float32 `[R, F]`.
        code: int64 `[V]`, the row of `table` that a node has.
    """

    table: Matrix
    code: npt.NDArray[np.int64]

    def rows(self, nodes: npt.NDArray[np.int64] | slice = slice(None)) -> Matrix:
        """The features of the given nodes, or of all, `[n, F]`."""
        return np.take(self.table, self.code[nodes], axis=0)


class Encoding(Protocol):
    """How the values of nodes become columns; what it knows of base graphs is all that it needs."""

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """The columns of `V` values, `[V, F]` as a table."""
        ...

    def state(self) -> dict[str, Any]:
        """What it knows, as lists of numbers."""
        ...


@dataclass(frozen=True, eq=False)
class OneHot:
    """One column per value seen in base graphs, ascending, and one more for all others; `F` = vocabulary + 1.

    Attributes:
        vocabulary: int64, ascending.
    """

    vocabulary: npt.NDArray[np.int64]

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> OneHot:
        """From the values of base graphs."""
        return cls(np.unique(values))

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        column = np.searchsorted(self.vocabulary, values)
        known = self.vocabulary[np.minimum(column, len(self.vocabulary) - 1)] == values
        size = len(self.vocabulary)
        return FeatureTable(np.eye(size + 1, dtype=np.float32), np.where(known, column, size))

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {"vocabulary": self.vocabulary.tolist()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> OneHot:
        """What `state` gave."""
        return cls(np.asarray(state["vocabulary"], dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Standardised:
    """Mean 0 and deviation 1 over the nodes of base graphs; a constant column becomes 0. `F` = columns.

    Attributes:
        mean: float64 `[F]`.
        deviation: float64 `[F]`.
    """

    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> Standardised:
        """From the values of base graphs."""
        reference = values.astype(np.float64)
        return cls(reference.mean(axis=0), reference.std(axis=0))

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        return _plain((values - self.mean) / np.where(self.deviation > 0, self.deviation, 1))

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Standardised:
        """What `state` gave."""
        return cls(*(np.asarray(state[name], dtype=np.float64) for name in ("mean", "deviation")))


class AsIs:
    """The values themselves."""

    @classmethod
    def fit(cls, _values: npt.NDArray[Any]) -> AsIs:
        """There is nothing to know."""
        return cls()

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        return _plain(values)

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {}

    @classmethod
    def from_state(cls, _state: Mapping[str, Any]) -> AsIs:
        """What `state` gave."""
        return cls()


def _plain(values: npt.NDArray[Any]) -> FeatureTable:
    return FeatureTable(values.astype(np.float32), np.arange(len(values)))


class Feature(NamedTuple):
    """What nodes have, and how that becomes columns."""

    values: Callable[[GraphStore], npt.NDArray[Any]]
    encoding: type[AsIs] | type[OneHot] | type[Standardised]


FEATURES: Mapping[str, Feature] = {
    "degree": Feature(lambda graphs: graphs.degree[:, None], AsIs),
    "degree_onehot": Feature(lambda graphs: graphs.degree, OneHot),
    "label": Feature(lambda graphs: graphs.node_label[:, None], Standardised),
    "label_onehot": Feature(lambda graphs: graphs.node_label, OneHot),
    "attributes": Feature(lambda graphs: graphs.node_attr, Standardised),
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
        if "attributes" in self.names and found != self.num_attributes:
            raise DataFormatError(f"the nodes have {found} attributes, expected {self.num_attributes}")
        parts = [
            encoding.encode(FEATURES[name].values(graphs))
            for name, encoding in zip(self.names, self.encodings, strict=True)
        ]
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


def check_features(dataset: Dataset, choice: str) -> tuple[str, ...]:
    """The names of the features that a setting chooses: `dataset`, those of the catalog, or names joined by `+`."""
    if choice == "dataset":
        return dataset.features
    names = tuple(choice.split("+"))
    unknown = [name for name in names if name not in FEATURES]
    if unknown:
        allowed = ", ".join(FEATURES)
        raise SettingsError(
            f"features must be 'dataset' or names from {allowed} joined by '+', got {choice!r}", key="features"
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
