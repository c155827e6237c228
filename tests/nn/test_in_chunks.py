from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.norms import Groups
from fsgc.nn.settings import EmbedderSettings, Norm
from tests.nn.oracle import features, mixed_store

STORE = mixed_store()
TENSORS = GraphTensors(STORE, features(STORE, 3))
GRAPHS = torch.tensor([3, 11, 0, 0, 7, 10, 5, 9, 1, 2, 11, 4])
SETTINGS = EmbedderSettings(width=8)


@pytest.mark.parametrize("norm", ["graph", "none", "batch", "episode"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("with_film", [True, False])
def test_chunks_give_what_one_batch_gives(norm: Norm, training: bool, with_film: bool) -> None:
    torch.manual_seed(0)
    embedder = Embedder(3, replace(SETTINGS, norm=norm)).train(training)
    film = Film(torch.randn(3, 3, 8), torch.randn(3, 3, 8), torch.arange(12) % 3) if with_film else None
    groups = Groups(torch.arange(12) // 4, 3)
    whole = embedder(TENSORS.batch(GRAPHS), film, groups)
    torch.testing.assert_close(embed_graphs(embedder, TENSORS, GRAPHS, film, groups, max_nodes=50), whole)


def test_a_row_per_graph_also_for_no_graphs_and_for_indices_of_any_shape() -> None:
    embedder = Embedder(3, SETTINGS)
    assert embed_graphs(embedder, TENSORS, GRAPHS[:0]).shape == (0, 8)
    assert embed_graphs(embedder, TENSORS, GRAPHS.view(3, 4)).shape == (12, 8)


def test_chunks_cover_all_graphs_and_exceed_the_limit_by_at_most_one_graph() -> None:
    for most in (1, 10, 50, 100, 10_000):
        sizes = TENSORS.chunk_sizes(GRAPHS, most)
        assert sum(sizes) == len(GRAPHS)
        nodes = [int(STORE.num_nodes[part].sum()) for part in torch.split(GRAPHS, sizes)]
        assert max(nodes) <= most + int(STORE.num_nodes.max())
    assert TENSORS.chunk_sizes(GRAPHS, 10_000) == [12]
    assert len(TENSORS.chunk_sizes(GRAPHS, 50)) > 2
