"""What surrounds a node: degree, short cycles, and how soon a random walk is back."""

from __future__ import annotations

import numpy as np

from fsgc.arrays import Floats
from fsgc.data.descriptors.cycles import node_cycles
from fsgc.data.descriptors.walks import return_probabilities
from fsgc.data.graph_store import GraphStore

RETURNS = slice(1, 6)  # after 2 to 6 steps: after one step a walk is never back


def node_structure(graphs: GraphStore) -> Floats:
    """Degree, triangles, 4-cycles and return probabilities 2 to 6 of every node, `log(1 + x)` of each: `[V, 8]`."""
    counts = np.stack([graphs.degree, *node_cycles(graphs)], axis=1)
    return np.log1p(np.concatenate([counts, return_probabilities(graphs)[:, RETURNS]], axis=1))
