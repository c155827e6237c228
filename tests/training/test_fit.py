from __future__ import annotations

import errno
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError, StoreError
from fsgc.methods.learned import Loss
from fsgc.methods.prototypical.method import PrototypicalNetwork
from fsgc.training.live import TrainingError
from fsgc.training.settings import Training
from tests.fitting import LOOP, SMALL, fit, fit_small, weights
from tests.noise import with_novel_noise

pytestmark = pytest.mark.usefixtures("outside_any_repository")


def test_it_learns_and_reports(tmp_path: Path, episodes: Episodes) -> None:
    _, report = fit_small(tmp_path, episodes, model="pn")
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
    fit_small(tmp_path, episodes, max_epochs=2)
    assert len(steps) == 2 * 3
    for name in ("loss", "accuracy", "cross_entropy", "regulariser", "mixup"):
        values = np.array([step[name].item() for step in steps]).reshape(2, 3)
        curve = np.genfromtxt(tmp_path / "curves" / "plots" / "metrics" / f"{name}.tsv", names=True)
        np.testing.assert_allclose(curve[name], values.mean(1), rtol=1e-12)


def test_the_seed_decides_everything(tmp_path: Path, episodes: Episodes) -> None:
    first, again, other = (
        weights(fit_small(tmp_path / name, episodes, seed)[0]) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_early_stopping_and_selection_follow_the_monitor(tmp_path: Path, episodes: Episodes) -> None:
    _, by_loss = fit_small(tmp_path / "loss", episodes, monitor="loss")
    _, by_accuracy = fit_small(tmp_path / "accuracy", episodes, monitor="accuracy")
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
        fit_small(tmp_path, episodes)
    assert (tmp_path / "state" / "last.ckpt").exists() == (step == 4)


def test_a_git_repository_without_a_commit_is_explained(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DVCLive asks git for the current commit."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    with pytest.raises(TrainingError, match="A git repository needs a commit; make one"):
        fit_small(tmp_path, episodes)


def test_more_epochs_than_stored_are_refused_before_any_work(tmp_path: Path, episodes: Episodes) -> None:
    with pytest.raises(SettingsError, match=r"train\.max_epochs: 5 epochs, but 4 are stored"):
        fit_small(tmp_path, episodes, max_epochs=5)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("model", ["pn", "pn_tae_mu"])
def test_novel_graphs_replaced_by_noise_change_no_weight(tmp_path: Path, episodes: Episodes, model: str) -> None:
    clean, _ = fit_small(tmp_path / "clean", episodes, model=model)
    noisy, _ = fit_small(tmp_path / "noisy", with_novel_noise(episodes), model=model)
    assert torch.equal(weights(clean), weights(noisy))


def test_a_full_disk_in_training_is_a_sentence(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("fsgc.training.state.sealed", full)
        with pytest.raises(StoreError, match=r"best\.ckpt cannot be written: No space left on device; free some space"):
            fit_small(tmp_path / "a", episodes, max_epochs=1)
    monkeypatch.setattr("dvclive.live.Live.log_metric", full)
    with pytest.raises(StoreError, match="curves cannot be written: No space left on device; free some space"):
        fit_small(tmp_path / "b", episodes, max_epochs=1)


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
