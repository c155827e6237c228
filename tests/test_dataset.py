"""From graphs in memory to a tested model."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import fsgc
from fsgc.episodes.batches import Episodes
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


def _episodes(seed: int, few: EpisodeSettings = FEW) -> Episodes:
    return fsgc.Dataset.from_networkx(*shapes(20, seed)).split(way=2, novel=["ring", "star"]).episodes(2, few)


@pytest.mark.filterwarnings("ignore:node features of mine")
def test_a_kernel_is_tested_on_the_graphs_at_hand_not_on_those_before() -> None:
    few = replace(FEW, test=200)
    first, other = _episodes(0, few), _episodes(1, few)
    fresh = fsgc.evaluate(fsgc.train("wl", other), other)["accuracy"]
    trained = fsgc.train("wl", first)
    assert fsgc.evaluate(trained, first)["accuracy"] != fresh
    assert fsgc.evaluate(trained, other)["accuracy"] == fresh


def test_a_kernel_can_be_saved_when_its_episodes_are_gone(tmp_path: Path) -> None:
    trained = fsgc.train("wl", _episodes(0))
    gc.collect()
    trained.save(tmp_path / "wl.pt")
    assert (tmp_path / "wl.pt").exists()


@pytest.mark.usefixtures("outside_any_repository")
def test_episodes_with_other_features_are_refused_and_with_other_meanings_warned_of() -> None:
    trained = fsgc.train("pn", _episodes(0), loop={"max_epochs": 1, "accelerator": "cpu"})
    with pytest.warns(UserWarning, match="node features of mine have other labels, degrees or scales than in training"):
        fsgc.evaluate(trained, _episodes(1))
    plain = [nx.Graph(graph.edges) for graph in shapes(20)[0]]
    other = fsgc.Dataset.from_networkx(plain, shapes(20)[1]).split(way=2, novel=["ring", "star"]).episodes(2, FEW)
    with pytest.raises(StoreError, match=r"takes 5 features \(attributes label_onehot\), the episodes have 8"):
        fsgc.evaluate(trained, other)
