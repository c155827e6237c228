"""Graphs of all sorts, as our batch and as PyG's, and the comparison of outputs and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from fsgc.data.graph_store import GraphStore
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors


def mixed_store(seed: int = 0) -> GraphStore:
    """One node, isolated nodes only, a path and isolated nodes, a star, random graphs of 2 to 90 nodes."""
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 4, 7, 12, 2, 3, 5, 6, 9, 17, 40, 90])
    first = np.cumsum(sizes) - sizes
    edges = [
        np.array([[0, 1], [1, 2], [2, 3]]) + first[2],
        np.array([[0, i] for i in range(1, 12)]) + first[3],
    ]
    edges += [rng.integers(0, sizes[g], size=(2 * sizes[g], 2)) + first[g] for g in range(4, len(sizes))]
    source, target = np.concatenate(edges).T
    return GraphStore.from_edges(sizes, source, target, np.zeros(len(sizes), np.int64))


def features(store: GraphStore, width: int, seed: int = 0) -> Tensor:
    """Random features of all nodes, `[V, width]`."""
    return torch.randn(int(store.node_ptr[-1]), width, generator=torch.Generator().manual_seed(seed))


def both(store: GraphStore, x: Tensor, graphs: list[int] | None = None) -> tuple[GraphBatch, Tensor]:
    """Our batch and, built graph by graph in the plainest way, the `edge_index` that PyG takes."""
    chosen = list(range(len(store))) if graphs is None else graphs
    edge_index, offset = [], 0
    for graph in chosen:
        edge_index.append(store.edge_index[:, store.edge_ptr[graph] : store.edge_ptr[graph + 1]] + offset)
        offset += int(store.num_nodes[graph])
    batch = GraphTensors(store, x).batch(chosen)
    return batch, torch.from_numpy(np.concatenate(edge_index, 1)).long()


def assert_same(
    ours: Callable[[Tensor], Tensor],
    theirs: Callable[[Tensor], Tensor],
    x: Tensor,
    parameters: Sequence[tuple[nn.Parameter, nn.Parameter]] = (),
) -> None:
    """Outputs, gradients of the input and of each pair of parameters agree."""
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    outputs = [function(value) for function, value in zip((ours, theirs), inputs, strict=True)]
    assert_close(*outputs)
    # An uneven weighting, so that errors in single rows or columns cannot cancel.
    weight = torch.randn(outputs[0].shape, generator=torch.Generator().manual_seed(1)) / len(outputs[0]) ** 0.5
    for output in outputs:
        (output * weight).sum().backward()
    assert inputs[0].grad is not None
    assert inputs[1].grad is not None
    assert_close(inputs[0].grad, inputs[1].grad)
    for mine, other in parameters:
        assert mine.grad is not None
        assert other.grad is not None
        assert_close(mine.grad.flatten(), other.grad.flatten())


def assert_close(mine: Tensor, other: Tensor) -> None:
    """Agree to 1e-10 in double precision; in single, where rounding is 1e-7 of the largest terms, to 1e-5 of them."""
    if mine.dtype == torch.float64:
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)
    else:
        scale = max(1.0, float(other.detach().abs().max()))
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5 * scale)
