"""A trained method in a file that holds numbers and settings, nothing that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from fsgc.episodes.batches import Episodes
from fsgc.errors import FsgcError, StoreError
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.registry import Entry, method_entry
from fsgc.training.fit import FitReport
from fsgc.training.model_file import read_model, read_report, write_model


def peek(path: Path) -> dict[str, Any]:
    """What a model file holds: origin, settings and state, every field checked."""
    return read_model(path)


@dataclass(frozen=True)
class TrainedModel:
    """A trained method and where it comes from.

    Attributes:
        model: its name in the registry.
        dataset: what it was trained on.
        shots: with how many supports.
        seed: with which seed.
        features: the node features it takes.
        settings: its hyperparameters.
        report: what training took.
        method: the method itself.
        shape: of the tasks it was made for.
    """

    model: str
    dataset: str
    shots: int
    seed: int
    features: tuple[str, ...]
    settings: Any
    report: FitReport
    method: Method
    shape: TaskShape

    def save(self, path: Path) -> None:
        """Write weights, settings and origin to `path`, and the report beside it.

        The model's bytes are a function of what was trained; how long that took is not, so it has a file of its own.
        """
        content = {
            "model": self.model,
            "dataset": self.dataset,
            "shots": self.shots,
            "seed": self.seed,
            "features": list(self.features),
            "settings": asdict(self.settings),
            "shape": asdict(self.shape),
            "state": self.method.state_dict() if isinstance(self.method, LearnedMethod) else {},
        }
        write_model(path, content, asdict(self.report))

    @classmethod
    def load(cls, path: Path, episodes: Episodes) -> TrainedModel:
        """Read a model and attach the graphs of `episodes`, which must have the features it was trained with."""
        content = peek(path)
        entry = method_entry(content["model"])
        try:
            settings = entry.method().settings_type(**content["settings"])
            shape = TaskShape(**content["shape"])
            check_size(entry, shape, settings, content["state"])
            method = entry.make(shape, settings)
            if isinstance(method, LearnedMethod):
                method.load_state_dict(content["state"])
                method.eval()
        except (RuntimeError, TypeError, FsgcError) as error:
            raise StoreError(f"{path} does not fit this version of {content['model']}: {error}") from error
        if tuple(content["features"]) != episodes.feature_names or shape.num_features != episodes.num_features:
            raise StoreError(
                f"{path} takes {shape.num_features} features ({' '.join(content['features'])}), the episodes have "
                f"{episodes.num_features} ({' '.join(episodes.feature_names)})"
            )
        method.attach(episodes)
        return cls(
            model=content["model"],
            dataset=content["dataset"],
            shots=content["shots"],
            seed=content["seed"],
            features=tuple(content["features"]),
            settings=settings,
            report=read_report(path, bound=True),
            method=method,
            shape=shape,
        )


def check_size(entry: Entry, shape: TaskShape, settings: Any, state: Mapping[str, Any]) -> None:
    """Refuse settings that ask for other weights than the file has, before any memory is taken for them."""
    with torch.device("meta"):
        method = entry.make(shape, settings)
    if not isinstance(method, LearnedMethod):
        return
    wanted = {name: tuple(weight.shape) for name, weight in method.state_dict().items()}
    found = {name: tuple(getattr(weight, "shape", ())) for name, weight in state.items()}
    if wanted != found:
        name = min(dict(wanted.items() ^ found.items()))
        asked, there = wanted.get(name, "none"), found.get(name, "none")
        raise RuntimeError(f"{name}: its settings ask for the shape {asked}, its weights have {there}")
