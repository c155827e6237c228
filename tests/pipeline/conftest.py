"""The project copies that tests run DVC in; making and reproducing one takes seconds, so tests share them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.pipeline.project import SMALL, FirstRun, Project, copy_project


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    """The default experiment with fewer episodes, reproduced from clean; then committed."""
    project = copy_project(tmp_path_factory.mktemp("project"))
    project.set_params(dataset="triangles_gen", shots=5, seed=0, episodes=SMALL)
    project.commit()
    repro = project.repro()
    changed = [line[3:] for line in project.ok("git", "status", "--porcelain").splitlines()]
    project.commit()
    data = shutil.copytree(project.data, tmp_path_factory.mktemp("kept") / "data")
    return FirstRun(project, repro, changed, data)


@pytest.fixture
def project(first_run: FirstRun) -> Iterator[Project]:
    """The reproduced copy; after a test it is again as before, but what was computed stays in DVC's cache."""
    yield first_run.project
    shutil.rmtree(first_run.project.data)
    shutil.copytree(first_run.data, first_run.project.data)
    first_run.project.restore()
