"""Three doors to every step: the DVC stage, the command and the Python call see the same settings and give the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from fsgc import api
from fsgc.cli import main as fsgc_command
from fsgc.experiment import Experiment, as_settings
from fsgc.recipes import STEPS, digest, recipe
from fsgc.steps import train
from fsgc.training.report import FitReport
from fsgc.workspace import Workspace

ROOT = Path(__file__).parents[1]
PARAMS: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text())

# Section -> a model that reads it, where the experiment has it, a key and another value for it.
CHANGES: dict[str, tuple[str, str, str, Any]] = {
    "split": ("pn", "split", "held_out_share", 0.3),
    "episodes": ("pn", "episodes", "val", 7),
    "train": ("pn", "train", "patience", 3),
    "embedder": ("pn", "method", "width", 8),
    "prototypical": ("pn", "method", "scale", 3.5),
    "transfer": ("gin", "method", "head_steps", 3),
    "maml": ("maml", "method", "inner_steps", 2),
    "as_maml": ("as_maml", "method", "levels", 2),
    "gsm": ("gsm", "method", "neighbours", 3),
    "superclasses": ("gsm", "preparation", "order", 1),
    "kernel": ("wl", "preparation", "wl_iterations", 2),
    "svc": ("wl", "method", "c", 2.5),
    "faith": ("faith", "method", "support_tasks", 3),
    "smf_gin": ("smf_gin", "method", "width", 8),
    "smf_gin_local": ("smf_gin_local", "method", "local_weight", 0.2),
    "spnp": ("spnp", "method", "test_samples", 3),
    "discriminant": ("discriminant", "method", "folds", 3),
    "descriptors": ("discriminant", "preparation", "max_labels", 20),
}
KEYS = {"model": "sp", "dataset": "triangles", "shots": 3, "seed": 4, "preset": "authors", "features": "degree"}

Seen = list[tuple[str, Experiment]]
Door = Callable[[Path, str], None]


def _stages(params: Path, _model: str) -> None:
    for step in STEPS:
        stage = importlib.import_module(f"pipeline.{step}").main
        done = CliRunner().invoke(stage, ["--params", str(params)], catch_exceptions=False)
        assert done.exit_code == 0, done.output


def _command(params: Path, model: str) -> None:
    keys = yaml.safe_load(params.read_text())
    words = [model, keys["dataset"], "-k", str(keys["shots"]), "--seed", str(keys["seed"])]
    words = ["train", *words, "--params", str(params), "-o", str(params.with_suffix(".pt"))]
    done = CliRunner().invoke(fsgc_command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output


def _python(params: Path, _model: str) -> None:
    api.open_experiment(Experiment.load(params))


DOORS: dict[str, Door] = {"stages": _stages, "command": _command, "python": _python}


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What the steps were called with; none of them does anything."""
    found: Seen = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    for step in STEPS:

        def note(_workspace: Workspace, experiment: Experiment, *_: Any, step: str = step) -> Any:
            found.append((step, experiment))
            record = {
                "model": "",
                "dataset": "",
                "shots": 0,
                "accuracy": 0.0,
                "accuracy_ci95": 0.0,
                "accuracy_std": 0.0,
            }
            return {**record, "episodes": 0, "test_seconds": 0.0} if step == "evaluate" else ""

        monkeypatch.setattr(importlib.import_module(f"fsgc.steps.{step}"), "run", note)
    nothing = FitReport(epochs=0, best_epoch=0, best=None, seconds=0.0, peak_memory=0, parameters=0)
    monkeypatch.setattr("fsgc.training.model_file.read_report", lambda _: nothing)
    monkeypatch.setattr(api, "open_episodes", lambda _, experiment: found.append(("open", experiment)))
    return found


def _write(tmp_path: Path, params: dict[str, Any]) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(yaml.safe_dump(params))
    return path


def test_every_section_is_tried() -> None:
    assert set(CHANGES) | set(KEYS) == set(PARAMS)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("section", CHANGES)
def test_every_door_sees_a_changed_section(section: str, door: str, seen: Seen, tmp_path: Path) -> None:
    model, part, key, value = CHANGES[section]
    below = {key: value} if section in ("split", "episodes") else {"default": {key: value}}
    params = {"dataset": "triangles_gen", "shots": 5, "seed": 0, "model": model}
    before = as_settings(Experiment.from_params(params))[part][key]
    assert before != value
    DOORS[door](_write(tmp_path, {**params, section: below}), model)
    assert len(seen) >= 3
    for step, experiment in seen:
        assert as_settings(experiment)[part][key] == value, step


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("key", KEYS)
def test_every_door_sees_a_changed_key(key: str, door: str, seen: Seen, tmp_path: Path) -> None:
    params = {**PARAMS, key: KEYS[key]}
    DOORS[door](_write(tmp_path, params), params["model"])
    for step, experiment in seen:
        assert getattr(experiment.keys, key) == KEYS[key], step


def test_the_three_doors_lead_to_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "stores"))
    values = {
        "dataset": "triangles_gen", "model": "pn_mu", "shots": 2, "seed": 3, "features": "degree_onehot+degree",
        "split": {"held_out_share": 0.4},
        "episodes": {"queries": 3, "train_epochs": 1, "train_per_epoch": 20, "val": 10, "test": 10},
        "train": {"default": {"max_epochs": 1, "batch_size": 7, "accelerator": "cpu"}},
        "embedder": {"default": {"width": 6}},
    }  # fmt: skip
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(values))

    for step in STEPS[: STEPS.index("evaluate")]:
        stage = importlib.import_module(f"pipeline.{step}").main
        done = CliRunner().invoke(stage, [], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    words = ["train", "pn_mu", "triangles_gen", "-k", "2", "--seed", "3", "-o", str(tmp_path / "command.pt")]
    done = CliRunner().invoke(fsgc_command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    experiment, workspace = Experiment.load(path), Workspace(tmp_path / "elsewhere")
    episodes = api.open_experiment(experiment, workspace)
    identity = digest(recipe("train", experiment))
    train.run(workspace, experiment, tmp_path / "python.pt", tmp_path / "curves", identity)

    held_out = len(episodes.split.held_out) / sum(
        len(pool) for part in ("train", "val") for pool in episodes.split.pools(episodes.graphs.y, part).values()
    )
    assert held_out == pytest.approx(0.4, abs=0.01)
    models = [(tmp_path / name).read_bytes() for name in ("results/model.pt", "command.pt", "python.pt")]
    assert models[0] == models[1] == models[2]
