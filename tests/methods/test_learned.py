from __future__ import annotations

from pathlib import Path

import pytest
import pytorch_lightning as pl

from fsgc.episodes.batches import Episodes
from fsgc.methods.smf_gin.method import SmfGin, SmfGinSettings
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit


@pytest.mark.usefixtures("outside_any_repository")
def test_without_a_progress_bar_only_validation_is_noted(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []
    log = pl.LightningModule.log

    def note(module: pl.LightningModule, name: str, *arguments: object, **options: object) -> None:
        noted.append(name)
        log(module, name, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pl.LightningModule, "log", note)
    loop = TrainSettings(max_epochs=1, batch_size=4, episodes_per_epoch=8, accelerator="cpu")
    training = Training("smf_gin", SmfGinSettings(width=8, convs=2), loop)
    _, report = fit(training, episodes, 0, tmp_path / "state", tmp_path / "curves")
    assert report.epochs == 1
    assert set(noted) == {"val_loss", "val_accuracy"}
    assert (tmp_path / "curves").exists()


@pytest.mark.usefixtures("outside_any_repository")
def test_a_method_has_the_hooks_of_lightning_and_a_trainer_while_it_is_trained(
    tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs: list[int] = []

    def hook(method: SmfGin) -> None:
        epochs.append(method.trainer.current_epoch)

    monkeypatch.setattr(SmfGin, "on_train_epoch_start", hook, raising=False)
    loop = TrainSettings(max_epochs=2, batch_size=4, episodes_per_epoch=8, accelerator="cpu")
    training = Training("smf_gin", SmfGinSettings(width=8, convs=2), loop)
    method, _ = fit(training, episodes, 0, tmp_path / "state", tmp_path / "curves")
    assert epochs == [0, 1]
    assert isinstance(method, SmfGin)
    assert method.trainer is None
