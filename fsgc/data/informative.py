"""What node labels and attributes say about the classes of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsgc.data.formats.raw import NamedGraphs

MANY_LABELS = 200


@dataclass(frozen=True)
class Column:
    """A node attribute, or all labels together.

    Attributes:
        name: what it is called.
        distinct: how many values it has.
        explained: η², the share of the variance between graphs (of the mean of the attribute, or of the share of the
            label that tells most) that lies between classes: 0 says nothing, 1 everything.
    """

    name: str
    distinct: int
    explained: float


def correlation_ratio(values: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """η² of each column: the variance between the classes' means over all variance; 0 for a constant column.

    Args:
        values: `[G, F]`.
        y: `[G]`.
    """
    _, code = np.unique(y, return_inverse=True)
    counts = np.bincount(code)
    sums = np.zeros((len(counts), values.shape[1]))
    np.add.at(sums, code, values)
    overall = values.mean(axis=0)
    between = (counts[:, None] * (sums / counts[:, None] - overall) ** 2).sum(axis=0)
    total = ((values - overall) ** 2).sum(axis=0)
    # Sums of equal numbers differ in their last digits: that is no variance.
    varies = total > 1e-18 * (1 + overall**2) * len(values)
    return np.asarray(np.where(varies, between / np.where(varies, total, 1), 0.0))


def node_columns(named: NamedGraphs, classes: Sequence[int]) -> list[Column]:
    """What the node labels and each attribute tell about some classes; other classes are not looked at."""
    store = named.store.select(np.flatnonzero(np.isin(named.store.y, list(classes))))
    graph, sizes = np.repeat(np.arange(len(store)), store.num_nodes), store.num_nodes[:, None]
    y = store.y.astype(np.int64)
    columns = []
    labels = np.unique(store.node_label)
    if named.vocabulary.labels:
        kept = labels[:MANY_LABELS]
        shares = np.zeros((len(store), len(kept)))
        place = np.searchsorted(kept, store.node_label)
        known = place < len(kept)
        np.add.at(shares, (graph[known], place[known]), 1.0)
        columns.append(Column("labels", len(labels), float(correlation_ratio(shares / sizes, y).max(initial=0.0))))
    means = np.zeros((len(store), store.node_attr.shape[1]))
    np.add.at(means, graph, store.node_attr.astype(np.float64))
    for number, explained in enumerate(correlation_ratio(means / sizes, y)):
        distinct = len(np.unique(store.node_attr[:, number]))
        columns.append(Column(named.vocabulary.attributes[number], distinct, float(explained)))
    return columns


def features_for(columns: Sequence[Column]) -> tuple[str, ...]:
    """Node features for a dataset: attributes and labels that are not constant, else the degree."""
    attributes = any(column.distinct > 1 for column in columns if column.name != "labels")
    labels = any(1 < column.distinct <= MANY_LABELS for column in columns if column.name == "labels")
    chosen = (("attributes",) if attributes else ()) + (("label_onehot",) if labels else ())
    return chosen or ("degree_onehot",)
