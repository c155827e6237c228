"""A key of `params.yaml` that nobody knows is refused by its full name, wherever it stands."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fsgc.errors import SettingsError
from fsgc.params_check import check_params
from tests.params_sections import FLAT, PARAMS, SECTIONS


def _levels() -> Iterator[tuple[str, ...]]:
    """The path of every part of the file that has keys, and of those that it may have."""
    yield ()
    yield from ((name,) for name in FLAT)
    for name in SECTIONS:
        layers = [("default",), ("enzymes",), ("presets", "authors")]
        yield (name,)
        yield from ((name, *layer) for layer in layers)
        if name not in ("train", "embedder"):
            yield from ((name, *layer, "train") for layer in [(), *layers])


@pytest.mark.parametrize("path", list(_levels()), ids=".".join)
def test_an_unknown_key_is_refused_by_its_full_name(path: tuple[str, ...]) -> None:
    params = copy.deepcopy(PARAMS)
    at = params
    for name in path:
        at = at.setdefault(name, {})
    at["wdth"] = 5
    full = ".".join((*path, "wdth"))
    with pytest.raises(SettingsError, match=rf"^{re.escape(full)} is unknown(\.|; did you mean '\w+'\?) The keys here"):
        check_params(params)


def test_the_nearest_key_is_suggested() -> None:
    for path, wrong, right in (
        ((), "datset", "dataset"),
        (("embedder", "default"), "wdth", "width"),
        (("prototypical", "enzymes"), "lambda_mixpu", "lambda_mixup"),
        (("maml", "train"), "patence", "patience"),
        (("kernel",), "redit", "reddit"),
    ):
        params = copy.deepcopy(PARAMS)
        at: dict[str, Any] = params
        for name in path:
            at = at.setdefault(name, {})
        at[wrong] = 5
        full = ".".join((*path, wrong))
        with pytest.raises(SettingsError, match=rf"^{full} is unknown; did you mean '{right}'\?"):
            check_params(params)


@pytest.mark.parametrize("section", [*FLAT, *SECTIONS])
@pytest.mark.parametrize("value", [5, "x", [1]])
def test_a_section_without_keys_is_refused(section: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^{section} must have keys with values below it, got "):
        check_params({**PARAMS, section: value})


@pytest.mark.parametrize("strange", [5, None, True, 1.5])
def test_keys_that_are_no_words_are_our_error(strange: Any) -> None:
    for path in ((), ("split",), ("embedder",), ("embedder", "default"), ("maml", "presets"), ("maml", "train")):
        params = copy.deepcopy(PARAMS)
        at: Any = params
        for name in path:
            at = at.setdefault(name, {})
        at[strange] = {"lr": 1}
        with pytest.raises(SettingsError):
            check_params(params)


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
