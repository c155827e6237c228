"""Training a method on stored episodes: resumable, deterministic, selected on validation episodes."""

from __future__ import annotations

import logging
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint, TQDMProgressBar
from pytorch_lightning.utilities.exceptions import SIGTERMException

from fsgc.errors import SettingsError
from fsgc.training.callbacks import Curves, EpochLines, SeedEachEpoch
from fsgc.training.data import MethodData
from fsgc.training.plan import BatchPlan
from fsgc.training.report import FitReport, peak_memory
from fsgc.training.state import BEST, LAST, TrainingState
from fsgc.training.trainee import Trainee

if TYPE_CHECKING:
    from fsgc.methods.contract import Run
    from fsgc.methods.learned import LearnedMethod


FULL_PRECISION = "32-true"


def fit(method: LearnedMethod, run: Run) -> FitReport:
    """Train a method and leave it with the weights of its best epoch.

    Args:
        method: with its first weights and its graphs.
        run: the stored episodes, of which the test ones are not touched, and all else.
    """
    episodes, settings, seed, state = run.episodes, run.settings, run.seed, run.state
    stored = episodes.store.settings.train_epochs
    if method.trains_on == "episodes" and not settings.episodes_per_epoch and settings.max_epochs > stored:
        raise SettingsError(
            f"train.max_epochs: {settings.max_epochs} epochs, but {stored} are stored; raise episodes.train_epochs"
        )
    if settings.precision != FULL_PRECISION and not method.mixed_precision:
        raise SettingsError(
            f"train.precision must be {FULL_PRECISION!r} for this method, which steps through gradients that are "
            f"written out for it, got {settings.precision!r}"
        )
    # Other code, settings, data or PyTorch than began a run must not resume it.
    identity = f"{run.identity} {episodes.identity()} torch {torch.__version__}"
    checkpoints = TrainingState(state, identity, settings.monitor)
    last = checkpoints.open()
    rows = Curves(run.curves, state)
    if last is None or not _finished(last, settings.max_epochs):
        _silence_lightning()
        terminal = sys.stderr.isatty()
        trainer = pl.Trainer(
            accelerator=settings.accelerator,
            devices=1,
            precision=settings.precision,
            max_epochs=settings.max_epochs,
            gradient_clip_val=settings.gradient_clip,
            deterministic="warn",
            callbacks=[
                SeedEachEpoch(seed),
                _early_stopping(settings.monitor, settings.patience),
                rows,
                TQDMProgressBar() if terminal else EpochLines(rows),
                *_checkpoints(state, settings.monitor),
            ],
            plugins=[checkpoints.files],
            logger=False,
            enable_progress_bar=terminal,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            inference_mode=False,  # a method that adapts to its episodes needs gradients in validation, too
            reload_dataloaders_every_n_epochs=1,
        )
        data = MethodData(method, episodes, BatchPlan(settings.batch_size, settings.episodes_per_epoch, seed))
        try:
            trainer.fit(Trainee(method), datamodule=data, ckpt_path=state / LAST if last else None, weights_only=True)
        except SIGTERMException:  # asked to end, Lightning exits with code 0, as if the training were done
            raise SystemExit(128 + signal.SIGTERM) from None
        last = checkpoints.files.load_checkpoint(state / LAST)
        rows.load_state_dict(last["callbacks"]["Curves"])
    else:
        rows.load_state_dict(last["callbacks"]["Curves"])
        rows.write_all()  # DVC deletes the curves before it runs a stage
    chosen = checkpoints.best()
    method.load_state_dict(chosen["state_dict"])
    method.move("cpu")
    method.eval()
    epoch = int(chosen["epoch"])
    return FitReport(
        epochs=len(rows.rows),
        best_epoch=epoch + 1,
        best=rows.rows[epoch][f"val_{settings.monitor}"],
        seconds=sum(row["seconds"] for row in rows.rows),
        peak_memory=peak_memory(),
        parameters=sum(p.numel() for p in method.parameters() if p.requires_grad),
    )


def _finished(last: dict[str, Any], max_epochs: int) -> bool:
    """Whether the run was killed after its last epoch."""
    stopping = next(state for name, state in last["callbacks"].items() if name.startswith("EarlyStopping"))
    return int(last["epoch"]) + 1 == max_epochs or stopping["wait_count"] >= stopping["patience"]


def _early_stopping(monitor: str, patience: int) -> EarlyStopping:
    mode = "min" if monitor == "loss" else "max"
    return EarlyStopping(f"val_{monitor}", patience=patience, mode=mode, check_on_train_epoch_end=True)


def _checkpoints(state: Path, monitor: str) -> list[ModelCheckpoint]:
    """The best epoch so far, to be the result, and the last one, to resume from."""
    mode = "min" if monitor == "loss" else "max"
    common: dict[str, Any] = {"dirpath": state, "save_on_train_epoch_end": True, "enable_version_counter": False}
    return [
        ModelCheckpoint(filename=Path(BEST).stem, monitor=f"val_{monitor}", mode=mode, **common),
        ModelCheckpoint(filename=Path(LAST).stem, **common),
    ]


def _silence_lightning() -> None:
    """Lightning greets with hints about devices and workers; what we have to say is in our own lines."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="pytorch_lightning")
