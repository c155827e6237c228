"""What happens around the steps: randomness, curves, speed, and a stop when the loss is NaN or infinite."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytorch_lightning as pl
import torch
from torch import Tensor

from fsgc.random import generator
from fsgc.training.live import LiveRows, TrainingError

if TYPE_CHECKING:
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    from fsgc.training.trainee import Trainee


class SeedEachEpoch(pl.Callback):
    """Makes an epoch's random numbers a function of seed and epoch, so that a resumed run draws the same ones."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_epoch_start(self, trainer: pl.Trainer, _module: pl.LightningModule) -> None:
        """Seed PyTorch for this epoch."""
        torch.manual_seed(int(generator("train", self.seed, block=trainer.current_epoch).integers(2**63)))


class Curves(pl.Callback):
    """Keeps one row of values per epoch, writes it through DVCLive, and stops the run if a loss is NaN or infinite.

    The rows are part of the checkpoint: a resumed run writes the same curves as an undisturbed one.

    Args:
        directory: where DVCLive writes.
        checkpoints: where the last good checkpoint is, for the message.
    """

    def __init__(self, directory: Path, checkpoints: Path) -> None:
        self.directory = directory
        self.checkpoints = checkpoints
        self.rows: list[dict[str, float]] = []
        self._steps: list[dict[str, Tensor]] = []
        self._count = 0
        self._start = 0.0
        self._live: LiveRows | None = None

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a checkpoint."""
        self.rows = list(state_dict["rows"])

    def write_all(self) -> None:
        """Write the rows of a run that has nothing left to train."""
        self._open().close()

    def _open(self) -> LiveRows:
        live = LiveRows(self.directory)
        for row in self.rows:
            live.write(row)
        return live

    def on_train_start(self, trainer: pl.Trainer, _module: pl.LightningModule) -> None:
        """Open the curves, write the rows of the epochs before, and make up for what their last checkpoint lacks.

        Lightning steps schedules that go by a validation value after it has saved the epoch, and not when it resumes.
        """
        self._live = self._open()
        for schedule in trainer.lr_scheduler_configs if self.rows else ():
            if schedule.reduce_on_plateau:
                cast("ReduceLROnPlateau", schedule.scheduler).step(self.rows[-1][str(schedule.monitor)])

    def on_train_epoch_start(self, _trainer: pl.Trainer, _module: pl.LightningModule) -> None:
        """Start the clock of the epoch."""
        self._steps, self._count, self._start = [], 0, time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, _batch_idx: int
    ) -> None:
        """Note what `training_step` returned, without waiting for the device."""
        self._steps.append(outputs)
        self._count += len(batch.graphs)
        if trainer.progress_bar_callback is not None:
            rate = self._count / (time.perf_counter() - self._start)
            module.log(f"{_unit(module)}/s", round(rate), prog_bar=True, batch_size=1)

    def on_train_epoch_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Average the steps, check them, add a row."""
        columns = {name: torch.stack([step[name] for step in self._steps]).cpu() for name in self._steps[0]}
        bad = torch.nonzero(~torch.isfinite(columns["loss"]))
        if len(bad):
            step = trainer.global_step - len(self._steps) + int(bad[0])
            last = self.checkpoints / "last.ckpt"
            good = f"the last good checkpoint is {last}" if last.exists() else "no epoch was finished before"
            raise TrainingError(
                f"the loss is {columns['loss'][bad[0]].item()} at step {step} (epoch {trainer.current_epoch}); {good}. "
                f"Lower the learning rate"
            )
        row = {name: float(values.double().mean()) for name, values in columns.items()}
        row |= {name: float(trainer.callback_metrics[name]) for name in ("val_loss", "val_accuracy")}
        row["seconds"] = time.perf_counter() - self._start
        row[f"{_unit(module)}_per_second"] = self._count / row["seconds"]
        self.rows.append(row)
        assert self._live is not None
        self._live.write(row)

    def on_fit_end(self, _trainer: pl.Trainer, _module: pl.LightningModule) -> None:
        """Close the curves."""
        if self._live is not None:
            self._live.close()


class EpochLines(pl.Callback):
    """Prints a line an epoch where there is no terminal for a progress bar."""

    def __init__(self, curves: Curves) -> None:
        self.curves = curves

    def on_train_epoch_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Print the epoch's row."""
        row, unit = self.curves.rows[-1], _unit(module)
        print(
            f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}: loss {row['loss']:.4f}, "
            f"accuracy {row['accuracy']:.4f}, val_loss {row['val_loss']:.4f}, val_accuracy {row['val_accuracy']:.4f}, "
            f"{row[f'{unit}_per_second']:.0f} {unit}/s",
            flush=True,
        )


def _unit(module: pl.LightningModule) -> str:
    """What the method trains on."""
    return cast("Trainee", module).method.trains_on
