"""`fsgc train` and then `fsgc evaluate`: the same model is tested, on classes it has not seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import fsgc
from fsgc.cli import main
from fsgc.commands.evaluate import refuse_file
from fsgc.data.own import Choices, add_dataset
from fsgc.episodes.batches import Episodes
from fsgc.methods.kernel.gram import GramStore
from fsgc.training.seen_classes import seen_path
from tests.shapes import write_shapes

FEW = {"episodes": {"queries": 2, "train_epochs": 1, "train_per_epoch": 8, "val": 4, "test": 40}}
pytestmark = pytest.mark.filterwarnings("ignore::fsgc.episodes.store.FewerQueriesWarning")
LOOP = {"train": {"default": {"max_epochs": 1, "batch_size": 4, "accelerator": "cpu"}}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with graphs of five shapes as the dataset `shapes`, as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FSGC_DATASETS", raising=False)
    write_shapes(tmp_path / "shapes", 25)
    _add("ring,star")
    return tmp_path


def _add(novel: str, replace: bool = False) -> None:
    add_dataset("shapes", "shapes", Choices(way=2, novel=novel.split(",")), replace=replace)


def _train(model: str, **params: Any) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(FEW | LOOP | params))
    done = CliRunner().invoke(main, ["train", model, "shapes", "-k", "3", "-o", f"{model}.pt", "--force"])
    assert done.exit_code == 0, done.output


def _evaluate(model: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["evaluate", f"{model}.pt", "-k", "3", "-o", "results"])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def _episodes() -> Episodes:
    return fsgc.load_episodes("shapes", shots=3)


def test_a_kernel_is_tested_with_the_settings_it_was_trained_with(project: Path) -> None:
    _train("graphlet", kernel={"default": {"graphlet_size": 3, "graphlet_counts": "exact"}})
    code, output = _evaluate("graphlet")
    assert code == 0, output
    record = json.loads((project / "results" / "record.json").read_text())
    gram = GramStore.load(next((project / "data" / "prepared").rglob("store.zarr")))
    assert (gram.settings.graphlet_size, gram.settings.graphlet_counts) == (3, "exact")
    model = fsgc.train("graphlet", _episodes())
    assert fsgc.evaluate(model, _episodes())["accuracy"] != record["accuracy"], "graphlets of five nodes tell more"


def test_a_model_is_not_tested_on_classes_it_has_seen(project: Path) -> None:
    _train("untrained")
    assert not seen_path(Path("untrained.pt")).exists(), "it has seen none"
    _train("pn")
    code, output = _evaluate("pn")
    assert code == 0, output
    _add("clique,star", replace=True)
    code, output = _evaluate("pn")
    assert code == 1
    assert "pn.pt was trained or chosen on the class clique of shapes, novel now" in output
    _train("pn")
    assert _evaluate("pn")[0] == 0
    (project / "pn.classes.json").write_text("{}")
    assert "has no digest" in _evaluate("pn")[1]


def test_graphs_that_have_changed_since_are_a_warning(project: Path) -> None:
    _train("pn")
    write_shapes(project / "shapes", 26)
    _add("ring,star", replace=True)
    code, output = _evaluate("pn")
    assert code == 0, output
    assert "Warning: the graphs of shapes have changed since pn.pt was trained; it may have seen novel ones" in output


def test_a_file_in_the_place_of_the_results_is_told_before_anything_is_computed(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for out in ("notes", "notes/deeper/still", "dangling"):
        result = CliRunner().invoke(main, ["evaluate", str(tmp_path / "x.pt"), "-o", str(tmp_path / out)])
        assert result.exit_code == 2
        assert f"{tmp_path / out.split('/')[0]} is a file, and results are a directory" in result.output
    assert (tmp_path / "notes").read_text() == "mine"
    refuse_file(tmp_path)
    refuse_file(tmp_path / "new" / "newer")
