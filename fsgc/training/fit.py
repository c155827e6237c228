"""Training a method on stored episodes: resumable, deterministic, selected on validation episodes."""

from __future__ import annotations

import hashlib
import json
import logging
import resource
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint, TQDMProgressBar

from fsgc.episodes.batches import Episodes
from fsgc.errors import SettingsError
from fsgc.files import remove, replacing
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.learned import BatchPlan, LearnedMethod
from fsgc.methods.registry import method_entry
from fsgc.random import generator
from fsgc.training.callbacks import Curves, EpochLines, SeedEachEpoch
from fsgc.training.data import MethodData
from fsgc.training.settings import Experiment

RUN_FILE = "run.json"


@dataclass(frozen=True)
class FitReport:
    """What training took.

    Attributes:
        epochs: epochs trained; 0 if there was nothing to train.
        best_epoch: the epoch the weights are from, counted from 1.
        best: the monitored validation metric there.
        seconds: of all epochs.
        peak_memory: bytes of main memory the process took at most.
        parameters: trainable numbers.
    """

    epochs: int
    best_epoch: int
    best: float | None
    seconds: float
    peak_memory: int
    parameters: int


def make_method(experiment: Experiment, episodes: Episodes, seed: int) -> Method:
    """A fresh method whose first weights depend on `seed` only, with the graphs of the episodes."""
    torch.manual_seed(int(generator("weights", seed).integers(2**63)))
    method = method_entry(experiment.model).make(TaskShape.of(episodes), experiment.method)
    method.attach(episodes)
    return method


def fit(experiment: Experiment, episodes: Episodes, seed: int, state: Path, curves: Path) -> tuple[Method, FitReport]:
    """Train a method and return it with the weights of its best epoch; one without weights is returned as it is.

    Args:
        experiment: model, hyperparameters and loop.
        episodes: the stored episodes; the test ones are not touched.
        seed: of weights and of everything drawn in training.
        state: a directory for checkpoints; a run found there that was killed is taken up where it stood.
        curves: where the values of every epoch go, for `dvc plots`.
    """
    settings = experiment.train
    method = make_method(experiment, episodes, seed)
    if not isinstance(method, LearnedMethod):
        curves.mkdir(parents=True, exist_ok=True)
        return method, FitReport(0, 0, None, 0.0, _peak_memory(), 0)
    stored = episodes.store.settings.train_epochs
    if method.trains_on == "episodes" and not settings.episodes_per_epoch and settings.max_epochs > stored:
        raise SettingsError(
            f"train.max_epochs: {settings.max_epochs} epochs, but {stored} are stored; raise episodes.train_epochs"
        )
    last = _open_state(state, experiment, episodes, seed)
    rows = Curves(curves, state)
    if last is None or not _finished(last, settings.max_epochs):
        _silence_lightning()
        terminal = sys.stderr.isatty()
        trainer = pl.Trainer(
            accelerator=settings.accelerator,
            devices=1,
            precision=settings.precision,  # type: ignore[arg-type]
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
            logger=False,
            enable_progress_bar=terminal,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            inference_mode=False,  # a method that adapts to its episodes needs gradients in validation, too
            reload_dataloaders_every_n_epochs=1,
        )
        data = MethodData(method, episodes, BatchPlan(settings.batch_size, settings.episodes_per_epoch, seed))
        trainer.fit(method, datamodule=data, ckpt_path=last, weights_only=True)
    content = torch.load(state / "last.ckpt", weights_only=True)
    rows.load_state_dict(content["callbacks"]["Curves"])
    chosen = torch.load(state / "best.ckpt", weights_only=True)
    method.load_state_dict(chosen["state_dict"])
    method.move("cpu")
    method.eval()
    epoch = int(chosen["epoch"])
    report = FitReport(
        epochs=len(rows.rows),
        best_epoch=epoch + 1,
        best=rows.rows[epoch][f"val_{settings.monitor}"],
        seconds=sum(row["seconds"] for row in rows.rows),
        peak_memory=_peak_memory(),
        parameters=sum(p.numel() for p in method.parameters() if p.requires_grad),
    )
    return method, report


def _peak_memory() -> int:
    """Bytes of main memory the process took at most."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _open_state(state: Path, experiment: Experiment, episodes: Episodes, seed: int) -> Path | None:
    """The checkpoint to resume from, if `state` holds one of this very run; another run's state is cleared."""
    identity = {
        "experiment": asdict(experiment),
        "seed": seed,
        "episodes": dict(episodes.store.attributes),
        "features": list(episodes.feature_names),
        "torch": torch.__version__,
        "code": _code_digest(),
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
    run_file = state / RUN_FILE
    if not run_file.exists() or run_file.read_text(encoding="utf-8") != digest:
        remove(state)
        state.mkdir(parents=True)
        with replacing(run_file) as partial:
            partial.write_text(digest, encoding="utf-8")
    last = state / "last.ckpt"
    return last if last.exists() else None


def _code_digest() -> str:
    """A SHA-256 over every module of ours that is loaded: a run is not continued by other code than began it."""
    files = {module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "fsgc"}
    digest = hashlib.sha256()
    for file in sorted(filter(None, files)):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()


def _finished(last: Path, max_epochs: int) -> bool:
    """Whether the run was killed after its last epoch."""
    content: dict[str, Any] = torch.load(last, weights_only=True)
    stopping = next(state for name, state in content["callbacks"].items() if name.startswith("EarlyStopping"))
    return int(content["epoch"]) + 1 == max_epochs or stopping["wait_count"] >= stopping["patience"]


def _early_stopping(monitor: str, patience: int) -> EarlyStopping:
    mode = "min" if monitor == "loss" else "max"
    return EarlyStopping(f"val_{monitor}", patience=patience, mode=mode, check_on_train_epoch_end=True)


def _checkpoints(state: Path, monitor: str) -> list[ModelCheckpoint]:
    """The best epoch so far, to be the result, and the last one, to resume from; both written atomically."""
    mode = "min" if monitor == "loss" else "max"
    common: dict[str, Any] = {"dirpath": state, "save_on_train_epoch_end": True, "enable_version_counter": False}
    return [
        ModelCheckpoint(filename="best", monitor=f"val_{monitor}", mode=mode, **common),
        ModelCheckpoint(filename="last", **common),
    ]


def _silence_lightning() -> None:
    """Lightning greets with hints about devices and workers; what we have to say is in our own lines."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="pytorch_lightning")
