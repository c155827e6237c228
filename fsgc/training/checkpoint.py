"""A trained method in a file that holds numbers and settings, nothing that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from fsgc.data.features import FeatureEncoder
from fsgc.data.vocabulary import GraphVocabulary
from fsgc.episodes.batches import Episodes
from fsgc.errors import FsgcError, StoreError
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.plugins import as_named
from fsgc.methods.registry import Entry, stored_entry
from fsgc.training.model_file import read_model, read_report, write_model
from fsgc.training.report import FitReport


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


def _described(path: Path, content: Mapping[str, Any]) -> tuple[Origin, Any]:
    """What a model file says it was trained as, and its hyperparameters; anything that does not fit is refused."""
    try:
        settings = stored_entry(content["model"]).method().settings_type(**content["settings"])
    except (TypeError, FsgcError) as error:
        raise StoreError(f"{path} does not fit this version of {content['model']}: {error}") from error
    named = {name: content[name] for name in ("dataset", "shots", "seed")}
    return Origin(as_named(content["model"]), **named, features=tuple(content["features"])), settings


@dataclass(frozen=True)
class ModelInputs:
    """What new graphs must become before a model can look at them.

    Attributes:
        encoder: makes node features.
        vocabulary: says what node labels and attributes stand for.
    """

    encoder: FeatureEncoder
    vocabulary: GraphVocabulary

    @classmethod
    def of(cls, episodes: Episodes) -> ModelInputs:
        """Those of the episodes that a model was trained on."""
        return cls(episodes.encoder, GraphVocabulary.of_store(episodes.graphs))

    def state(self) -> dict[str, Any]:
        """As a model file holds them."""
        return {"encoder": self.encoder.state(), "vocabulary": self.vocabulary.state()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ModelInputs:
        """What `state` gave."""
        return cls(FeatureEncoder.from_state(state["encoder"]), GraphVocabulary.from_state(state["vocabulary"]))


class Restored(NamedTuple):
    """What a model file holds, before the method is given any graphs."""

    origin: Origin
    settings: Any
    method: Method
    shape: TaskShape
    inputs: ModelInputs


def restore(path: Path) -> Restored:
    """Read a model file; what does not fit this version of fsgc is refused."""
    content = read_model(path)
    origin, settings = _described(path, content)
    entry = stored_entry(origin.model)
    try:
        shape = TaskShape(**content["shape"])
        inputs = ModelInputs.from_state(content["inputs"])
        check_size(entry, shape, settings, content["state"])
        method = entry.make(shape, settings)
        method.load_state(content["state"])
    except (KeyError, RuntimeError, TypeError, ValueError, ArithmeticError, FsgcError) as error:
        raise StoreError(f"{path} does not fit this version of {origin.model}: {error}") from error
    return Restored(origin, settings, method, shape, inputs)


@dataclass(frozen=True)
class TrainedModel:
    """A trained method and where it comes from.

    Attributes:
        origin: what it was trained as and on.
        settings: its hyperparameters.
        report: what training took.
        method: the method itself.
        shape: of the episodes it was made for.
        inputs: what new graphs must become before it can look at them.
    """

    origin: Origin
    settings: Any
    report: FitReport
    method: Method
    shape: TaskShape
    inputs: ModelInputs

    def save(self, path: Path) -> None:
        """Write state, settings and origin to `path`, and the report beside it.

        The model's bytes are a function of what was trained; how long that took is not, so it has a file of its own.
        """
        content = {
            **asdict(self.origin),
            "features": list(self.origin.features),
            "settings": asdict(self.settings),
            "shape": asdict(self.shape),
            "inputs": self.inputs.state(),
            "state": self.method.state(),
        }
        write_model(path, content, asdict(self.report))

    @classmethod
    def load(cls, path: Path, episodes: Episodes) -> TrainedModel:
        """Read a model and attach the graphs of `episodes`, which must have the features it was trained with."""
        origin, settings, method, shape, inputs = restore(path)
        if origin.features != episodes.feature_names or shape.num_features != episodes.num_features:
            raise StoreError(
                f"{path} takes {shape.num_features} features ({' '.join(origin.features)}), the episodes have "
                f"{episodes.num_features} ({' '.join(episodes.feature_names)})"
            )
        method.attach(episodes)
        return cls(origin, settings, read_report(path, bound=True), method, shape, inputs)


def check_size(entry: Entry, shape: TaskShape, settings: Any, state: Mapping[str, Any]) -> None:
    """Refuse settings that ask for other weights than the file has, before any memory is taken for them."""
    if not issubclass(entry.method(), torch.nn.Module):
        return
    with torch.device("meta"):
        method = entry.make(shape, settings)
    assert isinstance(method, torch.nn.Module)
    weights = state.get("weights", state)  # where a method keeps more than weights, they have a place of their own
    if not isinstance(weights, Mapping):
        raise TypeError("its weights are not named")
    wanted = {name: tuple(weight.shape) for name, weight in method.state_dict().items()}
    found = {name: tuple(getattr(weight, "shape", ())) for name, weight in weights.items()}
    if wanted != found:
        name = min(dict(wanted.items() ^ found.items()))
        asked, there = wanted.get(name, "none"), found.get(name, "none")
        raise RuntimeError(f"{name}: its settings ask for the shape {asked}, its weights have {there}")
