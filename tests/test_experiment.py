from __future__ import annotations

import copy
import json
import re
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from fsgc.data.catalog import load_catalog
from fsgc.data.splits import SplitSettings
from fsgc.errors import FsgcError, SettingsError
from fsgc.experiment import Experiment, Keys, as_settings, check_params
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.methods.registry import METHODS
from fsgc.nn.settings import EmbedderSettings
from fsgc.training.settings import TrainSettings
from tests.params_sections import FLAT, PARAMS, SECTIONS


def _experiment(params: dict[str, Any], model: str = "pn", dataset: str = "enzymes", **keys: Any) -> Experiment:
    return Experiment.from_params(params, model=model, dataset=dataset, **keys)


# The defaults of params.yaml and of the code.


def test_every_section_of_the_file_is_that_of_a_settings_class() -> None:
    keys = {field.name for field in fields(Keys)}
    assert set(PARAMS) == keys | set(FLAT) | set(SECTIONS)
    check_params(PARAMS)


@pytest.mark.parametrize("section", FLAT)
def test_the_values_of_a_plain_section_are_the_defaults_of_the_code(section: str) -> None:
    values = {key: value for key, value in PARAMS[section].items() if key != "presets"}
    assert values == asdict(FLAT[section]())


@pytest.mark.parametrize("section", SECTIONS)
def test_the_default_of_a_section_is_that_of_the_code(section: str) -> None:
    kind, default = SECTIONS[section], PARAMS[section]["default"]
    names = {field.name for field in fields(kind)}
    shared = {field.name for field in fields(EmbedderSettings)} if issubclass(kind, EmbedderSettings) else set()
    if section == "embedder":
        shared = set()
    assert names - shared <= set(default) <= names, "every key of its own is in the file"
    expected = asdict(kind())
    assert default == {name: expected[name] for name in default}


@pytest.mark.parametrize("model", METHODS)
def test_with_the_defaults_alone_a_method_has_the_settings_that_it_has_without_a_file(model: str) -> None:
    defaults = {name: {"default": PARAMS[name]["default"]} for name in SECTIONS}
    written, plain = _experiment(defaults, model), _experiment({}, model)
    assert written.training == plain.training
    assert written.preparation == plain.preparation
    assert plain.training.method == METHODS[model].method().settings_type()


# Layers.


def test_a_dataset_wins_over_the_default_and_a_preset_over_both() -> None:
    params = {
        "embedder": {
            "default": {"width": 10, "num_convs": 3, "dropout": 0.1},
            "enzymes": {"num_convs": 4, "dropout": 0.2},
            "presets": {"authors": {"dropout": 0.3}, "other": {"width": 99}},
        }
    }

    def shape(**keys: Any) -> tuple[int, int, float]:
        s = _experiment(params, **keys).training.method
        return s.width, s.num_convs, s.dropout

    assert shape() == (10, 4, 0.2)
    assert shape(dataset="reddit") == (10, 3, 0.1)
    assert shape(preset="authors") == (10, 4, 0.3)
    assert shape(preset="other") == (99, 4, 0.2)
    assert shape(dataset="reddit", preset="authors") == (10, 3, 0.3)


def test_a_preset_may_concern_one_of_the_methods_that_share_a_section() -> None:
    preset = {"lr": 0.2, "models": {"pn": {"lr": 0.3, "width": 9, "train": {"patience": 4}}}}
    params = {"prototypical": {"default": {"lr": 0.1}, "presets": {"authors": preset}}}
    check_params(params)

    def values(model: str, **keys: Any) -> tuple[float, int, int]:
        training = _experiment(params, model, **keys).training
        return training.method.lr, training.method.width, training.train.patience

    assert values("pn") == (0.1, 64, 10)
    assert values("pn", preset="authors") == (0.3, 9, 4)
    assert values("pn_tae", preset="authors") == (0.2, 64, 10)


