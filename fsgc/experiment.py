"""One experiment: `params.yaml` resolved and checked, before any work.

A section that varies with the dataset is layered: its `default`, then what stands under the dataset's key, then under
`presets.<preset>`, then, for one of several methods that share a section, under `presets.<preset>.models.<method>`. A
method's section adds what it changes in the training loop under `train`, in the section or in any of its layers.
`episodes` has no layers but its presets. What no experiment reads is refused by `fsgc.params_check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.features import check_features
from fsgc.data.splits import SplitSettings
from fsgc.episodes.settings import EpisodeSettings
from fsgc.errors import SettingsError
from fsgc.methods.registry import Entry, method_entry
from fsgc.nn.settings import EmbedderSettings
from fsgc.settings import PARAMS_FILE, Count, Seed, from_mapping, load_params, settings, shown
from fsgc.training.settings import Training, TrainSettings

T = TypeVar("T")
DEFAULT_PRESET, AUTHORS = "paper", "authors"
OWN_FEATURES = "dataset"
PLUGINS = "plugins"  # the section with the sections of methods from outside the package
PRESETS, MODELS, TRAIN = "presets", "models", "train"  # parts of a section that are no settings of it


@settings
class Keys:
    """What names an experiment: the values at the top of `params.yaml`."""

    dataset: str
    model: str
    shots: Count = 5
    seed: Seed = 0
    preset: str = DEFAULT_PRESET
    features: str = OWN_FEATURES

    @property
    def other_features(self) -> str:
        """The node features if they are not the dataset's own, else nothing."""
        return "" if self.features == OWN_FEATURES else self.features


@runtime_checkable
class ReplacesFeatures(Protocol):
    """Settings of a method that takes something else in place of a dataset's own features, unless others are chosen."""

    def without_replacement(self) -> Self:
        """The same for node features that the experiment names."""
        ...


@dataclass(frozen=True)
class Experiment:
    """Everything that decides a result but the code.

    Attributes:
        keys: dataset, model, shots, seed, preset, features.
        features: the names of the node features, see `fsgc.data.features`.
        split: how graphs are held out.
        episodes: how many episodes of what shape.
        params: the content of the params file; what concerns the method is taken from it when it is asked for, since
            loading a method takes seconds.
        given: the method's settings, where they come from elsewhere.
        given_preparation: the same of what it wants prepared.
    """

    keys: Keys
    features: tuple[str, ...]
    split: SplitSettings
    episodes: EpisodeSettings
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    given: Training | None = None
    given_preparation: Any = None

    @classmethod
    def load(cls, path: Path = PARAMS_FILE, **keys: Any) -> Experiment:
        """The experiment of a params file, with other keys where given.

        What it reads of the file is checked; `fsgc.params_check` checks all of it.
        """
        return cls.from_params(load_params(path), **keys)

    @classmethod
    def from_params(cls, params: Mapping[str, Any], **keys: Any) -> Experiment:
        """Resolve the content of a params file; `keys` replace those at its top."""
        named = {each.name: params[each.name] for each in fields(Keys) if each.name in params} | keys
        made = from_mapping("", Keys, named, {each.name: each.name for each in fields(Keys)})
        entry = method_entry(made.model)
        if made.features != OWN_FEATURES and not entry.takes_features:
            raise SettingsError(
                f"features must be {OWN_FEATURES!r} for {made.model}, which takes no node features, "
                f"got {shown(made.features)}",
                key="features",
            )
        presets = [DEFAULT_PRESET, *sorted(presets_of(params) - {DEFAULT_PRESET})]
        if made.preset not in presets:
            raise SettingsError(f"preset must be one of {', '.join(presets)}, got {shown(made.preset)}", key="preset")
        return cls(
            keys=made,
            features=check_features(catalog_entry(made.dataset), made.features, made.preset == AUTHORS),
            split=from_mapping("split", SplitSettings, part_of(params, "split")),
            episodes=_episodes(params, made.preset),
            params=params,
        )

    @cached_property
    def training(self) -> Training:
        """The method's hyperparameters and the training loop."""
        if self.given is not None:
            return self.given
        entry, layers = method_entry(self.keys.model), self._layers
        hyperparameters = layers.hyperparameters(entry)
        if self.keys.features != OWN_FEATURES and isinstance(hyperparameters, ReplacesFeatures):
            hyperparameters = hyperparameters.without_replacement()
        return Training(self.keys.model, hyperparameters, layers.loop(entry))

    @cached_property
    def preparation(self) -> Any:
        """The settings of what the method wants prepared; None if it wants nothing."""
        if self.given_preparation is not None:
            return self.given_preparation
        wanted = method_entry(self.keys.model).method().preparation
        return self._layers.make(wanted.section, wanted.settings_type) if wanted else None

    @property
    def _layers(self) -> _Layers:
        return _Layers(self.params, self.keys.dataset, self.keys.preset, self.keys.model)


