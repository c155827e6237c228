"""A project with four cells, computed for real on few episodes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fsgc.tables.worker import compute
from tests.computed_cells import LISTS, PARAMS
from tests.small_tables import make_project


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with four cells, all computed."""
    project = tmp_path_factory.mktemp("project")
    works = make_project(project, PARAMS, LISTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        for model in ("gin", "wl"):
            compute([work for work in works if work.cell.model == model], project)
    return project


@pytest.fixture
def project(computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(computed, tmp_path / "project")
