"""Step `train`: a method fitted on stored episodes."""

from __future__ import annotations

from pathlib import Path

from fsgc.experiment import Experiment
from fsgc.files import remove, replacing
from fsgc.methods.contract import Run
from fsgc.methods.registry import method_entry
from fsgc.recipes import digest, recipe
from fsgc.steps.open import open_episodes
from fsgc.training.run import fit_model, training_line
from fsgc.workspace import Workspace


def run(workspace: Workspace, experiment: Experiment, out: Path, curves: Path, identity: str) -> str:
    """Train a method and write its model file; a run that was killed resumes from its last epoch.

    Args:
        workspace: where the stores are.
        experiment: what to train.
        out: the model file to write.
        curves: the directory of curves to write.
        identity: the digest of this step's recipe: a run of other code or settings is not resumed.
    """
    episodes = open_episodes(workspace, experiment)
    method = method_entry(experiment.keys.model).method()
    kept = workspace.training(experiment.keys, method.trained_for)
    training = Run(
        episodes=episodes,
        settings=experiment.training.train,
        seed=experiment.keys.seed,
        # Epochs that were trained with another prepared store are not resumed.
        state=kept / digest(recipe("prepare", experiment)) if method.preparation else kept,
        curves=curves,
        identity=identity,
    )
    model = fit_model(experiment.training, training)
    if not curves.exists():
        _write_no_curves(curves)
    model.save(out)
    remove(kept)
    return training_line(model, experiment.training.train.monitor)


def _write_no_curves(directory: Path) -> None:
    """The curves of a method without epochs: `dvc plots` complains of a directory without any."""
    with replacing(directory) as partial:
        file = partial / "plots" / "metrics" / "epochs.tsv"
        file.parent.mkdir(parents=True)
        file.write_text("step\tepochs\n0\t0\n", encoding="utf-8")
