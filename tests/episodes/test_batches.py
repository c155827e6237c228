from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from fsgc.data.catalog import dataset
from fsgc.data.features import node_features
from fsgc.data.splits import Part, make_split
from fsgc.episodes.batches import Episodes, StoredBatches
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.errors import SettingsError
from tests.graphs import random_store


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    path = tmp_path_factory.mktemp("episodes") / "x.zarr"
    entry = dataset("enzymes")
    graphs = random_store(1, graphs=180, classes=6)
    graphs.y[:] += 1
    split = make_split(entry, graphs.y)
    settings = EpisodeSettings(queries=2, train_epochs=2, train_per_epoch=10, val=4, test=7)
    draw_episodes(path, graphs, split, way=2, shots=3, seed=0, settings=settings)
    return Episodes(graphs, split, EpisodeStore.open(path), ("degree_onehot",))


def test_batches_cover_the_part_in_order(episodes: Episodes) -> None:
    batches = list(episodes.batches("test", batch_size=3))
    assert [len(batch.graphs) for batch in batches] == [3, 3, 1]
    np.testing.assert_array_equal(torch.cat([batch.graphs for batch in batches]), episodes.store.test)
    second = torch.cat([batch.graphs for batch in episodes.batches("train", epoch=1)])
    np.testing.assert_array_equal(second, episodes.store.train(1))


def test_supports_queries_and_labels(episodes: Episodes) -> None:
    batch = next(episodes.batches("val", batch_size=4))
    assert (batch.support.shape, batch.query.shape) == ((4, 2, 3), (4, 2, 2))
    assert batch.labels.tolist() == [[0, 0, 1, 1]] * 4
    assert batch.support_labels.tolist() == [0, 0, 0, 1, 1, 1]
    y = torch.from_numpy(episodes.graphs.y)
    query_class = y[batch.query].reshape(4, -1)
    class_of_label = torch.gather(y[batch.support[:, :, 0]], 1, batch.labels)
    assert torch.equal(query_class, class_of_label)


def test_pyg_batches_hold_the_graphs_in_order(episodes: Episodes) -> None:
    batch, graphs = next(episodes.pyg_batches("test", batch_size=2))
    expected = Batch.from_data_list(
        [episodes.graphs.to_data(g, episodes.features) for g in batch.graphs.reshape(-1).tolist()]
    )
    assert torch.equal(graphs.x, expected.x)
    assert torch.equal(graphs.edge_index, expected.edge_index)
    assert torch.equal(graphs.batch, expected.batch)


def test_features_are_scaled_by_base_classes(episodes: Episodes) -> None:
    expected = node_features(episodes.graphs, ["degree_onehot"], dataset("enzymes").base)
    np.testing.assert_array_equal(episodes.features.rows(), expected.rows())


def test_a_batch_size_of_zero_is_refused(episodes: Episodes) -> None:
    with pytest.raises(SettingsError, match="batch_size: 0"):
        episodes.batches("test", batch_size=0)


@pytest.mark.parametrize("epoch", [0, 1, 2, 3])
def test_epochs_of_another_size_take_the_stored_training_episodes_in_turn(episodes: Episodes, epoch: int) -> None:
    """8 episodes an epoch out of 2 stored epochs of 10: epoch 2 ends with the first four again."""
    stored = np.concatenate([episodes.store.train(0), episodes.store.train(1)])
    batches = StoredBatches.in_turn(episodes, size=3, epoch=epoch, per_epoch=8)
    found = list(batches)
    assert [len(batch.graphs) for batch in found] == [3, 3, 2]
    assert len(batches) == 3
    expected = [(8 * epoch + row) % 20 for row in range(8)]
    np.testing.assert_array_equal(torch.cat([batch.graphs for batch in found]).numpy(), stored[expected])


@pytest.mark.parametrize(("part", "count"), [("train", 5), ("val", 2), ("test", 4)])
def test_stored_batches_know_how_many_they_are(episodes: Episodes, part: Part, count: int) -> None:
    batches = StoredBatches.of(episodes, part, size=2, epoch=1)
    assert len(batches) == len(list(batches)) == count


@pytest.mark.parametrize(("first", "sizes"), [(3, [2, 1]), (9, [2, 2])])
def test_the_first_of_a_part_are_at_most_all_of_it(episodes: Episodes, first: int, sizes: list[int]) -> None:
    batches = StoredBatches.of(episodes, "val", size=2, first=first)
    assert [len(batch.graphs) for batch in batches] == sizes
    np.testing.assert_array_equal(torch.cat([batch.graphs for batch in batches]), episodes.store.val[:first])
