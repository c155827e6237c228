"""Training a method in a test, in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from fsgc.episodes.batches import Episodes
from fsgc.methods.contract import Method, Run
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.training.report import FitReport
from fsgc.training.run import fit_model
from fsgc.training.settings import Training, TrainSettings

SMALL = PrototypicalSettings(width=8, lr=1e-2, dropout=0.2)
LOOP = TrainSettings(max_epochs=4, batch_size=16, accelerator="cpu")


def fit(training: Training, episodes: Episodes, seed: int, state: Path, curves: Path) -> tuple[Method, FitReport]:
    """Fit a fresh method; its state and curves go to the given directories."""
    model = fit_model(training, Run(episodes, training.train, seed, state, curves, identity=repr(training)))
    return model.method, model.report


def fit_small(
    tmp_path: Path, episodes: Episodes, seed: int = 0, model: str = "pn_tae_mu", **loop: Any
) -> tuple[LearnedMethod, FitReport]:
    """Fit a small prototypical network; its state and curves are in `state` and `curves` below a directory."""
    training = Training(model, SMALL, replace(LOOP, **loop))
    method, report = fit(training, episodes, seed, tmp_path / "state", tmp_path / "curves")
    assert isinstance(method, LearnedMethod)
    return method, report


def weights(method: LearnedMethod) -> torch.Tensor:
    """All that a method has learned, as one vector."""
    return torch.cat([value.flatten().float() for value in method.state_dict().values()])
