from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

import fsgc
from fsgc import api
from fsgc.data.catalog import dataset, load_catalog
from fsgc.data.own import Choices, add_dataset
from fsgc.data.splits import SplitSettings, make_split
from fsgc.errors import SettingsError, StoreError
from fsgc.experiment import Experiment
from fsgc.files import remove
from fsgc.steps.open import open_data
from fsgc.workspace import Workspace
from tests.shapes import bare_shapes

SMALL = fsgc.EpisodeSettings(train_epochs=2, train_per_epoch=20, val=10, test=30)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_everything_is_made_on_first_use_and_kept(workspace: Path) -> None:
    graphs = fsgc.load_graphs("triangles_gen")
    assert len(graphs) == 2010
    made = workspace / "graphs" / "triangles_gen.zarr" / "zarr.json"
    stamp = made.stat().st_mtime_ns
    episodes = fsgc.load_episodes("triangles_gen", shots=5, settings=SMALL)
    again = fsgc.load_episodes("triangles_gen", shots=5)
    assert made.stat().st_mtime_ns == stamp
    assert again.store.settings == SMALL, "what is stored is taken as it is"
    np.testing.assert_array_equal(episodes.store.test, again.store.test)
    assert fsgc.load_split("triangles_gen").novel == (2, 5, 10)


def test_other_settings_draw_anew_and_keep_the_first_episodes() -> None:
    few = fsgc.load_episodes("triangles_gen", shots=5, settings=SMALL)
    first = few.store.train(1)
    more = fsgc.load_episodes("triangles_gen", shots=5, settings=fsgc.EpisodeSettings(3, 3, 20, 10, 30))
    assert more.store.queries("test") == 3
    more = fsgc.load_episodes("triangles_gen", shots=5, settings=fsgc.EpisodeSettings(15, 3, 20, 10, 30))
    np.testing.assert_array_equal(more.store.train(1), first)


def test_episodes_follow_their_split() -> None:
    """Graphs that have moved from validation to training must not stay in the stored episodes."""
    before = fsgc.load_episodes("triangles_gen", shots=5, settings=SMALL)
    split = fsgc.load_split("triangles_gen", settings=SplitSettings(held_out_share=0.15))
    assert not np.isin(before.store.val, split.held_out).all()
    after = fsgc.load_episodes("triangles_gen", shots=5)
    assert np.isin(after.store.val, split.held_out).all()
    assert not np.isin(after.store.train(0), split.held_out).any()


def test_episodes_follow_a_split_that_was_deleted_too(workspace: Path) -> None:
    """A damaged split is to be deleted, says the message; meanwhile its settings may have changed."""
    fsgc.load_episodes("triangles_gen", shots=5, settings=SMALL)
    Workspace(workspace).split("triangles_gen", 0).unlink()
    split = fsgc.load_split("triangles_gen", settings=SplitSettings(held_out_share=0.15))
    episodes = fsgc.load_episodes("triangles_gen", shots=5)
    assert np.isin(episodes.store.val, split.held_out).all()
    assert not np.isin(episodes.store.train(0), split.held_out).any()


def _add_mine(project: Path, order: int) -> None:
    """A project with a dataset `mine`: of the same graphs and classes in each, in this order or backwards."""
    project.mkdir()
    records = []
    for graph, label in list(zip(*bare_shapes(30), strict=True))[::order]:
        graph.graph["label"] = label
        records.append(nx.node_link_data(graph, edges="links"))
    (project / "mine.json").write_text(json.dumps(records))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        add_dataset("mine.json", "mine", Choices())


@pytest.fixture
def two_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two projects that share a data root, each with a dataset of the same name, size and classes."""
    monkeypatch.delenv("FSGC_DATASETS", raising=False)
    first, second = tmp_path / "first", tmp_path / "second"
    _add_mine(first, 1)
    _add_mine(second, -1)
    return first, second


def test_a_split_follows_its_graphs(two_projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of another dataset of the same name and size: their split must not be that of the old ones."""
    first, second = two_projects
    held_out = {}
    for project, shots in ((second, 1), (first, 2), (first, 1), (second, 2)):
        monkeypatch.chdir(project)
        episodes = fsgc.load_episodes("mine", shots, settings=replace(SMALL, queries=2))
        expected = make_split(dataset("mine"), episodes.graphs.y).held_out
        np.testing.assert_array_equal(episodes.split.held_out, expected)
        episodes.split.check(episodes.graphs.y)
        assert np.isin(episodes.store.val, expected).all()
        held_out[project] = expected.tolist()
    assert held_out[first] != held_out[second], "else there would be nothing to notice"


