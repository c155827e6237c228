"""Step `evaluate`: a trained method on the stored test episodes; the only step that looks at novel classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsgc.evaluation.results import RECORD, evaluate
from fsgc.experiment import Experiment, as_settings
from fsgc.recipes import Recipe, digest
from fsgc.steps.open import open_episodes
from fsgc.training.checkpoint import TrainedModel
from fsgc.workspace import Workspace


def run(
    workspace: Workspace,
    experiment: Experiment,
    model_file: Path,
    out: Path,
    recipes: Mapping[str, Recipe],
    record_name: str = RECORD,
) -> dict[str, Any]:
    """Score all test episodes and write record, rows and scores below `out`.

    Args:
        workspace: where the stores are.
        experiment: dataset, shots, seed and what else is recorded.
        model_file: the trained model.
        out: the directory to write to.
        recipes: step -> the recipe it was made by, to be recorded.
        record_name: another name for the record.

    Returns:
        The record.
    """
    episodes = open_episodes(workspace, experiment)
    made_by = {
        "preset": experiment.keys.preset,
        "settings": as_settings(experiment),
        "recipes": {step: digest(each) for step, each in recipes.items()},
        # Which code, so that a stale result can say what has changed since.
        "code": {name: value for each in recipes.values() for name, value in each.get("code", {}).items()},
    }
    return evaluate(TrainedModel.load(model_file, episodes), episodes, out, made_by, record_name)
