"""A training that was ended resumes from its last epoch, or starts anew where its state is of no use."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fsgc.episodes.batches import Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import Run
from fsgc.methods.prototypical.method import PrototypicalNetwork
from fsgc.methods.registry import METHODS
from fsgc.training.callbacks import Curves
from fsgc.training.run import fit_model
from fsgc.training.settings import Training
from fsgc.training.state import SealedCheckpoints
from tests.fitting import LOOP, SMALL, fit, fit_small, weights
from tests.methods.conftest import make_episodes
from tests.resuming import curves_after_resuming

pytestmark = pytest.mark.usefixtures("outside_any_repository")


@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_a_run_that_died_goes_on_and_ends_the_same(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch, epoch: int
) -> None:
    """Die in the middle of an epoch (of the last one: after it, before anything was returned)."""
    undisturbed, expected = fit_small(tmp_path / "undisturbed", episodes)
    with monkeypatch.context() as patch:
        original = Curves.on_train_batch_end

        def die(self: Curves, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            original(self, trainer, module, outputs, batch, index)
            if trainer.current_epoch == epoch and index == 1:
                raise RuntimeError("died")

        patch.setattr(Curves, "on_train_batch_end", die)
        with pytest.raises(RuntimeError, match="died"):
            fit_small(tmp_path / "resumed", episodes)
    resumed, report = fit_small(tmp_path / "resumed", episodes)
    assert torch.equal(weights(undisturbed), weights(resumed))
    assert (report.epochs, report.best_epoch, report.best) == (expected.epochs, expected.best_epoch, expected.best)
    rows = [
        np.genfromtxt(tmp_path / run / "curves" / "plots" / "metrics" / "loss.tsv", names=True)["loss"].tolist()
        for run in ("undisturbed", "resumed")
    ]
    assert rows[0] == rows[1]


def test_a_run_that_died_after_its_last_epoch_is_not_trained_further(tmp_path: Path, episodes: Episodes) -> None:
    method, report = fit_small(tmp_path, episodes, patience=1, max_epochs=4)
    stamp = (tmp_path / "state" / "last.ckpt").stat().st_mtime_ns
    curves = tmp_path / "curves"
    before = {path.name: np.genfromtxt(path, names=True)[path.stem].tolist() for path in curves.rglob("*.tsv")}
    shutil.rmtree(curves)  # as DVC does before it runs a stage
    again, second = fit_small(tmp_path, episodes, patience=1, max_epochs=4)
    assert len(before["loss.tsv"]) == report.epochs
    assert {path.name: np.genfromtxt(path, names=True)[path.stem].tolist() for path in curves.rglob("*.tsv")} == before
    assert (tmp_path / "state" / "last.ckpt").stat().st_mtime_ns == stamp
    assert torch.equal(weights(method), weights(again))
    assert replace(second, peak_memory=0) == replace(report, peak_memory=0)


def test_a_schedule_that_goes_by_validation_resumes_too(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning steps such a schedule after it has saved the epoch; here every step of it halves the rate."""

    def halving(self: PrototypicalNetwork) -> Any:
        optimiser = torch.optim.Adam(self.parameters(), lr=1e-2)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=0, threshold=10)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": plateau, "monitor": "val_loss"}}

    monkeypatch.setattr(PrototypicalNetwork, "configure_optimizers", halving)
    curves_after_resuming(Training("pn", SMALL, LOOP), episodes, tmp_path)
    last = torch.load(tmp_path / "undisturbed" / "state" / "last.ckpt", weights_only=True)
    assert last["optimizer_states"][0]["param_groups"][0]["lr"] == 1e-2 / 2 ** (LOOP.max_epochs - 1)


@pytest.mark.parametrize("model", ["maml", "as_maml", "gsm"])
def test_mixed_precision_is_refused_where_gradients_are_written_out(
    tmp_path: Path, episodes: Episodes, model: str
) -> None:
    training = Training(model, METHODS[model].method().settings_type(), replace(LOOP, precision="bf16-mixed"))
    with pytest.raises(SettingsError, match=r"^train\.precision must be '32-true' for this method.*got 'bf16-mixed'$"):
        fit(training, episodes, 0, tmp_path / "state", tmp_path / "curves")
    assert not (tmp_path / "state").exists()


def test_the_state_of_another_run_is_not_taken_up(tmp_path: Path, episodes: Episodes) -> None:
    fit_small(tmp_path, episodes, max_epochs=2)
    fresh, _ = fit_small(tmp_path / "fresh", episodes, max_epochs=3)
    after, _ = fit_small(tmp_path, episodes, max_epochs=3)
    assert torch.equal(weights(fresh), weights(after))


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


def test_checkpoints_hold_nothing_that_runs(tmp_path: Path, episodes: Episodes) -> None:
    fit_small(tmp_path, episodes, max_epochs=1)
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
    method, _ = fit_small(tmp_path, episodes, max_epochs=2)
    spoil(tmp_path / "state")
    again, report = fit_small(tmp_path, episodes, max_epochs=2)
    assert torch.equal(weights(method), weights(again))
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
        method, _ = fit_small(tmp_path, episodes, model="pn")
    assert len(kept) > 1
    (tmp_path / "state" / "best.ckpt").write_bytes(kept[0])
    again, _ = fit_small(tmp_path, episodes, model="pn")
    assert torch.equal(weights(method), weights(again))
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
    fit_small(tmp_path, episodes, max_epochs=1)
    assert {path.parent for path in seen if ".ckpt" in path.name} == {tmp_path / "state"}
