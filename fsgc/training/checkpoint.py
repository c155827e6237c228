"""A trained method in a file that holds numbers and settings, nothing that runs."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from fsgc.episodes.batches import Episodes
from fsgc.errors import FsgcError, StoreError
from fsgc.files import replacing
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.registry import method_entry
from fsgc.training.report import FitReport

KIND = "fsgc.model"
VERSION = 3


@dataclass(frozen=True)
class Origin:
    """What a model was trained as and on.

    Attributes:
        model: the method's name in the registry.
        dataset: key of the dataset.
        shots: K of its training episodes; 0 if its training does not vary with K.
        seed: of its training; 0 if that does not vary with the seed.
        features: the node features it takes.
    """

    model: str
    dataset: str
    shots: int
    seed: int
    features: tuple[str, ...]


def report_path(model: Path) -> Path:
    """The file beside a model that tells what its training took."""
    return model.with_suffix(".json")


def load_report(model: Path) -> FitReport:
    """What the training of a model file took."""
    path = report_path(model)
    try:
        return FitReport(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path}, the report of the training, cannot be read ({error}); train the model again"
        ) from error


def peek(path: Path) -> dict[str, Any]:
    """What a model file holds: origin, settings and state."""
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        is_model = content["kind"] == KIND and content["version"] == VERSION
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; train a model with 'dvc repro' or 'fsgc train'") from None
    except Exception as error:  # a damaged file makes the reader raise nearly anything
        raise StoreError(f"{path} is not a model file, or it is damaged; train it again") from error
    if not is_model:
        raise StoreError(f"{path} is not a model of this version of fsgc; train it again")
    return content


def describe(path: Path) -> tuple[Origin, Any]:
    """What a model file says it was trained as, and its hyperparameters; anything that does not fit is refused."""
    return _described(path, peek(path))


def _described(path: Path, content: dict[str, Any]) -> tuple[Origin, Any]:
    try:
        settings = method_entry(content["model"]).method().settings_type(**content["settings"])
        origin = Origin(
            content["model"], content["dataset"], content["shots"], content["seed"], tuple(content["features"])
        )
    except (KeyError, TypeError, FsgcError) as error:
        raise StoreError(f"{path} does not fit this version of fsgc: {error}") from error
    return origin, settings


@dataclass(frozen=True)
class TrainedModel:
    """A trained method and where it comes from.

    Attributes:
        origin: what it was trained as and on.
        settings: its hyperparameters.
        report: what training took.
        method: the method itself.
        shape: of the episodes it was made for.
    """

    origin: Origin
    settings: Any
    report: FitReport
    method: Method
    shape: TaskShape

    def save(self, path: Path) -> None:
        """Write state, settings and origin to `path`, and the report beside it.

        The model's bytes are a function of what was trained; how long that took is not, so it has a file of its own.
        """
        content = {
            "kind": KIND,
            "version": VERSION,
            **asdict(self.origin),
            "features": list(self.origin.features),
            "settings": asdict(self.settings),
            "shape": asdict(self.shape),
            "state": self.method.state(),
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
        origin, settings = _described(path, content)
        try:
            shape = TaskShape(**content["shape"])
            method = method_entry(origin.model).make(shape, settings)
            method.load_state(content["state"])
        except (KeyError, RuntimeError, TypeError, FsgcError) as error:
            raise StoreError(f"{path} does not fit this version of fsgc: {error}") from error
        if origin.features != episodes.feature_names or shape.num_features != episodes.num_features:
            raise StoreError(
                f"{path} takes {shape.num_features} features ({' '.join(origin.features)}), the episodes have "
                f"{episodes.num_features} ({' '.join(episodes.feature_names)})"
            )
        method.attach(episodes)
        return cls(origin, settings, load_report(path), method, shape)
