"""A whole training: a fresh method, fitted, saved, and its checkpoints cleared."""

from __future__ import annotations

from dataclasses import replace

import torch

from fsgc.methods.contract import Method, Run, TaskShape
from fsgc.methods.registry import method_entry
from fsgc.random import generator
from fsgc.training.checkpoint import ModelInputs, Origin, TrainedModel
from fsgc.training.settings import Training


def make_method(training: Training, shape: TaskShape, seed: int) -> Method:
    """A fresh method whose first weights depend on `seed` only."""
    torch.manual_seed(int(generator("weights", seed).integers(2**63)))
    return method_entry(training.model).make(shape, training.method)


def fit_model(training: Training, run: Run) -> TrainedModel:
    """Train a method on stored episodes.

    Args:
        training: the method, its hyperparameters and the loop.
        run: what it learns from and where it keeps its state.
    """
    episodes, shape = run.episodes, TaskShape.of(run.episodes)
    method = make_method(training, shape, run.seed)
    method.attach(episodes)
    report = replace(method.fit(run), recipe=run.identity)
    # A model that does not vary with the shots or the seed must not differ in bytes where they differ.
    varies = method.trained_for
    origin = Origin(
        model=training.model,
        dataset=episodes.split.dataset,
        shots=episodes.shots if varies.shots else 0,
        seed=run.seed if varies.seed else 0,
        features=episodes.feature_names,
    )
    return TrainedModel(origin, training.method, report, method, shape, ModelInputs.of(episodes))


def training_line(model: TrainedModel, monitor: str) -> str:
    """What came of a training, in a sentence."""
    origin, report = model.origin, model.report
    shots = f", {origin.shots}-shot" if origin.shots else ""
    if report.best is None:
        return f"{origin.model} on {origin.dataset}{shots}: nothing to train"
    return (
        f"{origin.model} on {origin.dataset}{shots}: {report.epochs} {report.unit}s in {report.seconds:.0f} s; "
        f"validation {monitor} {report.best:.4f} in {report.unit} {report.best_epoch}"
    )
