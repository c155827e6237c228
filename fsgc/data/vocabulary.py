"""What the integers of a store's nodes stand for; kept with a model, so that new graphs are read in its terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError

_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class GraphVocabulary:
    """What the integers of a store's nodes stand for.

    Attributes:
        labels: node label `i` is `labels[i]`; empty where nodes have none, None where a label is an integer itself,
            as in the datasets of the catalog.
        attributes: the names of the node attributes, in the order of their columns.
    """

    labels: tuple[str, ...] | None
    attributes: tuple[str, ...]

    def codes(self, labels: pl.Series | None, nodes: int) -> npt.NDArray[np.int32]:
        """The integer of every node's label, `[V]`; labels it does not know get the integer after its last."""
        if labels is None or self.labels == ():
            return np.zeros(nodes, dtype=np.int32)
        if self.labels is None:
            numbers = labels.cast(pl.Int64, strict=False)
            unfit = numbers.is_null() | ~numbers.is_between(_INT32.min, _INT32.max)
            if unfit.any():
                shown = labels.filter(unfit)[0]
                raise DataFormatError(f"the node label {shown!r} is not an integer, as those of the model's graphs are")
            return numbers.to_numpy().astype(np.int32)
        places = dict(zip(self.labels, range(len(self.labels)), strict=True))
        known = labels.replace_strict(places, default=len(self.labels), return_dtype=pl.Int32)
        return known.to_numpy().astype(np.int32)

    def state(self) -> dict[str, Any]:
        """The vocabulary as JSON can hold it."""
        return {"labels": None if self.labels is None else list(self.labels), "attributes": list(self.attributes)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> GraphVocabulary:
        """What `state` gave."""
        labels = state["labels"]
        return cls(None if labels is None else tuple(labels), tuple(state["attributes"]))

    @classmethod
    def of_store(cls, store: GraphStore) -> GraphVocabulary:
        """The vocabulary that a store carries; one of the catalog's has integers for labels."""
        if "vocabulary" in store.attributes:
            return cls.from_state(store.attributes["vocabulary"])
        columns = store.node_attr.shape[1]
        labels = None if store.node_label.any() else ()
        return cls(labels, tuple(f"attribute {column + 1}" for column in range(columns)))
