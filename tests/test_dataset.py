"""From graphs in memory to a tested model."""

from __future__ import annotations

import gc
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import fsgc
from fsgc.episodes.settings import EpisodeSettings
from fsgc.errors import DataFormatError, SettingsError, StoreError
from tests.data.formats import made
from tests.shapes import data_of, shapes

FEW = EpisodeSettings(queries=2, train_epochs=1, train_per_epoch=8, val=4, test=12)


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize("model", ["pn", "wl"])
def test_the_whole_way(model: str, tmp_path: Path) -> None:
    dataset = fsgc.Dataset.from_networkx(*shapes(20))
    episodes = dataset.split(way=2).episodes(shots=2, settings=FEW)
    trained = fsgc.train(model, episodes, loop={"max_epochs": 1, "accelerator": "cpu"})
    record = fsgc.evaluate(trained, episodes, tmp_path / "out")
    assert record["episodes"] == 12
    assert 0 <= record["accuracy"] <= 1
    assert (tmp_path / "out" / "record.json").exists()
    trained.save(tmp_path / "model.pt")
    graphs, labels = shapes(3, 4)
    assert fsgc.FewShotClassifier(tmp_path / "model.pt").fit(graphs, labels).predict(graphs).shape == (15,)


def test_the_same_graphs_from_everywhere(tmp_path: Path) -> None:
    graphs, labels = shapes(4)
    stores = [
        fsgc.Dataset.from_networkx(graphs, labels).raw.named().store,
        fsgc.Dataset.from_pyg([data_of(graph) for graph in graphs], labels).raw.named().store,
    ]
    assert stores[0].y.tolist() == stores[1].y.tolist()
    np.testing.assert_array_equal(stores[0].num_edges, stores[1].num_edges)
    made.write_tu(tmp_path)
    assert fsgc.Dataset.from_tu(tmp_path).classes == fsgc.Dataset.from_files(tmp_path, "tu").classes
    assert fsgc.Dataset.from_tu(tmp_path, "MINE").classes == {"ring": 3, "tree": 2}


def test_the_split_is_stated_and_leaves_small_classes_out() -> None:
    graphs, labels = shapes(20)
    graphs, labels = graphs + [nx.path_graph(4)] * 3, labels + ["tiny"] * 3
    for graph in graphs[-3:]:
        nx.set_node_attributes(graph, {n: {"label": "C", "weight": 0.0, "size": 4.0} for n in graph})
    split = fsgc.Dataset.from_networkx(graphs, labels).split(way=2, novel=["path", "star"])
    assert split.names("novel") == ("path", "star")
    assert split.names("base") == ("clique", "ring", "wheel")
    assert split.entry.features == ("attributes", "label_onehot")
    assert len(split.graphs.store) == 100


def test_what_cannot_be() -> None:
    graphs, labels = shapes(4)
    with pytest.raises(SettingsError, match="0 are large enough"):
        fsgc.Dataset.from_networkx(graphs, labels).split(way=2)
    with pytest.raises(DataFormatError, match="20 graphs have no class, the first is '1'"):
        fsgc.Dataset.from_networkx(graphs)
    for count in (2, 30):
        with pytest.raises(DataFormatError, match=f"{count} labels for 20 graphs"):
            fsgc.Dataset.from_networkx(graphs, ["x"] * count)
    for bad, message in (([1, "1"], "the labels 1 and '1' differ"), ([1, None], "is None"), ([1, float("nan")], "nan")):
        with pytest.raises(DataFormatError, match=message):
            fsgc.Dataset.from_networkx(graphs[:2], bad)
    episodes = fsgc.Dataset.from_networkx(*shapes(20)).split(way=2).episodes(2, FEW)
    with pytest.raises(SettingsError, match="speed"):
        fsgc.train("pn", episodes, speed=3)


def test_episodes_leave_nothing_behind() -> None:
    episodes = fsgc.Dataset.from_networkx(*shapes(20)).split(way=2).episodes(2, FEW)
    path = episodes.store.path
    assert path.exists()
    del episodes
    gc.collect()
    assert not path.parent.exists()
    with pytest.raises(StoreError):
        fsgc.EpisodeStore.open(path)
