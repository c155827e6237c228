"""Node features: what the models see of a node.

A dataset's features are a list of names from `FEATURES`, concatenated in that order. Vocabularies, means and
deviations are taken from the base-class graphs alone: a value that only novel classes have falls into the last slot of
its one-hot block, so that neither width nor scale of the features knows the novel classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.data.catalog import Dataset
from fsgc.data.graph_store import GraphStore
from fsgc.errors import SettingsError

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


def _one_hot(values: npt.NDArray[np.integer[Any]], base: Mask) -> FeatureTable:
    """One column per value seen in base graphs, ascending, and one more for all others; `F` = vocabulary + 1."""
    vocabulary = np.unique(values[base])
    column = np.searchsorted(vocabulary, values)
    known = vocabulary[np.minimum(column, len(vocabulary) - 1)] == values
    return FeatureTable(np.eye(len(vocabulary) + 1, dtype=np.float32), np.where(known, column, len(vocabulary)))


def _standardised(values: npt.NDArray[Any], base: Mask) -> FeatureTable:
    """Mean 0 and deviation 1 over the nodes of base graphs; a constant column becomes 0. `F` = columns."""
    reference = values[base].astype(np.float64)
    deviation = reference.std(axis=0)
    centred = values - reference.mean(axis=0)
    return _plain(centred / np.where(deviation > 0, deviation, 1))


def _plain(values: npt.NDArray[Any]) -> FeatureTable:
    return FeatureTable(values.astype(np.float32), np.arange(len(values)))


FEATURES: Mapping[str, Callable[[GraphStore, Mask], FeatureTable]] = {
    "degree": lambda graphs, _: _plain(graphs.degree[:, None]),
    "degree_onehot": lambda graphs, base: _one_hot(graphs.degree, base),
    "label": lambda graphs, base: _standardised(graphs.node_label[:, None], base),
    "label_onehot": lambda graphs, base: _one_hot(graphs.node_label, base),
    "attributes": lambda graphs, base: _standardised(graphs.node_attr, base),
}


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
    unknown = [name for name in names if name not in FEATURES]
    if unknown or not names:
        raise SettingsError(
            f"features: {unknown[0] if unknown else 'an empty list'!r} is unknown; choose from {', '.join(FEATURES)}"
        )
    base = np.repeat(np.isin(graphs.y, list(base_classes)), graphs.num_nodes)
    if not base.any():
        raise SettingsError("features: no graph of a base class to take statistics from")
    parts = [FEATURES[name](graphs, base) for name in names]
    if len(parts) == 1:
        return parts[0]
    # The distinct combinations of the parts' codes are the rows of the whole.
    combined = np.ravel_multi_index([part.code for part in parts], [len(part.table) for part in parts])
    _, first, code = np.unique(combined, return_index=True, return_inverse=True)
    return FeatureTable(np.concatenate([part.rows(first) for part in parts], axis=1), code)
