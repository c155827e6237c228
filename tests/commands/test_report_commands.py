from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fsgc.commands.figures import figures
from fsgc.commands.report import report
from fsgc.commands.tables import tables
from fsgc.errors import StoreError
from tests.report.made_cells import outcomes, write_example


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "cells"
    write_example(root)
    return root


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def _run(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)  # type: ignore[arg-type]


def test_show_prints_a_table(cells: Path) -> None:
    result = _run(tables, "show", "d_a", "--cells", str(cells))
    assert result.exit_code == 0, result.output
    row = next(line for line in result.output.splitlines() if line.startswith("PN+TAE+MU"))
    assert "[56.8, +" in row
    assert f" {100 * outcomes(3, 0.9).mean():.2f} ± " in row
    assert "(best of 3 of" in row
    assert "*: the best of a column without gaps" in result.output


def test_show_without_cells_says_what_to_run() -> None:
    result = _run(tables, "show", "d_b")
    assert result.exit_code == 0
    assert "Run: fsgc tables run" in result.output
    assert "[88.2]" in result.output, "the paper's figures are there all the same"


def test_write_writes_what_is_asked_for(cells: Path, tmp_path: Path) -> None:
    result = _run(tables, "write", "d_a", "efficiency", "--cells", str(cells), "-o", "out", "-f", "tex")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["d_a.tex", "efficiency.tex"]


def test_docs_writes_the_page_of_results(cells: Path, tmp_path: Path) -> None:
    result = _run(tables, "docs", "--cells", str(cells))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "docs" / "results" / "README.md").read_text().startswith("# Results\n")


def test_report_writes_the_page(cells: Path, tmp_path: Path) -> None:
    result = _run(report, "--cells", str(cells), "--no-embed")
    assert result.exit_code == 0, result.output
    assert result.output == "9 results from 14 cells, 4 figures\nwritten to report.html\n"
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_tsne_needs_results_and_models(cells: Path) -> None:
    missing = _run(figures, "tsne", "triangles", "gsm", "pn", "--cells", str(cells), "-o", "x")
    assert isinstance(missing.exception, StoreError)
    assert "no result of gsm on triangles, 5-shot" in str(missing.exception)
    without = _run(figures, "tsne", "triangles", "pn", "--cells", str(cells), "-o", "x")
    assert "has embeddings, or their model files are not stored" in str(without.exception)


def test_help_waits_for_nothing_heavy() -> None:
    code = (
        "import sys, fsgc.commands.figures, fsgc.commands.report, fsgc.commands.tables;"
        "print([name for name in ('torch', 'matplotlib', 'scipy', 'polars', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
