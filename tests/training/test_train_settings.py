from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsgc.data.catalog import load_catalog
from fsgc.errors import SettingsError
from fsgc.experiment import Experiment
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.methods.registry import METHODS
from fsgc.settings import load_params
from fsgc.training.settings import Training, TrainSettings

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


def training_of(params: dict[str, Any], model: str, dataset: str) -> Training:
    return Experiment.from_params(params, model=model, dataset=dataset).training


# Appendix A.2 of the paper: lr, α, γ0, β0, λ_mixup, λ_reg, pooling, d, convolutions, dropout, MLP.
PAPER = {
    "enzymes": (1e-4, 7.5, 0, 1, 0.1, 0.1, "mean", 64, 2, 0, 2),
    "letter_high": (1e-2, 90, 0, 5, 0.1, 0.3, "sum", 32, 3, 0.7, 2),
    "reddit": (1e-4, 7.5, 0, 1, 0.1, 0.1, "mean", 64, 2, 0, 2),
    "triangles": (1e-3, 7.5, 0, 1, 0.6, 0.8, "mean", 64, 2, 0.5, 1),
    "coil_del": (1e-4, 7.5, 0, 1, 0.1, 0.1, "mean", 64, 2, 0, 2),
    "graph_r52": (1e-4, 7.5, 0, 1, 0.1, 0.1, "mean", 64, 2, 0, 2),
}


@pytest.mark.parametrize("dataset", PAPER)
def test_params_hold_the_papers_hyperparameters(dataset: str) -> None:
    s = training_of(PARAMS, "pn_tae_mu", dataset).method
    weights = (s.lr, s.scale, s.gamma0, s.beta0, s.lambda_mixup, s.lambda_reg)
    shape = (s.pooling, s.width, s.num_convs, s.dropout, s.gin_mlp_layers)
    assert (*weights, *shape) == PAPER[dataset]
    assert s.norm == "graph"
    assert s.learnable_eps


@pytest.mark.parametrize("dataset", load_catalog())
@pytest.mark.parametrize("model", METHODS)
def test_every_model_is_possible_on_every_dataset(dataset: str, model: str) -> None:
    experiment = training_of(PARAMS, model, dataset)
    assert isinstance(experiment.method, METHODS[model].method().settings_type)


def test_a_methods_loop_on_one_dataset_wins_over_its_loop_and_both_over_the_datasets() -> None:
    params = {
        "train": {"default": {"patience": 1, "max_epochs": 1}, "enzymes": {"patience": 2, "batch_size": 2}},
        "embedder": {"default": {}},
        "maml": {
            "train": {"patience": 3, "max_epochs": 3},
            "default": {},
            "enzymes": {"lr": 0.5, "train": {"patience": 4}},
        },
    }
    experiment = training_of(params, "maml", "enzymes")
    assert experiment.train == TrainSettings(patience=4, max_epochs=3, batch_size=2)
    assert experiment.method.lr == 0.5
    assert training_of(params, "maml", "reddit").train == TrainSettings(patience=3, max_epochs=3)


@pytest.mark.parametrize("dataset", load_catalog())
@pytest.mark.parametrize("model", ["pn", "pn_mu", "pn_tae", "pn_tae_mu"])
@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_prototypical_networks_have_a_preset(dataset: str, model: str, preset: str) -> None:
    experiment = training_of({**PARAMS, "preset": preset}, model, dataset)
    assert experiment.train.batch_size == (8 if dataset == "reddit" else 32)
    s = experiment.method
    assert isinstance(s, PrototypicalSettings)
    if preset == "authors":
        assert (s.norm, s.learnable_eps, s.square_lambda_reg) == ("episode", False, True)
        assert (s.mixup_source, s.mixup_mask, s.mixup_ratio, s.mixup_loss) == (
            "query", "blocks", "uniform", "cross_entropy",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("prototypical", "lr", -0.1, r"prototypical\.enzymes\.lr must be above 0, got -0\.1"),
        ("prototypical", "lr", float("inf"), r"prototypical\.enzymes\.lr must be a finite number, got inf"),
        ("prototypical", "width", 0, r"prototypical\.enzymes\.width must be at least 1, got 0"),
        ("embedder", "width", 0, r"embedder\.enzymes\.width must be at least 1, got 0"),
        (
            "prototypical",
            "norm",
            "layer",
            r"prototypical\.enzymes\.norm must be 'graph', 'batch', 'episode' or 'none', got 'layer'",
        ),
        ("prototypical", "colour", 1, r"prototypical\.enzymes\.colour is unknown\. The keys here are width, num_convs"),
        ("train", "monitor", "f1", r"train\.enzymes\.monitor must be 'loss' or 'accuracy', got 'f1'"),
        ("train", "max_epochs", 0, r"train\.enzymes\.max_epochs must be at least 1, got 0"),
        ("train", "batch_size", 2.5, r"train\.enzymes\.batch_size must be a whole number, got 2\.5"),
        (
            "train",
            "accelerator",
            "abacus",
            r"train\.enzymes\.accelerator must be 'auto', 'cpu', 'gpu' or 'mps', got 'aba",
        ),
        ("train", "gradient_clip", -1, r"train\.enzymes\.gradient_clip must be above 0, got -1"),
    ],
)
def test_bad_settings_name_the_key_and_what_is_allowed(section: str, key: str, value: Any, message: str) -> None:
    params = {**PARAMS, section: {**PARAMS[section], "enzymes": {key: value}}}
    with pytest.raises(SettingsError, match=f"^{message}"):
        training_of(params, "pn", "enzymes")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("train", 5, r"maml\.train must have keys with values below it, got 5"),
        ("enzymes", "fast", r"maml\.enzymes must have keys with values below it, got 'fast'"),
        ("enzymes", {"train": [8]}, r"maml\.enzymes\.train must have keys with values below it, got \[8\]"),
        ("presets", ["authors"], r"maml\.presets must have keys with values below it, got \['authors'\]"),
        ("presets", {"authors": 1}, r"maml\.presets\.authors must have keys with values below it, got 1"),
    ],
)
def test_parts_without_keys_are_refused_by_name(key: str, value: Any, message: str) -> None:
    params = {**PARAMS, "preset": "authors", "maml": {**PARAMS["maml"], key: value}}
    with pytest.raises(SettingsError, match=f"^{message}$"):
        training_of(params, "maml", "enzymes")


def test_unknown_models_are_refused_and_missing_sections_are_the_defaults() -> None:
    with pytest.raises(SettingsError, match="model: unknown method 'pn_ta'; did you mean 'pn_tae'"):
        training_of(PARAMS, "pn_ta", "enzymes")
    plain = training_of({}, "pn", "enzymes")
    assert (plain.method, plain.train) == (PrototypicalSettings(), TrainSettings())