class _Value(NamedTuple):
    value: Any
    path: str


class _Layers:
    """Looks values up in the layers of a section, and remembers where each was found."""

    def __init__(self, params: Mapping[str, Any], dataset: str, preset: str, model: str) -> None:
        self.params, self.dataset, self.preset, self.model = params, dataset, preset, model

    def make(self, name: str, kind: type[Any], also: Mapping[str, _Value] | None = None) -> Any:
        """The settings of a section."""
        return _make(name, kind, {**(also or {}), **self._section(name)})

    def hyperparameters(self, entry: Entry) -> Any:
        """Those of a method; one with the embedder of the paper takes the section `embedder` for granted."""
        kind, section = entry.method().settings_type, entry.section
        return self.make(section, kind, self._section("embedder") if issubclass(kind, EmbedderSettings) else None)

    def loop(self, entry: Entry) -> TrainSettings:
        """The training loop: the section `train`, then what the method changes in general, then on this dataset."""
        found = self._section("train")
        for layer in ((), *self._order):
            found |= self._at(entry.section, *layer, TRAIN)
        return _make("train", TrainSettings, found)

    def _section(self, name: str) -> dict[str, _Value]:
        found: dict[str, _Value] = {}
        for layer in self._order:
            found |= {key: each for key, each in self._at(name, *layer).items() if key not in (TRAIN, MODELS)}
        return found

    @property
    def _order(self) -> tuple[tuple[str, ...], ...]:
        """The layers of a section, from the weakest to the strongest."""
        preset = (PRESETS, self.preset)
        return ("default",), (self.dataset,), preset, (*preset, MODELS, self.model)

    def _at(self, *path: str) -> dict[str, _Value]:
        where = ".".join(path)
        return {key: _Value(value, f"{where}.{key}") for key, value in part_of(self.params, *path).items()}


def _episodes(params: Mapping[str, Any], preset: str) -> EpisodeSettings:
    """The section `episodes`, and what the preset changes in it."""
    found = {
        key: _Value(value, ".".join((*path, key)))
        for path in (("episodes",), ("episodes", PRESETS, preset))
        for key, value in part_of(params, *path).items()
        if key != PRESETS
    }
    return _make("episodes", EpisodeSettings, found)


def _make(name: str, kind: type[T], found: Mapping[str, _Value]) -> T:
    values = {key: each.value for key, each in found.items()}
    return from_mapping(name, kind, values, {key: each.path for key, each in found.items()})


def part_of(params: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """A part of `params.yaml` that may be missing, and otherwise has keys of its own."""
    part: Mapping[Any, Any] = params
    names = (*path[0].split("."), *path[1:])  # a section of a plugin is below `plugins`
    for depth, name in enumerate(names, 1):
        below, where = part.get(name), ".".join(names[:depth])
        if below is None:
            return {}
        if not isinstance(below, Mapping):
            raise SettingsError(f"{where} must have keys with values below it, got {shown(below)}", key=where)
        strange = [key for key in below if not isinstance(key, str)]
        if strange:
            raise SettingsError(f"{where}: the key {shown(strange[0])} must be a word", key=where)
        part = below
    return part


def presets_of(params: Mapping[str, Any]) -> set[str]:
    """The presets that any section knows."""
    sections = [*params.values(), *part_of(params, PLUGINS).values()]
    known = [section.get(PRESETS) for section in sections if isinstance(section, Mapping)]
    return {str(name) for presets in known if isinstance(presets, Mapping) for name in presets}


def as_settings(experiment: Experiment) -> dict[str, Any]:
    """All settings of an experiment as plain values, for records and recipes."""
    return {
        "features": list(experiment.features),
        "split": asdict(experiment.split),
        "episodes": asdict(experiment.episodes),
        "preparation": asdict(experiment.preparation) if experiment.preparation is not None else None,
        "method": asdict(experiment.training.method),
        "train": asdict(experiment.training.train),
    }
