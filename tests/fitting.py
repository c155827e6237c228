"""Training a method in a test, in one line."""

from __future__ import annotations

from pathlib import Path

from fsgc.episodes.batches import Episodes
from fsgc.methods.contract import Method, Run
from fsgc.training.report import FitReport
from fsgc.training.run import fit_model
from fsgc.training.settings import Training


def fit(training: Training, episodes: Episodes, seed: int, state: Path, curves: Path) -> tuple[Method, FitReport]:
    """Fit a fresh method; its state and curves go to the given directories."""
    model = fit_model(training, Run(episodes, training.train, seed, state, curves, identity=repr(training)))
    return model.method, model.report