@pytest.mark.parametrize(
    ("params", "key"),
    [
        (
            {"prototypical": {"presets": {"authors": {"models": {"maml": {}}}}}},
            "prototypical.presets.authors.models.maml",
        ),
        ({"prototypical": {"default": {"models": {"pn": {}}}}}, "prototypical.default.models"),
        (
            {"prototypical": {"presets": {"authors": {"models": {"pn": {"rate": 1}}}}}},
            "prototypical.presets.authors.models.pn.rate",
        ),
        ({"episodes": {"presets": {"authors": {"epochs": 1}}}}, "episodes.presets.authors.epochs"),
        ({"split": {"presets": {"authors": {}}}}, "split.presets"),
    ],
)
def test_what_no_preset_can_change_is_refused_by_its_full_key(params: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(f"{key} is unknown")):
        check_params(params)


def test_a_preset_may_change_the_episodes() -> None:
    params = {"episodes": {"train_epochs": 7, "presets": {"authors": {"train_epochs": 1}}}}
    assert _experiment(params).episodes.train_epochs == 7
    assert _experiment(params, preset="authors").episodes.train_epochs == 1
    with pytest.raises(SettingsError, match=r"episodes\.presets\.authors\.train_epochs must be at least 1, got 0"):
        _experiment({"episodes": {"presets": {"authors": {"train_epochs": 0}}}}, preset="authors")


@pytest.mark.parametrize("dataset", ["letter_high", "enzymes", "triangles"])
def test_the_authors_ran_pn_alone_in_one_way_everywhere_on_the_same_episodes_in_every_epoch(dataset: str) -> None:
    alone = _experiment(PARAMS, "pn", dataset, preset="authors")
    method, loop = alone.training.method, alone.training.train
    assert (method.lr, method.width, method.num_convs, method.dropout) == (1e-4, 64, 2, 0.0)
    assert alone.episodes.train_epochs * alone.episodes.train_per_epoch == loop.episodes_per_epoch == 2000


def test_the_section_of_a_method_wins_over_the_embedders() -> None:
    params = {
        "embedder": {"default": {"width": 10}, "enzymes": {"num_convs": 4}, "presets": {"authors": {"dropout": 0.3}}},
        "prototypical": {"default": {"num_convs": 5, "dropout": 0.1}},
    }
    method = _experiment(params, preset="authors").training.method
    assert (method.width, method.num_convs, method.dropout) == (10, 5, 0.1)
    assert _experiment(params, "maml").training.method.num_convs == 4


def test_the_layers_of_the_loop() -> None:
    """The section `train` and then that of the method: by itself, default, dataset, preset."""
    names = [field.name for field in fields(TrainSettings) if field.name not in ("monitor", "accelerator", "precision")]
    layers: list[tuple[str, ...]] = [
        ("train", "default"),
        ("train", "enzymes"),
        ("train", "presets", "authors"),
        ("prototypical", "train"),
        ("prototypical", "default", "train"),
        ("prototypical", "enzymes", "train"),
        ("prototypical", "presets", "authors", "train"),
    ]
    for name in names:
        params: dict[str, Any] = {"embedder": {"presets": {"authors": {}}}}
        for value, path in enumerate(layers, 1):
            at = params
            for part in path:
                at = at.setdefault(part, {})
            at[name] = value
            loop = _experiment(copy.deepcopy(params), preset="authors").training.train
            assert getattr(loop, name) == value, path
    assert getattr(_experiment(params, dataset="reddit").training.train, names[-1]) == 5


def test_the_presets_of_the_project_change_something() -> None:
    for model in ("pn", "gin", "as_maml", "gsm"):
        assert _experiment(PARAMS, model).training != _experiment(PARAMS, model, preset="authors").training


@pytest.mark.parametrize("dataset", load_catalog())
@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_every_experiment_of_the_project_can_be_recorded(dataset: str, preset: str) -> None:
    for model in METHODS:
        settings = as_settings(_experiment(PARAMS, model, dataset, preset=preset))
        assert json.loads(json.dumps(settings)) == settings
        assert set(settings) == {"features", "split", "episodes", "preparation", "method", "train"}


# Keys.


