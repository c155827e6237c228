"""The whole experiment under DVC: trained, evaluated, compared, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.project import SMALL, Project, copy_project, tree

EPOCHS = 3
STAGES = {"download", "graphs", "split", "episodes", "kernel", "superclasses", "train", "evaluate"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An experiment with few episodes, computed from clean; then committed."""
    project = copy_project(tmp_path_factory.mktemp("project"))
    loop = {"default": {"max_epochs": EPOCHS, "batch_size": 5, "accelerator": "cpu"}}
    project.set_params(dataset="triangles_gen", model="pn", episodes={**SMALL, "train_epochs": EPOCHS}, train=loop)
    project.commit()
    done = project.repro("evaluate")
    assert (done.code, set(done.ran), len(done.ran)) == (0, STAGES, len(STAGES)), done
    project.commit()
    return project


@pytest.fixture
def project(finished: Project) -> Iterator[Project]:
    """The finished experiment; after a test it is as before."""
    yield finished
    finished.restore()
    finished.dvc("checkout", "--quiet", "dvc.yaml")  # not the tables, which were never computed


def test_what_an_experiment_leaves(project: Project) -> None:
    metrics = json.loads((project.root / "metrics.json").read_text())
    assert (metrics["model"], metrics["dataset"], metrics["episodes"]) == ("pn", "triangles_gen", SMALL["test"])
    assert 0 < metrics["accuracy"] <= 1
    for name in ("model.pt", "episodes.parquet", "scores.zarr", "curves/plots/metrics/val_loss.tsv"):
        assert (project.root / "results" / name).exists()
    assert not list((project.data / ".training").iterdir())
    shown = json.loads(project.dvc("metrics", "show", "--json"))
    assert shown[""]["data"]["metrics.json"]["data"]["accuracy"] == metrics["accuracy"]
    assert "val_loss" in project.dvc("plots", "show", "--json")
    assert project.repro("evaluate").ran == []


def test_another_model_is_one_command_and_the_difference_another(project: Project) -> None:
    output = project.dvc("exp", "run", "--set-param", "model=pn_tae_mu")
    assert "Running stage 'train'" in output
    assert "Running stage 'episodes'" not in output
    difference = json.loads(project.dvc("metrics", "diff", "--json"))
    values = difference["metrics.json"]
    assert values["model"] == {"old": "pn", "new": "pn_tae_mu"}
    assert values["train.parameters"]["new"] > values["train.parameters"]["old"]
    assert json.loads(project.dvc("params", "diff", "--json"))["params.yaml"]["model"]["new"] == "pn_tae_mu"


def test_bad_settings_are_refused_before_any_work(project: Project) -> None:
    project.set_params(model="pnn")
    failed = project.repro("evaluate")
    assert failed.code != 0
    assert "Error: model: unknown method 'pnn'; did you mean 'pn'?" in failed.errors
    assert "Traceback" not in failed.errors


def _kill_in_epoch(project: Project, wanted: str) -> None:
    """Start `dvc repro` and kill its whole process group when it prints `wanted`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dvc", "repro", "evaluate"],
        cwd=project.root,
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(wanted):
            break
    time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    project.mend()


def test_killed_in_training_it_resumes_and_ends_with_the_same_weights(project: Project) -> None:
    model = (project.root / "results" / "model.pt").read_bytes()
    curve = Path("results", "curves", "plots", "metrics", "loss.tsv")
    losses = [line.split()[-1] for line in (project.root / curve).read_text().splitlines()]
    scores = tree(project.root / "results" / "scores.zarr")
    # Without the run cache DVC has to compute again what it has computed before.
    for name in ("dvc.lock", "results/model.pt"):
        (project.root / name).unlink()
    project.ok("rm", "-rf", ".dvc/cache/runs")
    _kill_in_epoch(project, "epoch 2/")
    state = next((project.data / ".training").iterdir())
    assert (state / "last.ckpt").exists()
    assert not (project.root / "results" / "model.pt").exists()
    done = project.repro("evaluate")
    assert done.code == 0, done
    assert "epoch 1/" not in done.output, "the first epoch is not trained again"
    assert f"epoch {EPOCHS}/{EPOCHS}" in done.output
    assert (project.root / "results" / "model.pt").read_bytes() == model
    assert [line.split()[-1] for line in (project.root / curve).read_text().splitlines()] == losses
    assert tree(project.root / "results" / "scores.zarr") == scores
