from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.errors import StoreError
from fsgc.methods.gsm.superclasses import SuperClasses
from fsgc.workspace import Workspace
from pipeline.superclasses import main
from tests.graphs import random_store


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A data root with graphs and split, and the stage's settings in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("superclasses: {order: 2}\n")
    found = Workspace(tmp_path / "data")
    graphs = random_store(3, graphs=120, classes=15)
    graphs.save(found.graphs("letter_high"))
    make_split(dataset("letter_high"), graphs.y).save(found.split("letter_high", 0))
    return found


def test_super_classes_for_gsm(workspace: Workspace) -> None:
    result = CliRunner().invoke(main, ["--dataset", "letter_high", "--model", "gsm"])
    assert result.exit_code == 0, result.output
    found = SuperClasses.open(workspace.superclasses("letter_high", "gsm", 0))
    assert found.classes.tolist() == sorted(dataset("letter_high").base)
    assert found.attributes["order"] == 2


def test_an_empty_store_for_others(workspace: Workspace) -> None:
    result = CliRunner().invoke(main, ["--dataset", "letter_high", "--model", "pn"])
    assert result.exit_code == 0, result.output
    with pytest.raises(StoreError, match="is empty"):
        SuperClasses.open(workspace.superclasses("letter_high", "pn", 0))


def test_a_bad_order_is_refused(workspace: Workspace) -> None:
    Path("params.yaml").write_text("superclasses: {order: 3}\n")
    result = CliRunner().invoke(main, ["--dataset", "letter_high", "--model", "gsm"])
    assert result.exit_code == 1
    assert "superclasses.order: 3 is unknown; allowed are 1 and 2" in result.output
    assert not workspace.superclasses("letter_high", "gsm", 0).exists()
