from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError, StoreError
from fsgc.methods.contract import Run
from fsgc.methods.learned import LearnedMethod, Loss
from fsgc.methods.prototypical.method import PrototypicalNetwork, PrototypicalSettings
from fsgc.training.callbacks import Curves
from fsgc.training.live import TrainingError
from fsgc.training.report import FitReport
from fsgc.training.run import fit_model
from fsgc.training.settings import Training, TrainSettings
from fsgc.training.state import SealedCheckpoints
from tests.fitting import fit
from tests.methods.conftest import make_episodes
from tests.noise import with_novel_noise

pytestmark = pytest.mark.usefixtures("outside_any_repository")

SMALL = PrototypicalSettings(width=8, lr=1e-2, dropout=0.2)
LOOP = TrainSettings(max_epochs=4, batch_size=16, accelerator="cpu")


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    return make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")


def _fit(
    tmp_path: Path, episodes: Episodes, seed: int = 0, model: str = "pn_tae_mu", **loop: Any
) -> tuple[LearnedMethod, FitReport]:
    experiment = Training(model, SMALL, replace(LOOP, **loop))
    method, report = fit(experiment, episodes, seed, tmp_path / "state", tmp_path / "curves")
    assert isinstance(method, LearnedMethod)
    return method, report


def _weights(method: LearnedMethod) -> torch.Tensor:
    return torch.cat([value.flatten().float() for value in method.state_dict().values()])


def test_it_learns_and_reports(tmp_path: Path, episodes: Episodes) -> None:
    _, report = _fit(tmp_path, episodes, model="pn")
    assert report.epochs == 4
    assert 1 <= report.best_epoch <= 4
    assert report.parameters > 100
    curves = tmp_path / "curves" / "plots" / "metrics"
    losses = np.genfromtxt(curves / "val_loss.tsv", names=True)["val_loss"]
    assert len(losses) == 4
    assert losses[-1] < losses[0]
    assert report.best == pytest.approx(losses.min())
    assert {"accuracy.tsv", "cross_entropy.tsv", "episodes_per_second.tsv", "val_accuracy.tsv"} <= {
        p.name for p in curves.iterdir()
    }


