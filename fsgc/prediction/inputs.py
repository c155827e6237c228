"""A user's graphs, whatever they are, in the terms of a model; what does not fit is explained in a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from fsgc.data.formats.networkx_graphs import is_networkx, raw_from_networkx
from fsgc.data.formats.pyg_file import raw_from_pyg
from fsgc.data.formats.raw import NamedGraphs, RawGraphs
from fsgc.data.graph_store import GraphStore
from fsgc.data.vocabulary import GraphVocabulary
from fsgc.errors import DataFormatError

Graphs = GraphStore | RawGraphs | Iterable[Any]
"""A store, graphs read from files, or a sequence of networkx graphs or of PyG `Data`."""


OF_LABELS = {"label", "label_onehot", "idf", "word_vectors"}
OF_ATTRIBUTES = {"attributes", "attributes_raw"}


class UnknownLabelsWarning(UserWarning):
    """Some nodes have labels that the labelled graphs, or those of the training, do not have."""


def as_raw(graphs: Graphs) -> RawGraphs:
    """Take graphs of any kind; classes that they may have are not looked at."""
    if isinstance(graphs, RawGraphs):
        return graphs
    if isinstance(graphs, GraphStore):
        return raw_from_store(graphs)
    listed = list(graphs)
    if not listed:
        raise DataFormatError("there are no graphs")
    classes = [None] * len(listed)
    return raw_from_networkx(listed, classes) if is_networkx(listed[0]) else raw_from_pyg(listed, classes)


def raw_from_store(store: GraphStore) -> RawGraphs:
    """The graphs of a store with the names that it has for labels and attributes; each edge once."""
    vocabulary = GraphVocabulary.of_store(store)
    start = np.repeat(store.node_ptr[:-1], np.diff(store.edge_ptr))
    source, target = store.edge_index[:, store.edge_index[0] < store.edge_index[1]].astype(np.int64)
    start = start[store.edge_index[0] < store.edge_index[1]]
    labels: pl.Series | None = None
    if vocabulary.labels != ():
        codes = pl.Series(store.node_label)
        known = dict(enumerate(vocabulary.labels or ()))
        labels = (
            codes.cast(pl.String)
            if vocabulary.labels is None
            else codes.replace_strict(known, default="?", return_dtype=pl.String)
        )
    return RawGraphs(
        names=tuple(str(number + 1) for number in range(len(store))),
        sizes=store.num_nodes,
        source=source + start,
        target=target + start,
        classes=(None,) * len(store),
        node_label=labels,
        node_attr=store.node_attr.astype(np.float64),
        attributes=vocabulary.attributes,
    )


def in_terms_of(raw: RawGraphs, vocabulary: GraphVocabulary, features: tuple[str, ...], what: str) -> NamedGraphs:
    """Graphs as a store in the terms of a vocabulary.

    Args:
        raw: the graphs.
        vocabulary: of the model or of the labelled graphs.
        features: what is looked at of a node, in the names of `fsgc.data.features`.
        what: whose vocabulary it is, for the error.
    """
    if set(features) & OF_LABELS and vocabulary.labels != ():
        if raw.node_label is None:
            shown = "whole numbers" if vocabulary.labels is None else _some(vocabulary.labels)
            raise DataFormatError(f"{what} looks at the labels of nodes ({shown}), but these graphs have none")
        _warn_of_unknown(raw.node_label, vocabulary)
    if not set(features) & OF_ATTRIBUTES:
        raw = replace(raw, node_attr=np.zeros((len(raw.node_attr), 0)), attributes=())
    elif set(raw.attributes) == set(vocabulary.attributes):
        order = [raw.attributes.index(name) for name in vocabulary.attributes]
        raw = replace(raw, node_attr=raw.node_attr[:, order], attributes=vocabulary.attributes)
    elif len(raw.attributes) != len(vocabulary.attributes):
        raise DataFormatError(
            f"{what} looks at {len(vocabulary.attributes)} attributes of a node ({_some(vocabulary.attributes)}), but "
            f"these graphs have {len(raw.attributes)}{f' ({_some(raw.attributes)})' if raw.attributes else ''}"
        )
    elif not (_numbered(raw.attributes) or _numbered(vocabulary.attributes)):
        raise DataFormatError(
            f"{what} looks at the attributes {_some(vocabulary.attributes)} of a node, but these graphs have "
            f"{_some(raw.attributes)}; give the same ones the same names"
        )
    return replace(raw, classes=(None,) * len(raw)).named(vocabulary)


def _numbered(names: tuple[str, ...]) -> bool:
    """Whether attributes have no names of their own, only places, as in TU text and PyG files."""
    return names == tuple(f"attribute {place + 1}" for place in range(len(names)))


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


def _warn_of_unknown(labels: pl.Series, vocabulary: GraphVocabulary) -> None:
    if vocabulary.labels is None:
        return
    unknown = labels.filter(~labels.is_in(list(vocabulary.labels)))
    if len(unknown):
        shown = _some(tuple(unknown.unique(maintain_order=True).to_list()))
        message = f"{len(unknown)} of {len(labels)} nodes have labels that are not known ({shown}); they count as one"
        warnings.warn(message, UnknownLabelsWarning, stacklevel=4)
