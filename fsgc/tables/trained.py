"""Whether a model of the tables is what training would make now, from the same data, by the same code and settings.

The recipe of the step `train` is about its own code and settings. What it learns from is made by the steps before it,
and DVC sees that in their outputs; `fsgc tables run` computes without DVC and keeps a note beside the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsgc.errors import FsgcError
from fsgc.experiment import Experiment
from fsgc.files import replacing, sha256_of
from fsgc.integrity import read_sealed, write_sealed
from fsgc.methods.registry import method_entry
from fsgc.recipes import digest, recipe
from fsgc.training.model_file import read_report

MODEL, NOTE = "model.pt", "trained_from.json"
LEARNED_FROM = ("graphs", "split", "episodes", "prepare", "train")
_OF_TESTS = ("test", "test_seed")  # settings of episodes that no training looks at


def write_note(model: Path, experiment: Experiment) -> None:
    """Note what a model that has just been trained was made from.

    Args:
        model: the directory of the model file.
        experiment: of any cell that the model serves.
    """
    with replacing(model / NOTE) as partial:
        write_sealed(partial, trained_from(model, experiment))


def is_trained(model: Path, experiment: Experiment) -> bool:
    """Whether the model is there and training would make it again: the same recipes up to `train`, the same file."""
    try:
        return (
            (model / MODEL).exists()
            and read_report(model / MODEL).recipe == digest(recipe("train", experiment))
            and read_sealed(model / NOTE) == trained_from(model, experiment)
        )
    except (FsgcError, FileNotFoundError):
        return False


def trained_from(model: Path, experiment: Experiment) -> dict[str, Any]:
    """What training makes a model from: the recipes up to `train`, and the digest of the file it is about."""
    varies = method_entry(experiment.keys.model).method().trained_for
    recipes: dict[str, Any] = {}
    for step in LEARNED_FROM:
        made: dict[str, Any] = dict(recipe(step, experiment))
        # A model that serves several shots was trained in the first of their cells.
        for key, matters in (("shots", varies.shots), ("seed", varies.seed)):
            if not matters:
                made.pop(key, None)
        if step == "episodes":
            made["settings"] = {name: value for name, value in made["settings"].items() if name not in _OF_TESTS}
        recipes[step] = digest(made)
    return {"recipes": recipes, "model": sha256_of(model / MODEL)}