def test_the_curves_are_means_over_the_steps_of_an_epoch(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, steps = PrototypicalNetwork.loss, []

    def watched(self: PrototypicalNetwork, batch: Any) -> Loss:
        loss = original(self, batch)
        steps.append({"loss": loss.total, "accuracy": loss.accuracy, **loss.parts})
        return loss

    monkeypatch.setattr(PrototypicalNetwork, "loss", watched)
    _fit(tmp_path, episodes, max_epochs=2)
    assert len(steps) == 2 * 3
    for name in ("loss", "accuracy", "cross_entropy", "regulariser", "mixup"):
        values = np.array([step[name].item() for step in steps]).reshape(2, 3)
        curve = np.genfromtxt(tmp_path / "curves" / "plots" / "metrics" / f"{name}.tsv", names=True)
        np.testing.assert_allclose(curve[name], values.mean(1), rtol=1e-12)


def test_the_seed_decides_everything(tmp_path: Path, episodes: Episodes) -> None:
    first, again, other = (
        _weights(_fit(tmp_path / name, episodes, seed)[0]) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_a_run_that_died_goes_on_and_ends_the_same(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch, epoch: int
) -> None:
    """Die in the middle of an epoch (of the last one: after it, before anything was returned)."""
    undisturbed, expected = _fit(tmp_path / "undisturbed", episodes)
    with monkeypatch.context() as patch:
        original = Curves.on_train_batch_end

        def die(self: Curves, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            original(self, trainer, module, outputs, batch, index)
            if trainer.current_epoch == epoch and index == 1:
                raise RuntimeError("died")

        patch.setattr(Curves, "on_train_batch_end", die)
        with pytest.raises(RuntimeError, match="died"):
            _fit(tmp_path / "resumed", episodes)
    resumed, report = _fit(tmp_path / "resumed", episodes)
    assert torch.equal(_weights(undisturbed), _weights(resumed))
    assert (report.epochs, report.best_epoch, report.best) == (expected.epochs, expected.best_epoch, expected.best)
    rows = [
        np.genfromtxt(tmp_path / run / "curves" / "plots" / "metrics" / "loss.tsv", names=True)["loss"].tolist()
        for run in ("undisturbed", "resumed")
    ]
    assert rows[0] == rows[1]


def test_a_run_that_died_after_its_last_epoch_is_not_trained_further(tmp_path: Path, episodes: Episodes) -> None:
    method, report = _fit(tmp_path, episodes, patience=1, max_epochs=4)
    stamp = (tmp_path / "state" / "last.ckpt").stat().st_mtime_ns
    again, second = _fit(tmp_path, episodes, patience=1, max_epochs=4)
    assert (tmp_path / "state" / "last.ckpt").stat().st_mtime_ns == stamp
    assert torch.equal(_weights(method), _weights(again))
    assert replace(second, peak_memory=0) == replace(report, peak_memory=0)


def test_the_state_of_another_run_is_not_taken_up(tmp_path: Path, episodes: Episodes) -> None:
    _fit(tmp_path, episodes, max_epochs=2)
    fresh, _ = _fit(tmp_path / "fresh", episodes, max_epochs=3)
    after, _ = _fit(tmp_path, episodes, max_epochs=3)
    assert torch.equal(_weights(fresh), _weights(after))


def test_a_run_is_resumed_by_the_same_recipe_and_data_only(tmp_path: Path, episodes: Episodes) -> None:
    training = Training("pn", SMALL, replace(LOOP, max_epochs=1))
    others = make_episodes(tmp_path / "others.zarr", seed=2)

    def written(identity: str, data: Episodes) -> int:
        fit_model(training, Run(data, training.train, 0, tmp_path / "state", tmp_path / "curves", identity))
        return (tmp_path / "state" / "last.ckpt").stat().st_mtime_ns

    first = written("recipe", episodes)
    assert written("recipe", episodes) == first
    second = written("another recipe", episodes)
    assert second != first
    assert written("another recipe", others) != second


def test_early_stopping_and_selection_follow_the_monitor(tmp_path: Path, episodes: Episodes) -> None:
    _, by_loss = _fit(tmp_path / "loss", episodes, monitor="loss")
    _, by_accuracy = _fit(tmp_path / "accuracy", episodes, monitor="accuracy")
    for report, name, choose in ((by_loss, "loss", np.argmin), (by_accuracy, "accuracy", np.argmax)):
        curve = tmp_path / name / "curves" / "plots" / "metrics" / f"val_{name}.tsv"
        values = np.genfromtxt(curve, names=True)[f"val_{name}"]
        assert report.best_epoch == int(choose(values)) + 1


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (4, r"nan at step 4 \(epoch 1\); the last good checkpoint is .*last\.ckpt"),
        (1, "step 1 .*; no epoch was finished"),
    ],
)
def test_a_loss_that_is_no_number_stops_with_the_step(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch, step: int, message: str
) -> None:
    original = PrototypicalNetwork.loss

    def broken(self: PrototypicalNetwork, batch: Any) -> Any:
        loss = original(self, batch)
        if self.trainer.global_step == step:
            return replace(loss, total=loss.total * float("nan"))
        return loss

    monkeypatch.setattr(PrototypicalNetwork, "loss", broken)
    with pytest.raises(TrainingError, match=message):
        _fit(tmp_path, episodes)
    assert (tmp_path / "state" / "last.ckpt").exists() == (step == 4)


def test_a_git_repository_without_a_commit_is_explained(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DVCLive asks git for the current commit."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    with pytest.raises(TrainingError, match="A git repository needs a commit; make one"):
        _fit(tmp_path, episodes)


def test_more_epochs_than_stored_are_refused_before_any_work(tmp_path: Path, episodes: Episodes) -> None:
    with pytest.raises(SettingsError, match=r"train\.max_epochs: 5 epochs, but 4 are stored"):
        _fit(tmp_path, episodes, max_epochs=5)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("model", ["pn", "pn_tae_mu"])
def test_novel_graphs_replaced_by_noise_change_no_weight(tmp_path: Path, episodes: Episodes, model: str) -> None:
    clean, _ = _fit(tmp_path / "clean", episodes, model=model)
    noisy, _ = _fit(tmp_path / "noisy", with_novel_noise(episodes), model=model)
    assert torch.equal(_weights(clean), _weights(noisy))


def test_checkpoints_hold_nothing_that_runs(tmp_path: Path, episodes: Episodes) -> None:
    _fit(tmp_path, episodes, max_epochs=1)
    for name in ("last.ckpt", "best.ckpt"):
        content = torch.load(tmp_path / "state" / name, weights_only=True)
        json.dumps(content["callbacks"]["Curves"])


def _damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def _exchange(directory: Path) -> None:
    best, last = (directory / name for name in ("best.ckpt", "last.ckpt"))
    one, other = best.read_bytes(), last.read_bytes()
    best.write_bytes(other)
    last.write_bytes(one)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda state: _damage(state / "last.ckpt"), r"last\.ckpt is damaged"),
        (lambda state: _damage(state / "best.ckpt"), r"best\.ckpt is damaged"),
        (lambda state: os.truncate(state / "last.ckpt", 5000), r"last\.ckpt is damaged"),
        (lambda state: os.truncate(state / "last.ckpt", 0), r"last\.ckpt is damaged"),
        (lambda state: (state / "best.ckpt").unlink(), r"best\.ckpt cannot be read \(No such file"),
        (lambda state: (state / "run.json").unlink(), r"run\.json is missing"),
        (lambda state: (state / "run.json").write_bytes(b"\xff\xfe"), r"run\.json is damaged"),
        (_exchange, r"last\.ckpt is damaged"),
    ],
)
def test_a_state_of_no_use_is_as_good_as_none(
    tmp_path: Path, episodes: Episodes, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object], reason: str
) -> None:
    """Such as half a copy of a checkpoint, or what is left of a directory whose removal was interrupted."""
    method, _ = _fit(tmp_path, episodes, max_epochs=2)
    spoil(tmp_path / "state")
    again, report = _fit(tmp_path, episodes, max_epochs=2)
    assert torch.equal(_weights(method), _weights(again))
    assert report.epochs == 2
    (message,) = [record.getMessage() for record in caplog.records if record.name == "fsgc.training.state"]
    assert re.search(f"the training starts anew.*{reason}", message)


