"""Episodes whose novel graphs are noise: what training may not notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import Episodes


def with_novel_noise(episodes: Episodes) -> Episodes:
    """The same episodes; graphs of novel classes lose their edges and get random labels and attributes."""
    graphs = episodes.graphs
    novel = np.isin(graphs.y, episodes.split.novel)
    nodes, edges = np.repeat(novel, graphs.num_nodes), np.repeat(novel, np.diff(graphs.edge_ptr))
    rng = np.random.default_rng(0)
    attr = np.where(nodes[:, None], rng.normal(100, 50, graphs.node_attr.shape), graphs.node_attr)
    label = np.where(nodes, rng.integers(50, 99, len(nodes)), graphs.node_label)
    source, target = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    noise = GraphStore.from_edges(graphs.num_nodes, source[~edges], target[~edges], graphs.y, label, attr)
    assert noise.fingerprint() != graphs.fingerprint()
    return replace(episodes, graphs=noise)