def test_all_that_was_made_of_other_graphs_is_made_anew(
    two_projects: tuple[Path, Path], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_projects
    monkeypatch.chdir(second)
    wl = Experiment.from_params({"episodes": {"queries": 2, "test": 10}}, dataset="mine", model="wl", shots=2)
    api.ensure_stores(Workspace(workspace), wl)
    fsgc.load_split("mine", seed=1)
    fsgc.load_split("triangles_gen")
    notes = {path.relative_to(workspace / ".recipes").as_posix() for path in workspace.glob(".recipes/*/*.json")}
    others = {"graphs/triangles_gen.json", "splits/triangles_gen-seed0.json"}
    assert len(notes - others) == 5
    monkeypatch.chdir(first)
    fsgc.load_graphs("mine")
    kept = {path.relative_to(workspace / ".recipes").as_posix() for path in workspace.glob(".recipes/*/*.json")}
    assert kept == others | {"graphs/mine.json"}


def _end(*_: object) -> None:
    raise KeyboardInterrupt


def test_graphs_without_a_note_are_not_taken_for_the_old_ones(
    two_projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may end between its graphs and the note of their recipe."""
    first, second = two_projects
    monkeypatch.chdir(first)
    before = fsgc.load_graphs("mine").fingerprint()
    monkeypatch.chdir(second)
    with monkeypatch.context() as patch:
        patch.setattr(api, "write_note", _end)
        with pytest.raises(KeyboardInterrupt):
            fsgc.load_graphs("mine")
    monkeypatch.chdir(first)
    assert fsgc.load_graphs("mine").fingerprint() == before


def test_features_can_be_chosen() -> None:
    episodes = fsgc.load_episodes("triangles_gen", 5, settings=SMALL, features=["degree"])
    assert episodes.features.rows().shape == (int(episodes.graphs.node_ptr[-1]), 1)


def _is_refused_where_nothing_is_made(workspace: Path, message: str) -> None:
    """The stages of DVC open their stores as these are."""
    with pytest.raises(StoreError, match=message):
        open_data(Workspace(workspace), Experiment.from_params({}, dataset="triangles_gen", model="wl", shots=5))


def test_graphs_that_something_else_put_there_are_made_anew(workspace: Path) -> None:
    episodes = fsgc.load_episodes("triangles_gen", 5, settings=SMALL)
    before, path = episodes.graphs.fingerprint(), workspace / "graphs" / "triangles_gen.zarr"
    episodes.graphs.select(np.arange(len(episodes.graphs))[::-1]).save(path)
    _is_refused_where_nothing_is_made(workspace, "drawn from other graphs")
    assert fsgc.load_episodes("triangles_gen", 5, settings=SMALL).graphs.fingerprint() == before


@pytest.mark.parametrize(
    ("wrong", "there", "message"),
    [
        ("splits/triangles_gen-seed1.json", "splits/triangles_gen-seed0.json", r"of \('triangles_gen', 1, 2010\)"),
        ("episodes/triangles_gen-4shot-seed0.zarr", "episodes/triangles_gen-5shot-seed0.zarr", r"4, 0\), expected"),
    ],
)
def test_a_whole_store_in_the_wrong_place_is_refused(workspace: Path, wrong: str, there: str, message: str) -> None:
    for shots, seed in ((5, 0), (4, 0), (5, 1)):
        fsgc.load_episodes("triangles_gen", shots, seed, settings=SMALL)
    remove(workspace / there)
    (workspace / wrong).rename(workspace / there)
    _is_refused_where_nothing_is_made(workspace, message)
    assert fsgc.load_episodes("triangles_gen", 5, settings=SMALL).split.seed == 0


def test_graphs_of_ones_own_are_read(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("1\n2 7\n0 1 1\n0 1 0\n")
    assert fsgc.read_graphs("gsm", tmp_path, file="mine.txt").y.tolist() == [7]
    with pytest.raises(SettingsError, match="reader must be one of gsm, tu, as_maml, got 'xls'"):
        fsgc.read_graphs("xls", tmp_path)
    with pytest.raises(SettingsError, match="the reader 'tu' needs the option 'prefix'"):
        fsgc.read_graphs("tu", tmp_path)


@pytest.mark.real
@pytest.mark.parametrize("key", [key for key in load_catalog() if key != "triangles_gen"])
@pytest.mark.parametrize("shots", [5, 10])
@pytest.mark.filterwarnings("ignore::fsgc.episodes.store.FewerQueriesWarning")
def test_every_dataset_yields_episodes(mirror: Path, key: str, shots: int) -> None:
    assert mirror
    episodes = fsgc.load_episodes(key, shots, settings=SMALL)
    batch, graphs = next(episodes.pyg_batches("test", batch_size=2))
    assert batch.graphs.shape == (2, episodes.way, shots + episodes.store.queries("test"))
    assert graphs.num_graphs == batch.graphs.numel()
    assert torch.isfinite(graphs.x).all()
    expected_queries = {
        ("triangles_as_maml", 10): {"val": 15},
        ("enzymes", 5): {"val": 15},
        ("enzymes", 10): {"val": 10},
        ("reddit", 10): {"val": 10},
        ("graph_r52", 10): {"train": 13},
    }.get((key, shots), {})
    for part, queries in expected_queries.items():
        assert episodes.store.queries(part) == queries  # type: ignore[arg-type]


def test_the_package_lists_what_it_offers() -> None:
    assert set(dir(fsgc)) == set(fsgc.__all__)
    for name in fsgc.__all__:
        assert getattr(fsgc, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = fsgc.nonsense


def test_a_graph_store_can_be_sent_to_another_process() -> None:
    graphs = fsgc.load_graphs("triangles_gen")
    assert pickle.loads(pickle.dumps(graphs)).fingerprint() == graphs.fingerprint()
