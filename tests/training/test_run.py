from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsgc.episodes.batches import Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.methods.contract import Run
from fsgc.methods.transfer import TransferSettings
from fsgc.training.run import fit_model
from fsgc.training.settings import Training, TrainSettings
from tests.methods.conftest import make_episodes

pytestmark = pytest.mark.usefixtures("outside_any_repository")
LOOP = TrainSettings(max_epochs=2, batch_size=16, accelerator="cpu")


def _with_shots(episodes: Episodes, shots: int, path: Path) -> Episodes:
    settings = EpisodeSettings(queries=2, train_epochs=1, train_per_epoch=8, val=5, test=5)
    draw_episodes(path, episodes.graphs, episodes.split, way=2, shots=shots, seed=0, settings=settings)
    return replace(episodes, store=EpisodeStore.open(path))


@pytest.mark.parametrize("model", ["gin", "gat", "gcn"])
def test_a_transfer_model_has_the_same_bytes_whatever_the_shots(tmp_path: Path, model: str) -> None:
    base = make_episodes(tmp_path / "base.zarr")
    training = Training(model, TransferSettings(width=4, dropout=0.2), LOOP)
    models = []
    for shots in (5, 3):
        episodes, out = _with_shots(base, shots, tmp_path / f"{shots}.zarr"), tmp_path / f"{shots}.pt"
        run = Run(episodes, LOOP, 0, tmp_path / f"state{shots}", tmp_path / f"curves{shots}", "recipe")
        fit_model(training, run).save(out)
        models.append(out.read_bytes())
    assert models[0] == models[1]


def test_a_model_is_a_function_of_training_data_and_seed(tmp_path: Path) -> None:
    episodes = make_episodes(tmp_path / "base.zarr")
    training = Training("gin", TransferSettings(width=4), LOOP)

    def trained(name: str, seed: int) -> bytes:
        run = Run(episodes, LOOP, seed, tmp_path / name / "state", tmp_path / name / "curves", name)
        fit_model(training, run).save(tmp_path / name / "model.pt")
        return (tmp_path / name / "model.pt").read_bytes()

    assert trained("a", 0) == trained("b", 0) != trained("c", 1)
