from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import fsgc
from fsgc.data.catalog import load_catalog
from fsgc.data.splits import SplitSettings
from fsgc.errors import SettingsError, StoreError
from fsgc.files import remove

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


def test_features_can_be_chosen() -> None:
    episodes = fsgc.load_episodes("triangles_gen", 5, settings=SMALL, features=["degree"])
    assert episodes.features.rows().shape == (int(episodes.graphs.node_ptr[-1]), 1)


def test_episodes_of_other_graphs_are_refused(workspace: Path) -> None:
    episodes = fsgc.load_episodes("triangles_gen", 5, settings=SMALL)
    order = np.arange(len(episodes.graphs))[::-1]
    episodes.graphs.select(order).save(workspace / "graphs" / "triangles_gen.zarr")
    with pytest.raises(StoreError, match="drawn from other graphs"):
        fsgc.load_episodes("triangles_gen", 5)


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
    with pytest.raises(StoreError, match=message):
        fsgc.load_episodes("triangles_gen", 5)


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
