from __future__ import annotations

import numpy as np

from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.blocks import blocks_of, spread


def _sizes(*nodes: int) -> GraphStore:
    none = np.zeros(0, int)
    return GraphStore.from_edges(np.array(nodes), none, none, np.zeros(len(nodes), int))


def test_blocks_are_consecutive_and_bounded() -> None:
    nodes = np.random.default_rng(0).integers(1, 15, size=60)
    store = _sizes(*nodes)
    blocks = blocks_of(store, 10)
    assert np.concatenate(blocks).tolist() == list(range(60))
    sizes = [int(nodes[block].sum()) for block in blocks]
    assert all(size < 20 for size, block in zip(sizes, blocks, strict=True) if len(block) > 1)
    assert all(len(block) == 1 for block in blocks if (nodes[block] > 10).any())
    assert len(blocks) < 60


def test_one_graph_is_one_block() -> None:
    assert [block.tolist() for block in blocks_of(_sizes(3), 10)] == [[0]]


def test_results_come_in_order_from_one_core_and_from_all() -> None:
    parts = [_sizes(n) for n in (3, 1, 2)]
    for parallel in (False, True):
        assert spread(len, [[0] * n for n in (3, 1, 2)], "lengths", parallel) == [3, 1, 2]
    assert spread(len, parts, "graphs", False) == [1, 1, 1]
