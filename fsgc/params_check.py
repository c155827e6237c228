"""Nothing in `params.yaml` is passed over: every key that nothing reads is refused by its full name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from fsgc.data.catalog import load_catalog
from fsgc.data.splits import SplitSettings
from fsgc.episodes.settings import EpisodeSettings
from fsgc.errors import SettingsError
from fsgc.experiment import MODELS, PLUGINS, PRESETS, TRAIN, Keys, part_of
from fsgc.methods.registry import METHODS, Entry
from fsgc.nn.settings import EmbedderSettings
from fsgc.settings import unknown_key
from fsgc.training.settings import TrainSettings


def check_params(params: Mapping[str, Any], chosen: Entry | None = None) -> None:
    """Refuse every key of `params.yaml` that nothing reads, whatever the experiment.

    Args:
        params: the content of the file.
        chosen: the method of the experiment, where it is not one of the registry.
    """
    entries = [*METHODS.values(), *([chosen] if chosen else [])]
    sections: dict[str, Collection[str]] = {}
    for entry in entries:
        method = entry.method()
        sections[entry.section] = _names(method.settings_type)
        if method.preparation:
            sections[method.preparation.section] = _names(method.preparation.settings_type)
    plugins = {name for name in sections if name.startswith(f"{PLUGINS}.")}
    flat: dict[str, Collection[str]] = {
        "split": _names(SplitSettings),
        "episodes": [*_names(EpisodeSettings), PRESETS],
    }
    layered: dict[str, Collection[str]] = {
        "train": _names(TrainSettings),
        "embedder": _names(EmbedderSettings),
        **sections,
    }
    top = [*_names(Keys), *flat, *(name for name in layered if name not in plugins), PLUGINS]
    for name in params:
        if name not in top:
            raise SettingsError(unknown_key(str(name), top), key=str(name))
    for name, known in flat.items():
        _refuse_unknown(name, part_of(params, name), known)
    for preset in part_of(params, "episodes", PRESETS):
        where = f"episodes.{PRESETS}.{preset}"
        _refuse_unknown(where, part_of(params, "episodes", PRESETS, preset), _names(EpisodeSettings))
    for name, known in layered.items():
        models = [key for key, entry in METHODS.items() if entry.section == name]
        _check_layers(params, name, known, models, takes_train=name in sections)


def _check_layers(
    params: Mapping[str, Any], name: str, known: Collection[str], models: Collection[str], takes_train: bool
) -> None:
    """Check the layers of a section; `models` are the methods whose section it is."""
    datasets = load_catalog()
    train = [TRAIN] if takes_train else []
    _refuse_unknown(name, part_of(params, name), ["default", *datasets, PRESETS, *train])
    if takes_train:
        _refuse_unknown(f"{name}.{TRAIN}", part_of(params, name, TRAIN), _names(TrainSettings))
    layers: list[tuple[tuple[str, ...], Collection[str]]] = [((layer,), ()) for layer in ("default", *datasets)]
    for preset in part_of(params, name, PRESETS):
        of_models = (PRESETS, preset, MODELS)
        chosen = part_of(params, name, *of_models)
        _refuse_unknown(".".join((name, *of_models)), chosen, models)
        layers += [((PRESETS, preset), (MODELS,)), *(((*of_models, model), ()) for model in chosen)]
    for path, also in layers:
        where = ".".join((name, *path))
        _refuse_unknown(where, part_of(params, name, *path), [*known, *train, *also])
        if takes_train:
            _refuse_unknown(f"{where}.{TRAIN}", part_of(params, name, *path, TRAIN), _names(TrainSettings))


def _refuse_unknown(where: str, values: Mapping[str, Any], known: Collection[str]) -> None:
    for key in values:
        if key not in known:
            raise SettingsError(f"{where}.{unknown_key(str(key), known)}", key=f"{where}.{key}")


def _names(kind: type[Any]) -> list[str]:
    return [each.name for each in fields(kind)]