def test_an_older_best_epoch_in_place_of_the_best_is_noticed(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its digest is right; the curves tell that it is not the one."""
    kept: list[bytes] = []
    original = SealedCheckpoints.save_checkpoint

    def keep(
        self: SealedCheckpoints, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        original(self, checkpoint, path, storage_options)
        if Path(path).name == "best.ckpt":
            kept.append(Path(path).read_bytes())

    with monkeypatch.context() as patch:
        patch.setattr(SealedCheckpoints, "save_checkpoint", keep)
        method, _ = _fit(tmp_path, episodes, model="pn")
    assert len(kept) > 1
    (tmp_path / "state" / "best.ckpt").write_bytes(kept[0])
    again, _ = _fit(tmp_path, episodes, model="pn")
    assert torch.equal(_weights(method), _weights(again))
    assert "best.ckpt is of epoch 1, the best one was" in caplog.text


def test_checkpoints_do_not_pass_through_the_temporary_directory(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another file system a rename from there would be a copy, which a kill can cut short."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "does not exist"))
    seen: list[Path] = []
    original = Path.write_bytes

    def note(self: Path, data: bytes) -> int:
        seen.append(self)
        return original(self, data)

    monkeypatch.setattr(Path, "write_bytes", note)
    _fit(tmp_path, episodes, max_epochs=1)
    assert {path.parent for path in seen if ".ckpt" in path.name} == {tmp_path / "state"}


def test_a_full_disk_in_training_is_a_sentence(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("fsgc.training.state.sealed", full)
        with pytest.raises(StoreError, match=r"best\.ckpt cannot be written: No space left on device; free some space"):
            _fit(tmp_path / "a", episodes, max_epochs=1)
    monkeypatch.setattr("dvclive.live.Live.log_metric", full)
    with pytest.raises(StoreError, match="curves cannot be written: No space left on device; free some space"):
        _fit(tmp_path / "b", episodes, max_epochs=1)


def test_a_run_that_is_asked_to_end_does_not_look_finished(
    episodes: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning's own exit has code 0, with which `fsgc train && fsgc evaluate` would go on."""
    loss = PrototypicalNetwork.loss

    def ended(self: PrototypicalNetwork, batch: EpisodeBatch) -> Loss:
        os.kill(os.getpid(), signal.SIGTERM)
        return loss(self, batch)

    monkeypatch.setattr(PrototypicalNetwork, "loss", ended)
    with pytest.raises(SystemExit) as stopped:
        fit(Training("pn", SMALL, LOOP), episodes, 0, tmp_path / "state", tmp_path / "curves")
    assert stopped.value.code == 128 + signal.SIGTERM
