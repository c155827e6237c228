"""A trained method in a file that holds numbers and settings, nothing that runs."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.files import replacing
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.registry import method_entry
from fsgc.training.fit import FitReport

KIND = "fsgc.model"
VERSION = 2


def report_path(model: Path) -> Path:
    """The file beside a model that tells what its training took."""
    return model.with_suffix(".json")


def _load_report(path: Path) -> FitReport:
    try:
        return FitReport(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path}, the report of the training, cannot be read ({error}); train the model again"
        ) from error


def peek(path: Path) -> dict[str, Any]:
    """What a model file holds: origin, settings and weights."""
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        is_model = content["kind"] == KIND and content["version"] == VERSION
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; train a model with 'dvc repro' or 'fsgc train'") from None
    except Exception as error:  # a damaged file makes the reader raise nearly anything
        raise StoreError(f"{path} is damaged ({error}); train it again") from error
    if not is_model:
        raise StoreError(f"{path} is not a model of this version of fsgc; train it again")
    return content


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
            "kind": KIND,
            "version": VERSION,
            "model": self.model,
            "dataset": self.dataset,
            "shots": self.shots,
            "seed": self.seed,
            "features": list(self.features),
            "settings": asdict(self.settings),
            "shape": asdict(self.shape),
            "weights": self.method.state_dict() if isinstance(self.method, LearnedMethod) else {},
        }
        buffer = io.BytesIO()  # saved to a path, the archive would carry the name of that path
        torch.save(content, buffer)
        with replacing(report_path(path)) as partial:
            partial.write_text(json.dumps(asdict(self.report), indent=2) + "\n", encoding="utf-8")
        with replacing(path) as partial:
            partial.write_bytes(buffer.getvalue())

    @classmethod
    def load(cls, path: Path, episodes: Episodes) -> TrainedModel:
        """Read a model and attach the graphs of `episodes`, which must have the features it was trained with."""
        content = peek(path)
        entry = method_entry(content["model"])
        try:
            settings = entry.method().settings_type(**content["settings"])
            shape = TaskShape(**content["shape"])
            method = entry.make(shape, settings)
            if isinstance(method, LearnedMethod):
                method.load_state_dict(content["weights"])
                method.eval()
        except (RuntimeError, TypeError) as error:
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
            report=_load_report(report_path(path)),
            method=method,
            shape=shape,
        )
