from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from fsgc.cli import main
from fsgc.data.catalog import load_catalog
from fsgc.methods.registry import METHODS


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FSGC_MIRROR", raising=False)
    return tmp_path / "data"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_list_has_every_dataset_with_its_figures() -> None:
    result = _run("datasets")
    assert result.exit_code == 0
    for entry in load_catalog().values():
        figures = entry.statistics
        row = next(line for line in result.output.splitlines() if line.startswith(f"{entry.key} "))
        assert re.search(rf"\b{figures.graphs}\b.*\b{figures.classes}\b.*{figures.nodes:.2f}.*{figures.edges:.2f}", row)
        assert row.rstrip().endswith("-"), "nothing is stored yet"


def test_build_makes_what_the_list_then_shows(workspace: Path) -> None:
    result = _run("build", "triangles_gen", "-k", "5", "-k", "10")
    assert result.exit_code == 0, result.output
    assert str(workspace / "episodes" / "triangles_gen-10shot-seed0.zarr") in result.output
    row = next(line for line in _run("datasets").output.splitlines() if line.startswith("triangles_gen"))
    assert row.rstrip().endswith("raw, graphs, 5-shot, 10-shot")


def test_show_tells_all_of_one() -> None:
    entry = load_catalog()["coil_del"]
    output = _run("datasets", "show", "coil_del").output
    for value in (entry.title, entry.citation, entry.terms, "80 81 82", *entry.files[0].urls):
        assert value in output
    for member in entry.files[0].members:
        assert member.sha256 in output


def test_json_for_programs() -> None:
    listed = json.loads(_run("datasets", "--json").output)
    assert [entry["key"] for entry in listed] == list(load_catalog())
    assert json.loads(_run("datasets", "show", "reddit", "--json").output)["statistics"]["graphs"] == 1111


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("datasets", "show", "coil-del"), "did you mean 'coil_del'"),
        (("build", "triangles_gen", "enzyme"), "did you mean 'enzymes'"),
        (("build",), "name at least one dataset, or --all"),
        (("build", "triangles_gen", "-k", "0"), "shots must be at least 1, got 0"),
        (("build", "triangles_gen", "-k", "99"), "shots: 99 do not fit 'triangles_gen'"),
    ],
)
def test_mistakes_are_one_sentence(arguments: tuple[str, ...], message: str) -> None:
    result = _run(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert "Traceback" not in result.output


def _leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield path
    for name, below in command.commands.items() if isinstance(command, click.Group) else ():
        yield from _leaves(below, (*path, name))


@pytest.mark.parametrize("path", list(_leaves(main)), ids=" ".join)
def test_every_command_shows_an_example_of_itself(path: tuple[str, ...]) -> None:
    result = _run(*path, "--help")
    assert result.exit_code == 0
    examples = re.findall(rf"^ +fsgc {' '.join(path)}\b(.*)$", result.output, flags=re.MULTILINE)
    assert examples, "a line to copy"
    command: click.Command = main
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    for example in examples:
        words = shlex.split(example, comments=True)
        alone = words[: words.index("&&")] if "&&" in words else words
        command.make_context("fsgc", alone)  # parses it, runs nothing


def test_results_without_a_run_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "run this from the project's root" in _run("results").output
    (tmp_path / "params.yaml").write_text("{dataset: triangles_gen, shots: 5, seed: 0, model: pn}")
    assert "run 'dvc repro'" in _run("results").output


def test_the_models_and_their_settings() -> None:
    assert "PN+TAE+MU" in _run("models").output
    listed = [row["name"] for row in json.loads(_run("models", "--json").output)]
    assert listed == list(METHODS)
    assert json.loads(_run("models", "pn", "--json").output)["settings"]["width"] == 64
    assert re.search(r"lambda_mixup\s+0\.1", _run("models", "pn_mu").output)
    assert "did you mean 'pn_tae'" in _run("models", "pn_tea").output


@pytest.mark.usefixtures("outside_any_repository")
def test_train_and_evaluate_without_dvc(tmp_path: Path) -> None:
    params = tmp_path / "params.yaml"
    params.write_text(
        "episodes: {train_epochs: 1, train_per_epoch: 64, val: 20, test: 40}\n"
        "train: {default: {max_epochs: 1, accelerator: cpu}}\n"
        "embedder: {default: {width: 8}}\nprototypical: {default: {}}\n"
    )
    model = tmp_path / "pn.pt"
    trained = _run("train", "pn", "triangles_gen", "--params", str(params), "-o", str(model))
    assert trained.exit_code == 0, trained.output
    assert "validation loss" in trained.output
    assert (tmp_path / "pn.curves" / "plots" / "metrics" / "val_loss.tsv").exists()
    tested = _run("evaluate", str(model))
    assert tested.exit_code == 0, tested.output
    assert "pn on triangles_gen, 5-shot: accuracy" in tested.output
    metrics = json.loads((tmp_path / "pn.results" / "record.json").read_text())
    assert (metrics["episodes"], metrics["shots"]) == (40, 5)
    again = _run("train", "pn", "triangles_gen", "--params", str(params), "-o", str(model))
    assert again.exit_code == 1
    assert f"{model} exists; choose another name with -o, or overwrite it with --force" in again.output
    assert "does not exist; train a model" in _run("evaluate", str(tmp_path / "no.pt")).output
    other = _run("evaluate", str(model), "-k", "3")
    assert other.exit_code == 0, other.output
    assert "3-shot" in other.output
    assert "Warning" not in other.output
    for directory, shots in (("pn.results", 5), ("pn.triangles_gen-3shot.results", 3)):
        assert json.loads((tmp_path / directory / "record.json").read_text())["shots"] == shots, "side by side"
