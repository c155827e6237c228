from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from fsgc.cli import main
from fsgc.commands.models import setting_meanings
from fsgc.methods.discriminant.views import VIEWS
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.methods.registry import METHODS


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["models", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_without_a_name_all_are_listed() -> None:
    listed = json.loads(_run("--json"))
    assert {entry["name"] for entry in listed} >= set(METHODS)
    assert all(name in _run() for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_its_settings_and_what_each_means(name: str) -> None:
    told = json.loads(_run(name, "--json"))
    assert (told["title"], told["about"]) == (METHODS[name].title, METHODS[name].about)
    assert set(told["settings"]) <= set(told["meanings"]), "a setting that its docstring does not explain"
    text = _run(name)
    assert METHODS[name].section in text
    assert all(setting in text for setting in told["settings"])


def test_the_views_of_the_discriminant_are_told_from_the_registry() -> None:
    told = json.loads(_run("discriminant", "--json"))
    assert told["views"] == {name: view.about for name, view in VIEWS.items()}
    text = _run("discriminant")
    assert all(name in text and view.about[:40] in text for name, view in VIEWS.items())
    assert "pn" in json.loads(_run("discriminant_pn", "--json"))["views"]
    assert json.loads(_run("pn", "--json"))["views"] == {}


def test_meanings_come_from_the_docstrings_of_a_class_and_those_above() -> None:
    meanings = setting_meanings(PrototypicalSettings)
    assert meanings["lr"] == "learning rate of Adam."
    assert meanings["width"].startswith("`d`, the width of every layer")
    assert "\n" not in "".join(meanings.values())


def test_the_help_says_what_to_expect() -> None:
    text = _run("--help")
    assert "what each measures" in " ".join(text.split())
    assert "fsgc models discriminant" in text
