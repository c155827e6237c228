"""Node features: what the models see of a node.

A dataset's features are a list of names from `FEATURES`, concatenated in that order. Vocabularies, means and
deviations are taken from the base-class graphs alone: a value that only novel classes have falls into the last slot of
its one-hot block, so that neither width nor scale of the features knows the novel classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.errors import SettingsError

Matrix = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


def _one_hot(values: npt.NDArray[np.integer[Any]], base: Mask) -> Matrix:
    """One column per value seen in base graphs, ascending, and one more for all others; `[V, vocabulary + 1]`."""
    vocabulary = np.unique(values[base])
    column = np.searchsorted(vocabulary, values)
    known = vocabulary[np.minimum(column, len(vocabulary) - 1)] == values
    one_hot = np.zeros((len(values), len(vocabulary) + 1), dtype=np.float32)
    one_hot[np.arange(len(values)), np.where(known, column, len(vocabulary))] = 1
    return one_hot


def _standardised(values: npt.NDArray[Any], base: Mask) -> Matrix:
    """Mean 0 and deviation 1 over the nodes of base graphs; a constant column becomes 0. `[V, A]`."""
    reference = values[base].astype(np.float64)
    deviation = reference.std(axis=0)
    centred = values - reference.mean(axis=0)
    scaled: Matrix = (centred / np.where(deviation > 0, deviation, 1)).astype(np.float32)
    return scaled


FEATURES: Mapping[str, Callable[[GraphStore, Mask], Matrix]] = {
    "degree": lambda graphs, _: graphs.degree[:, None].astype(np.float32),
    "degree_onehot": lambda graphs, base: _one_hot(graphs.degree, base),
    "label": lambda graphs, base: _standardised(graphs.node_label[:, None], base),
    "label_onehot": lambda graphs, base: _one_hot(graphs.node_label, base),
    "attributes": lambda graphs, base: _standardised(graphs.node_attr, base),
}


def node_features(graphs: GraphStore, names: Sequence[str], base_classes: Sequence[int]) -> Matrix:
    """The feature matrix `[V, F]` of all nodes of `graphs`.

    Args:
        graphs: the store.
        names: which features, e.g. `["degree_onehot", "label_onehot"]`.
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
    return np.concatenate([FEATURES[name](graphs, base) for name in names], axis=1)
