"""A small set of stored episodes that methods can be tried on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.episodes.batches import Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from tests.graphs import random_store


def make_episodes(path: Path, seed: int = 1) -> Episodes:
    """Episodes over random graphs with the classes of ENZYMES: 2-way 3-shot with 4 queries."""
    graphs = random_store(seed, graphs=240, classes=6, attributes=3)
    graphs.y[:] += 1
    # A signal to learn: the attributes of a node depend on its graph's class.
    owner = np.repeat(graphs.y, graphs.num_nodes)
    graphs.node_attr[:, 0] += owner
    graphs.node_attr[:, 1] -= owner % 3
    split = make_split(dataset("enzymes"), graphs.y)
    settings = EpisodeSettings(queries=4, train_epochs=4, train_per_epoch=48, val=30, test=50)
    draw_episodes(path, graphs, split, way=2, shots=3, seed=0, settings=settings)
    return Episodes(graphs, split, EpisodeStore.open(path), ("attributes", "degree_onehot"))


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    return make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")
