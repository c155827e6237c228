"""The same graphs with their nodes in another order."""

from __future__ import annotations

from dataclasses import replace

import torch

from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import Episodes


def with_nodes_in_another_order(episodes: Episodes) -> Episodes:
    """The same episodes; the nodes of every graph are shuffled."""
    store = episodes.graphs
    order = torch.cat(
        [torch.randperm(n, generator=torch.Generator().manual_seed(i)) for i, n in enumerate(store.num_nodes.tolist())]
    )
    first = torch.from_numpy(store.node_ptr[:-1]).repeat_interleave(torch.from_numpy(store.num_nodes))
    new_of_old = torch.empty_like(order)
    new_of_old[order + first] = torch.arange(len(order))
    edge_first = torch.from_numpy(store.node_ptr[:-1]).repeat_interleave(torch.from_numpy(store.edge_ptr).diff())
    source, target = (new_of_old[torch.from_numpy(row).long() + edge_first].numpy() for row in store.edge_index)
    rows = (order + first).numpy()
    shuffled = GraphStore.from_edges(
        store.num_nodes, source, target, store.y, store.node_label[rows], store.node_attr[rows]
    )
    return replace(episodes, graphs=shuffled)
