"""Settings of the training loop, and of one experiment as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fsgc.errors import SettingsError
from fsgc.methods.registry import method_entry
from fsgc.nn.settings import EmbedderSettings, check_choice, check_count
from fsgc.settings import from_mapping

MONITORS = ("loss", "accuracy")
ACCELERATORS = ("auto", "cpu", "gpu", "mps")
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")


@dataclass(frozen=True)
class TrainSettings:
    """The training loop.

    Attributes:
        monitor: the validation metric that early stopping and the choice of the checkpoint look at.
        max_epochs: at most so many epochs, of the stored ones.
        patience: epochs without improvement before training stops.
        batch_size: episodes (or graphs, where a method trains on those) of a step.
        episodes_per_epoch: training episodes of an epoch; 0: those stored for one. Otherwise the stored ones are taken
            in turn, from the first again after the last, and `max_epochs` may be any number.
        gradient_clip: largest norm of the gradient.
        accelerator: `auto` takes a GPU if there is one.
        precision: as Lightning names it.
    """

    monitor: str = "loss"
    max_epochs: int = 20
    patience: int = 10
    batch_size: int = 32
    episodes_per_epoch: int = 0
    gradient_clip: float = 10.0
    accelerator: str = "auto"
    precision: str = "32-true"

    def __post_init__(self) -> None:
        check_choice("train.monitor", self.monitor, MONITORS)
        for name in ("max_epochs", "patience", "batch_size"):
            check_count(f"train.{name}", getattr(self, name))
        if self.episodes_per_epoch < 0:
            raise SettingsError(
                f"train.episodes_per_epoch: {self.episodes_per_epoch} does not fit; it must be at least 0"
            )
        if not self.gradient_clip > 0:
            raise SettingsError(f"train.gradient_clip: {self.gradient_clip} does not fit; it must be above 0")
        check_choice("train.accelerator", self.accelerator, ACCELERATORS)
        check_choice("train.precision", self.precision, PRECISIONS)


def layered(name: str, section: Any, dataset: str, preset: str) -> dict[str, Any]:
    """The values of a section for one dataset: its `default`, then the dataset's own, then those of the preset."""
    if not isinstance(section, Mapping) or not isinstance(section.get("default"), Mapping):
        raise SettingsError(f"{name}.default: the section is missing from params.yaml")
    presets = keys_of(f"{name}.presets", section.get("presets"))
    return {
        **section["default"],
        **keys_of(f"{name}.{dataset}", section.get(dataset)),
        **keys_of(f"{name}.presets.{preset}", presets.get(preset)),
    }


def keys_of(name: str, value: Any) -> Mapping[str, Any]:
    """A part of `params.yaml` that may be missing, and else has keys of its own."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name}: {value!r} does not fit; it must have keys with values below it")
    return value


def check_preset(params: Mapping[str, Any]) -> str:
    """The preset of `params.yaml`, which some section must know."""
    preset = params.get("preset", "paper")
    known = {"paper": None}
    for name, section in params.items():
        if isinstance(section, Mapping):
            known |= dict.fromkeys(keys_of(f"{name}.presets", section.get("presets")))
    if preset not in known:
        raise SettingsError(f"preset: {preset!r} is unknown; allowed are {', '.join(known)}")
    return str(preset)


@dataclass(frozen=True)
class Experiment:
    """The settings of one experiment, read and checked before any work.

    Attributes:
        model: a name in the registry of methods.
        method: its hyperparameters.
        train: the training loop.
    """

    model: str
    method: Any
    train: TrainSettings

    @classmethod
    def from_params(cls, params: Mapping[str, Any], model: str, dataset: str) -> Experiment:
        """Take the sections of `params.yaml` that concern one model on one dataset.

        The loop is `train.default`, then `train.<dataset>`, then what the method's own section has under `train`, then
        under `<dataset>.train`. Where a method has the embedder of the paper, its section adds to the section
        `embedder`.
        """
        method, preset = method_entry(model).method(), check_preset(params)
        section = method.section
        hyperparameters = layered(section, params.get(section), dataset, preset)
        loop = {
            **layered("train", params.get("train"), dataset, preset),
            **keys_of(f"{section}.train", params[section].get("train")),
            **keys_of(f"{section}.{dataset}.train", hyperparameters.pop("train", None)),
        }
        if issubclass(method.settings_type, EmbedderSettings):
            shared = layered("embedder", params.get("embedder"), dataset, preset)
            hyperparameters = asdict(from_mapping("embedder", EmbedderSettings, shared)) | hyperparameters
        return cls(
            model,
            from_mapping(section, method.settings_type, hyperparameters),
            from_mapping("train", TrainSettings, loop),
        )
