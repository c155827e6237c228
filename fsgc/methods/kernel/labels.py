"""The node labels that kernels compare."""

from __future__ import annotations

import numpy as np

from fsgc.arrays import Ints
from fsgc.data.graph_store import GraphStore
from fsgc.errors import SettingsError


def node_labels(graphs: GraphStore, name: str) -> Ints:
    """A non-negative label per node, int64 `[V]`, equal for equal values of what `name` means.

    Args:
        graphs: the graphs.
        name: `auto`, `degree`, `label` or `attributes`, see `KernelSettings.node_labels`.
    """
    if name == "auto":
        name = "label" if len(np.unique(graphs.node_label)) > 1 else "degree"
    if name == "degree":
        return graphs.degree
    if name == "label":
        if not graphs.node_label.any():
            raise SettingsError("kernel.node_labels: these graphs have no node labels; use degree")
        return np.unique(graphs.node_label, return_inverse=True)[1]
    if graphs.node_attr.shape[1] == 0:
        raise SettingsError("kernel.node_labels: these graphs have no node attributes; use degree")
    rows = graphs.node_attr + 0.0  # −0 becomes 0, which it equals
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)
