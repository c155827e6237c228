"""A small project whose stores are made once, and copies of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fsgc.tables.runner import by_model
from fsgc.tables.worker import compute
from tests.small_tables import make_project


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with stores and no cell."""
    project = tmp_path_factory.mktemp("cluster") / "project"
    make_project(project)
    return project


@pytest.fixture(scope="session")
def computed(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same project with all cells, computed without any cluster."""
    from fsgc.tables.plan import load_works

    project = shutil.copytree(stores, tmp_path_factory.mktemp("computed") / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        for group in by_model(load_works(project)).values():
            compute(group, project)
    return project


@pytest.fixture
def project(stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project with stores and no cell, the current directory."""
    copy = shutil.copytree(stores, tmp_path / "project")
    monkeypatch.chdir(copy)
    return copy
