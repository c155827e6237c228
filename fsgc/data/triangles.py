"""TRIANGLES generated anew: random graphs whose class is their number of triangles.

The model is that of Knyazev, Taylor and Amer, "Understanding Attention and Generalization in Graph Neural
Networks" (NeurIPS 2019); the few-shot benchmark uses a subset of their graphs (GSM, Chauhan et al., 2020).
With `n` nodes and `m` edges:

1. `n` is uniform on 4..25, `m` uniform on n..2n-1 (at most n(n-1)/2). A uniform graph with these has about
   (2m/n)^3 / 6 triangles, 1.3 to 10.7 whatever `n` is, so that every class has graphs of nearly all sizes.
2. The graph is uniform among those with `n` labelled nodes and `m` edges.
3. Graphs with 1 to 10 triangles are kept, the first ones of each class.
4. The original keeps no labelled graph twice while it collects 4500 of a class. There are few labelled graphs
   of 4 or 5 nodes, so these are rare in it. If `N` draws are needed and each gives a certain graph with
   probability `p`, the fraction (1 - exp(-Np)) / (Np) of that graph's draws survives. Here a draw is kept
   with that probability.
5. Isolated nodes are dropped, since GSM's file has none.

Every decision is made on whole numbers taken from the raw words of a Philox generator, a stream that NumPy
keeps stable. The same seed gives the same graphs on every machine, and more graphs per class never change the
first ones.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.errors import SettingsError

MIN_NODES, MAX_NODES = 4, 25
MAX_TRIANGLES = 10
# `N` of step 4 in thousands, for 1, 2, …, 10 triangles: computed from steps 1 to 3, not fitted to data.
_THOUSAND_DRAWS = (35, 31, 37, 42, 50, 60, 72, 93, 139, 211)
_BATCH = 2048
_PAIRS = MAX_NODES * (MAX_NODES - 1) // 2
# Pairs of nodes ordered by the larger one: the pairs among the first n nodes are the first n(n-1)/2.
_LARGER, _SMALLER = np.tril_indices(MAX_NODES, -1)

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Adjacency = npt.NDArray[np.bool_]


def generate_triangles(graphs_per_class: int = 201, seed: int = 0) -> GraphStore:
    """Draw `graphs_per_class` graphs with exactly 1, 2, …, 10 triangles each; see the module for the model.

    Args:
        graphs_per_class: graphs of each class.
        seed: the key of the generator, 0 to 2^64 - 1.

    Returns:
        Graphs of 4 to 25 nodes, none of them isolated, class by class in ascending order. The class is the
        number of triangles, a node's label its degree.

    Raises:
        SettingsError: `graphs_per_class` is below 1 or `seed` is out of range.
    """
    if graphs_per_class < 1:
        raise SettingsError(f"graphs_per_class = {graphs_per_class}: it must be at least 1")
    if not 0 <= seed < 2**64:
        raise SettingsError(f"seed = {seed}: it must be between 0 and 2^64 - 1")
    bits = np.random.Philox(key=seed)
    keep = _keep_table()
    kept: list[Adjacency] = []
    classes: list[Ints] = []
    found = np.zeros(MAX_TRIANGLES + 1, dtype=np.int64)
    while found[1:].min() < graphs_per_class:
        words = bits.random_raw(_BATCH * (3 + _PAIRS)).reshape(_BATCH, 3 + _PAIRS)
        adjacency, triangles = _accepted(words, keep)
        kept.append(adjacency)
        classes.append(triangles)
        found += np.bincount(triangles, minlength=MAX_TRIANGLES + 1)
    y = np.concatenate(classes)
    # Stable: within a class the graphs stay in the order they were drawn in.
    order = np.argsort(y, kind="stable")
    rank = np.arange(len(y)) - np.searchsorted(y[order], y[order])
    chosen = order[rank < graphs_per_class]
    settings = {"graphs_per_class": graphs_per_class, "seed": seed}
    return _store(np.concatenate(kept)[chosen], y[chosen], settings)


def _keep_table() -> Ints:
    """Step 4 of the model: 65536 times the probability to keep a draw, `[n, m, triangles]`."""
    sizes = MAX_NODES - MIN_NODES + 1
    probability = np.zeros((MAX_NODES + 1, 2 * MAX_NODES, 1))
    for n in range(MIN_NODES, MAX_NODES + 1):
        pairs = n * (n - 1) // 2
        for m in range(n, 2 * n):
            # Added up, because 4 nodes have 6 pairs: m = 7 is drawn as 6.
            probability[n, min(m, pairs)] += 1 / (sizes * n * math.comb(pairs, min(m, pairs)))
    expected = probability * 1000 * np.array([0, *_THOUSAND_DRAWS])
    drawn = expected > 0
    fraction = np.where(drawn, -np.expm1(-expected) / np.where(drawn, expected, 1), 1)
    # Rounded, so that the last bit of an exponential, which may differ between machines, decides nothing.
    table: Ints = np.rint(fraction * 2**16).astype(np.int64)
    return table


def _accepted(words: Words, keep: Ints) -> tuple[Adjacency, Ints]:
    """Turn random words into the graphs that pass steps 1 to 4.

    Args:
        words: uint64 `[B, 3+300]`: for `n`, for `m`, for step 4 and one for each pair of nodes.
        keep: the table of step 4.

    Returns:
        The adjacency matrices `[b, 25, 25]` and the numbers of triangles `[b]`.
    """
    n = MIN_NODES + (words[:, 0] % np.uint64(MAX_NODES - MIN_NODES + 1)).astype(np.int64)
    pairs = n * (n - 1) // 2
    m = np.minimum(n + (words[:, 1] % n.astype(np.uint64)).astype(np.int64), pairs)
    # A uniform choice of m pairs: those with the m smallest random keys; pairs of absent nodes come last.
    absent = np.arange(_PAIRS) >= pairs[:, None]
    order = np.argsort(np.where(absent, np.uint64(2**64 - 1), words[:, 3:]), axis=1, kind="stable")
    is_edge = np.zeros((len(words), _PAIRS), dtype=np.bool_)
    np.put_along_axis(is_edge, order, np.arange(_PAIRS) < m[:, None], axis=1)
    adjacency = np.zeros((len(words), MAX_NODES, MAX_NODES), dtype=np.float32)
    adjacency[:, _LARGER, _SMALLER] = is_edge
    adjacency[:, _SMALLER, _LARGER] = is_edge
    # trace(A^3) is a sum of small whole numbers, which float32 adds exactly in any order.
    triangles = np.sum((adjacency @ adjacency) * adjacency, axis=(1, 2)).astype(np.int64) // 6
    in_range = (triangles >= 1) & (triangles <= MAX_TRIANGLES)
    ticket = (words[:, 2] >> np.uint64(48)).astype(np.int64)
    passes = in_range & (ticket < keep[n, m, np.where(in_range, triangles, 0)])
    return adjacency[passes] > 0, triangles[passes]


def _store(adjacency: Adjacency, y: Ints, settings: dict[str, int]) -> GraphStore:
    """Drop isolated nodes and number the others; `adjacency` is `[G, 25, 25]`."""
    degree = adjacency.sum(axis=2)
    present = degree > 0
    node = np.cumsum(present.ravel()).reshape(present.shape) - 1
    graph, source, target = np.nonzero(adjacency)
    return GraphStore.from_edges(
        nodes_per_graph=present.sum(axis=1),
        source=node[graph, source],
        target=node[graph, target],
        y=y,
        node_label=degree[present],
        attributes={"node_labels": "degree", **settings},
    )
