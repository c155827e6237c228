"""A whole training: fit, save, clear up."""

from __future__ import annotations

from pathlib import Path

from fsgc.episodes.batches import Episodes
from fsgc.files import remove
from fsgc.methods.contract import TaskShape
from fsgc.training.checkpoint import TrainedModel
from fsgc.training.fit import fit
from fsgc.training.settings import Experiment


def train_model(
    experiment: Experiment, episodes: Episodes, seed: int, state: Path, out: Path, curves: Path
) -> TrainedModel:
    """Train a method on stored episodes and write it to `out`; the other arguments are those of `fit`.

    Once the model is written, the checkpoints in `state` have served their purpose and are removed.
    """
    method, report = fit(experiment, episodes, seed, state, curves)
    model = TrainedModel(
        model=experiment.model,
        dataset=episodes.split.dataset,
        shots=episodes.shots,
        seed=seed,
        features=episodes.feature_names,
        settings=experiment.method,
        report=report,
        method=method,
        shape=TaskShape.of(episodes),
    )
    model.save(out)
    remove(state)
    return model


def training_line(model: TrainedModel, experiment: Experiment) -> str:
    """What came of a training, in a sentence."""
    if model.report.best is None:
        return f"{model.model} on {model.dataset}, {model.shots}-shot: nothing to train"
    return (
        f"{model.model} on {model.dataset}, {model.shots}-shot: {model.report.epochs} epochs in "
        f"{model.report.seconds:.0f} s; validation {experiment.train.monitor} {model.report.best:.4f} "
        f"in epoch {model.report.best_epoch}"
    )