def test_keys_given_replace_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("dataset: enzymes\nmodel: pn\nshots: 10\nsplit: {held_out_share: 0.5}\n")
    assert Experiment.load(path).keys == Keys(dataset="enzymes", model="pn", shots=10)
    changed = Experiment.load(path, shots=1, model="gin", features="degree+label")
    assert changed.keys == Keys(dataset="enzymes", model="gin", shots=1, features="degree+label")
    assert (changed.features, changed.split) == (("degree", "label"), SplitSettings(held_out_share=0.5))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("dataset", "enzyme", "unknown dataset 'enzyme'; did you mean 'enzymes'?"),
        ("dataset", 5, "dataset must be a word, got 5"),
        ("dataset", None, "dataset must be a word, got None"),
        ("dataset", ["enzymes"], "dataset must be a word, got ['enzymes']"),
        ("dataset", "", "unknown dataset ''"),
        ("dataset", "../../docs", "unknown dataset '../../docs'"),
        ("model", "pn_tea", "model: unknown method 'pn_tea'; did you mean 'pn_tae'?"),
        ("model", {}, "model must be a word, got {}"),
        ("shots", 0, "shots must be at least 1, got 0"),
        ("shots", "5", "shots must be a whole number, got '5'"),
        ("shots", 2.5, "shots must be a whole number, got 2.5"),
        ("shots", True, "shots must be a whole number, got True"),
        ("shots", [5], "shots must be a whole number, got [5]"),
        ("shots", 10**30, "shots must be at most 10000000"),
        ("seed", -1, "seed must be at least 0, got -1"),
        ("seed", 2**31, "seed must be below 2147483648"),
        ("seed", "../..", "seed must be a whole number, got '../..'"),
        ("preset", "ours", "preset must be one of paper, authors, got 'ours'"),
        ("preset", 1, "preset must be a word, got 1"),
        ("features", "colour", "features must be 'dataset', 'structural' or names from degree"),
        ("features", "degree++label", "features must be 'dataset', 'structural' or names from degree"),
        ("features", "", "features must be 'dataset', 'structural' or names from degree"),
    ],
)
def test_bad_keys_are_named_in_the_file_and_as_an_option(key: str, value: Any, message: str) -> None:
    with pytest.raises(FsgcError, match=f"^{re.escape(message)}"):
        Experiment.from_params({**PARAMS, key: value})
    with pytest.raises(FsgcError, match=f"^{re.escape(message)}"):
        Experiment.from_params(PARAMS, **{key: value})


@pytest.mark.parametrize("model", ["wl", "sp", "graphlet", "discriminant", "discriminant_metric"])
def test_a_method_that_takes_no_node_features_is_not_said_to_have_had_some(model: str) -> None:
    message = f"features must be 'dataset' for {model}, which takes no node features, got 'structur"
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}"):
        _experiment(PARAMS, model, features="structural")


def test_degrees_stand_in_for_the_datasets_features_but_not_for_chosen_ones() -> None:
    own, chosen = (_experiment(PARAMS, "as_maml", features=name) for name in ("dataset", "structural"))
    assert own.training.method.inputs == "degree"
    assert chosen.training.method == replace(own.training.method, inputs="dataset")
    assert chosen.training.train == own.training.train


def test_missing_keys_are_named() -> None:
    with pytest.raises(SettingsError, match=r"^dataset is missing"):
        Experiment.from_params({})
    with pytest.raises(SettingsError, match=r"^model is missing"):
        Experiment.from_params({"dataset": "enzymes"})


def test_a_preset_may_have_a_dot_in_its_name() -> None:
    params = {"embedder": {"default": {"width": 8}, "presets": {"v1.0": {"width": 16}}}}
    assert _experiment(params, preset="v1.0").training.method.width == 16


def test_what_the_experiment_reads_is_checked_without_the_rest_of_the_file() -> None:
    """A cell of the tables must not fail for the section of another method."""
    assert _experiment({"maml": {"default": {"lr": -1}}}).training.method == PrototypicalSettings()
    with pytest.raises(SettingsError, match=r"^maml\.default\.lr must be above 0, got -1"):
        _ = _experiment({"maml": {"default": {"lr": -1}}}, "maml").training
