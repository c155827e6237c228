"""Which steps a key or a setting of `params.yaml` concerns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from fsgc.experiment import Experiment
from fsgc.recipes import STEPS, digest, recipe
from fsgc.training.settings import Training


def _digests(experiment: Experiment) -> dict[str, str]:
    return {step: digest(recipe(step, experiment)) for step in STEPS}


def _differing(one: Experiment, other: Experiment) -> set[str]:
    before, after = _digests(one), _digests(other)
    return {step for step in STEPS if before[step] != after[step]}


@pytest.mark.parametrize(
    ("model", "keys", "steps"),
    [
        ("pn", {"shots": 10}, {"episodes", "train", "evaluate"}),
        ("pn", {"seed": 1}, {"split", "episodes", "train", "evaluate"}),
        ("gin", {"shots": 10}, {"episodes", "evaluate"}),
        ("gin", {"seed": 1}, {"split", "episodes", "train", "evaluate"}),
        ("gsm", {"seed": 1}, {"split", "episodes", "prepare", "train", "evaluate"}),
        ("wl", {"seed": 1}, {"split", "episodes"}),
        ("wl", {"shots": 10}, {"episodes", "evaluate"}),
        ("wl", {"model": "sp"}, {"prepare", "train", "evaluate"}),
        ("pn", {"model": "pn_tae"}, {"train", "evaluate"}),
        ("pn", {"features": "degree"}, {"train", "evaluate"}),
        ("pn", {"dataset": "triangles"}, set(STEPS) - {"prepare"}),
    ],
)
def test_the_steps_that_a_key_concerns(model: str, keys: dict[str, Any], steps: set[str]) -> None:
    base = {"dataset": "triangles_gen", "model": model}
    assert _differing(Experiment.from_params({}, **base), Experiment.from_params({}, **{**base, **keys})) == steps


@pytest.mark.parametrize(
    ("model", "section", "key", "value", "steps"),
    [
        ("pn", ("split",), "held_out_share", 0.3, {"split"}),
        ("gsm", ("split",), "held_out_share", 0.3, {"split", "prepare"}),
        ("pn", ("episodes",), "test", 7, {"episodes"}),
        ("pn", ("train", "default"), "patience", 3, {"train"}),
        ("pn", ("prototypical", "train"), "patience", 3, {"train"}),
        ("pn", ("embedder", "default"), "width", 8, {"train", "evaluate"}),
        ("pn", ("prototypical", "triangles_gen"), "lr", 0.5, {"train", "evaluate"}),
        ("pn", ("prototypical", "enzymes"), "lr", 0.5, set()),
        ("pn", ("maml", "default"), "lr", 0.5, set()),
        ("wl", ("kernel", "default"), "wl_iterations", 2, {"prepare"}),
        ("wl", ("svc", "default"), "c", 2.0, {"train", "evaluate"}),
        ("gsm", ("superclasses", "default"), "order", 1, {"prepare"}),
    ],
)
def test_the_steps_that_a_setting_concerns(
    model: str, section: Iterable[str], key: str, value: Any, steps: set[str]
) -> None:
    params: dict[str, Any] = {key: value}
    for name in reversed(tuple(section)):
        params = {name: params}
    keys = {"dataset": "triangles_gen", "model": model}
    assert _differing(Experiment.from_params({}, **keys), Experiment.from_params(params, **keys)) == steps


def test_a_recipe_is_the_same_wherever_its_settings_come_from() -> None:
    plain = Experiment.from_params({}, dataset="triangles_gen", model="pn")
    written = Experiment.from_params({"embedder": {"default": {"width": 64}}}, dataset="triangles_gen", model="pn")
    given = replace(plain, given=Training("pn", plain.training.method, plain.training.train))
    assert _digests(plain) == _digests(written) == _digests(given)
