"""Small random graphs for tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fsgc.data.graph_store import GraphStore


@st.composite
def graph_lists(draw: st.DrawFn, max_graphs: int = 6) -> list[tuple[int, list[tuple[int, int]]]]:
    """Lists of (number of nodes, edges in any order, repeated or not, self-loops included)."""
    graphs = []
    for _ in range(draw(st.integers(1, max_graphs))):
        nodes = draw(st.integers(1, 7))
        node = st.integers(0, nodes - 1)
        graphs.append((nodes, draw(st.lists(st.tuples(node, node), max_size=15))))
    return graphs


def random_store(seed: int, graphs: int = 12, classes: int = 3, attributes: int = 0, max_nodes: int = 9) -> GraphStore:
    """Random graphs of 1 to `max_nodes` nodes, the last one with an edge; class `g % classes` for graph `g`."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, max_nodes + 1, size=graphs)
    sizes[-1] = max(2, sizes[-1])
    first = np.cumsum(sizes) - sizes
    graph = rng.integers(0, graphs, size=4 * graphs)
    source, target = (first[graph] + (rng.random(4 * graphs) * sizes[graph]).astype(np.int64) for _ in range(2))
    source, target = np.append(source, first[-1]), np.append(target, first[-1] + 1)
    return GraphStore.from_edges(
        sizes,
        source,
        target,
        np.arange(graphs) % classes,
        node_label=rng.integers(0, 5, size=sizes.sum()),
        node_attr=rng.normal(size=(sizes.sum(), attributes)),
        attributes={"source": "random"},
    )
