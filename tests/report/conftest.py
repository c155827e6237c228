from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.report.build import build_report
from fsgc.report.cells import find_cells
from fsgc.report.results import Results
from tests.report.made_cells import write_example
from tests.report.real_cells import write_project


@pytest.fixture(scope="session")
def example_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of cells."""
    root = tmp_path_factory.mktemp("made") / "cells"
    write_example(root)
    return root


@pytest.fixture
def cells_root(tmp_path: Path) -> Path:
    """A directory for cells, with room for their models and failures beside it."""
    return tmp_path / "cells"


@pytest.fixture(scope="session")
def example(example_root: Path) -> Results:
    """The results of those cells."""
    return Results(find_cells(example_root))


@pytest.fixture(scope="session")
def real_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cells of three models of a project, with their models and episodes."""
    return write_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def example_report(example_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the example, with its figures in `figures/` beside it."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSGC_DATA", str(out.parent / "data"))
        build_report(example_root, out, out.parent / "figures", embed=False)
    return out
