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
import yaml

from fsgc.evaluation.results import headline
from tests.pipeline.project import TINY, Project, copy_project

STAGES = ["recipes", "download", "graphs", "split", "episodes", "prepare", "train", "evaluate"]

NEW_METHOD = '''"""The nearest mean of the supports' largest degree: a method made up for a test."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import Method, TaskShape
from fsgc.settings import Positive, settings


@settings
class LargestDegreeSettings:
    """How strongly a difference counts."""

    strength: Positive = 1.0


class LargestDegree(Method):
    """Scores are minus the differences of largest degrees."""

    settings_type: ClassVar[type[Any]] = LargestDegreeSettings
    section: ClassVar[str] = "largest_degree"

    def __init__(self, shape: TaskShape, settings: LargestDegreeSettings) -> None:
        super().__init__(shape, settings)
        self.strength = settings.strength

    def attach(self, episodes: Episodes) -> None:
        """Look at every graph once."""
        graphs = episodes.graphs
        self.largest = torch.from_numpy(np.maximum.reduceat(graphs.degree, graphs.node_ptr[:-1])).float()

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """See `Method.predict`."""
        values = self.largest[episodes.graphs]
        means = values[:, :, : episodes.shots].mean(2)
        queries = values[:, :, episodes.shots :].flatten(1)
        return -self.strength * (queries.unsqueeze(2) - means.unsqueeze(1)).abs()
'''


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An experiment with few episodes, computed from clean; then committed."""
    project = copy_project(tmp_path_factory.mktemp("project"))
    project.set_params(dataset="triangles_gen", model="pn", shots=5, seed=0, **TINY)
    project.commit()
    done = project.repro("evaluate")
    assert (done.code, done.ran) == (0, STAGES), done
    project.commit()
    return project


@pytest.fixture
def project(finished: Project) -> Iterator[Project]:
    """The finished experiment; after a test it is as before."""
    yield finished
    finished.restore()
    finished.dvc("checkout", "--quiet")


def test_what_an_experiment_leaves(project: Project) -> None:
    record = json.loads((project.root / "results" / "record.json").read_text())
    assert (record["model"], record["dataset"], record["episodes"]) == ("pn", "triangles_gen", 20)
    metrics = json.loads((project.root / "metrics.json").read_text())
    assert metrics == headline(record)
    assert 0 < metrics["accuracy"] <= 1
    assert not [name for name in metrics if "seconds" in name or "memory" in name], "nothing that differs between runs"
    for name in ("model.pt", "episodes.parquet", "scores.zarr", "curves/plots/metrics/val_loss.tsv"):
        assert (project.root / "results" / name).exists()
    assert not list((project.data / ".training").iterdir())
    assert project.ok("git", "status", "--porcelain") == ""
    shown = json.loads(project.dvc("metrics", "show", "--json"))
    assert shown[""]["data"]["metrics.json"]["data"]["accuracy"] == metrics["accuracy"]
    again = project.repro("evaluate")
    assert (again.code, again.ran, again.unchanged) == (0, [], STAGES)
    status = project.run(sys.executable, "-m", "dvc", "status")
    assert "up to date" in status.stdout
    assert "tables" not in status.stdout + status.stderr


def test_results_of_other_settings_are_not_shown(project: Project) -> None:
    shown = project.fsgc("results")
    assert (shown.code, "accuracy" in shown.output) == (0, True), shown
    project.set_params(embedder={"default": {"width": 5}})
    refused = project.fsgc("results")
    assert refused.code == 1
    assert "is of other settings or code (train, evaluate changed); run 'dvc repro'" in refused.errors


def test_another_model_computes_its_own_stages_and_the_difference_is_one_command(project: Project) -> None:
    done = project.run(sys.executable, "-m", "dvc", "exp", "run", "--set-param", "model=wl")
    assert done.returncode == 0, done
    ran = [stage for stage in STAGES if f"Running stage '{stage}'" in done.stdout]
    assert ran == ["recipes", "prepare", "train", "evaluate"]
    assert "tables" not in done.stdout + done.stderr
    difference = json.loads(project.dvc("metrics", "diff", "--json"))["metrics.json"]
    assert difference["accuracy"]["old"] != difference["accuracy"]["new"]
    assert json.loads(project.dvc("params", "diff", "--json"))["params.yaml"]["model"]["new"] == "wl"
    record = json.loads((project.root / "results" / "record.json").read_text())
    assert record["settings"]["preparation"]["wl_iterations"] == 5
    plots = project.run(sys.executable, "-m", "dvc", "plots", "show", "--json")
    assert plots.returncode == 0
    assert "failed" not in plots.stderr, "a method that does not learn has no curves"


def test_a_reworded_comment_runs_the_quick_stage_only(project: Project) -> None:
    for module in (
        "data/splits.py", "data/graph_store.py", "steps/episodes.py", "methods/prototypical/method.py",
        "nn/embedder.py", "training/fit.py", "evaluation/results.py",
    ):  # fmt: skip
        path = project.root / "fsgc" / module
        path.write_text(path.read_text().replace('"""', '"""In other words: ', 1) + "\n# A remark.\n")
    done = project.repro("evaluate")
    assert (done.code, done.ran, done.unchanged) == (0, ["recipes"], STAGES[1:])


def test_a_new_method_is_its_file_a_line_and_a_section(project: Project) -> None:
    root = project.root
    (root / "fsgc" / "methods" / "largest_degree.py").write_text(NEW_METHOD)
    registry = root / "fsgc" / "methods" / "registry.py"
    line = '    "largest": Entry("Largest degree", "Made up.", "fsgc.methods.largest_degree:LargestDegree"),\n'
    text = registry.read_text()
    registry.write_text(text.replace("METHODS: Mapping[str, Entry] = {\n", "METHODS: Mapping[str, Entry] = {\n" + line))
    assert registry.read_text() != text
    with (root / "params.yaml").open("a") as params:
        params.write("largest_degree:\n  default:\n    strength: 2.0\n")
    others = project.repro("evaluate")
    assert (others.code, others.ran, others.unchanged) == (0, ["recipes"], STAGES[1:]), "the others do not notice"
    project.set_params(model="largest")
    done = project.repro("evaluate")
    assert (done.code, done.ran) == (0, ["recipes", "train", "evaluate"]), done
    record = json.loads((root / "results" / "record.json").read_text())
    assert (record["model"], record["settings"]["method"]) == ("largest", {"strength": 2.0})
    touched = {each[3:] for each in project.ok("git", "status", "--porcelain").splitlines()}
    code = {"fsgc/methods/largest_degree.py", "fsgc/methods/registry.py", "params.yaml"}
    assert touched == code | {"dvc.lock", "metrics.json"}
    params = yaml.safe_load((root / "params.yaml").read_text())
    params["largest_degree"]["default"]["strenth"] = 1.0
    (root / "params.yaml").write_text(yaml.safe_dump(params))
    assert "largest_degree.default.strenth is unknown; did you mean 'strength'?" in project.repro("evaluate").errors


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


@pytest.mark.long
def test_killed_in_training_it_resumes_and_ends_with_the_same_weights(project: Project) -> None:
    """With more epochs than before, so that there is something to compute; undisturbed elsewhere is the reference."""
    epochs = 30
    project.set_params(episodes={**TINY["episodes"], "train_epochs": epochs})
    project.set_params(train={"default": {**TINY["train"]["default"], "max_epochs": epochs, "patience": epochs}})
    _kill_in_epoch(project, "epoch 2/")
    state = next((project.data / ".training").iterdir())
    assert (state / "last.ckpt").exists()
    assert not (project.root / "results" / "model.pt").exists()
    done = project.repro("evaluate")
    assert done.code == 0, done
    assert "epoch 1/" not in done.output, "the first epoch is not trained again"
    assert f"epoch {epochs}/{epochs}" in done.output
    resumed = (project.root / "results" / "model.pt").read_bytes()
    curve = Path("results", "curves", "plots", "metrics", "loss.tsv")
    losses = [line.split()[-1] for line in (project.root / curve).read_text().splitlines()]
    project.ok(sys.executable, "-m", "pipeline.train", "--out", "undisturbed")
    assert (project.root / "undisturbed" / "model.pt").read_bytes() == resumed
    curve = Path("undisturbed", *curve.parts[1:])
    assert [line.split()[-1] for line in (project.root / curve).read_text().splitlines()] == losses
