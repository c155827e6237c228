from __future__ import annotations

import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fsgc.report.paper import load_paper
from fsgc.report.render import csv, escape_latex, latex, latex_document, markdown
from fsgc.report.results import Results
from fsgc.report.table import Heading, Row, Table, Value
from fsgc.report.tables import all_tables
from fsgc.workspace import Workspace
from tests.report.latex_reader import check_syntax, grid

SMALL = Table(
    key="small",
    title="Small & 100 % odd_title",
    label="Model",
    headings=(Heading("5-shot", "A_B"), Heading("10-shot", "A_B"), Heading("s")),
    rows=(
        Row(
            "one",
            (Value("80.10", "0.20", paper="79.0", difference="+1.1", best=True), Value("—", is_gap=True), Value("3")),
            "G|1",
        ),
        Row(
            "two",
            (
                Value("80.00", "0.30", best_of="best of 1 of 2", tie=True, stale=True),
                Value("failed", paper="50.0", is_gap=True),
                Value("4"),
            ),
            "G2",
        ),
    ),
    frame=pl.DataFrame({"row": ["one", "two"], "accuracy": [80.1, None]}),
    notes=("A note_with < & % $ # { } ~ ^ \\ ± ≈ † − × — γ ε ρ τ ∞ signs.",),
)


@pytest.fixture(scope="module")
def tables(example: Results, tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    empty = all_tables(Results([]), Workspace(tmp_path_factory.mktemp("none")))
    return [SMALL, *all_tables(example, Workspace(tmp_path_factory.mktemp("data"))), *empty]


def check_document(source: str) -> tuple[str, list[list[str]]]:
    """Both what LaTeX itself and what a table asks for."""
    check_syntax(latex_document(source))
    return grid(source)


def test_markdown_by_hand() -> None:
    assert markdown(SMALL) == (
        "## Small & 100 % odd_title\n\n"
        "| Model | A_B, 5-shot | A_B, 10-shot | s |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| *G\\|1* |  |  |  |\n"
        "| one | **80.10** ± 0.20 [79.0, +1.1] | — | 3 |\n"
        "| *G2* |  |  |  |\n"
        "| two | 80.00 ± 0.30 ≈ † (best of 1 of 2) | failed [50.0] | 4 |\n\n"
        "- A note\\_with \\< & % $ # { } ~ ^ \\\\ ± ≈ † − × — γ ε ρ τ ∞ signs.\n"
    )


def test_every_markdown_table_has_equally_many_cells_in_every_row(tables: list[Table]) -> None:
    for table in tables:
        lines = [line for line in markdown(table).splitlines() if line.startswith("|")]
        assert len(lines) >= 2 + len(table.rows)
        assert {line.replace("\\|", "").count("|") for line in lines} == {len(table.headings) + 2}


def test_latex_is_a_table_that_fills_its_columns(tables: list[Table]) -> None:
    for table in tables:
        _, rows = check_document(latex(table))
        bodies = [row for row in rows if row[0] in {escape_latex(r.title) for r in table.rows}]
        assert len(bodies) >= len(table.rows)


def test_latex_by_hand() -> None:
    letters, rows = grid(latex(SMALL))
    assert letters == "lrlrlr"
    assert rows[3] == ["one", r"\textbf{80.10} {\scriptsize $\pm$ 0.20}", r"{\scriptsize [79.0, +1.1]}", "---", "", "3"]
    assert rows[5][1] == r"80.00 {\scriptsize $\pm$ 0.30} $\approx$ $\dagger$ {\scriptsize (best of 1 of 2)}"
    assert rows[5][4] == r"{\scriptsize [50.0]}"


def test_remarks_on_rows_are_in_markdown_and_latex(tables: list[Table]) -> None:
    (table,) = (table for table in tables[: len(tables) // 2 + 1] if table.key == "d_a")
    remarks = [remark.text for remark in load_paper().remarks if remark.models]
    assert remarks
    for remark in remarks:
        assert f"\n- {remark}\n" in markdown(table)
        assert escape_latex(remark) in latex(table)


@pytest.mark.parametrize(
    "broken",
    [
        latex(SMALL).replace("&", r"\&", 1),
        latex(SMALL).replace(r"\_", "_"),
        latex(SMALL).replace(r"\%", "%"),
        latex(SMALL).replace(r"\end{tabular}%", ""),
        latex(SMALL).replace("--- &  & 3", "--- & 3"),
        latex(SMALL).replace(r"\emph", r"\unknown"),
        latex(SMALL).replace("$-$", "−"),
    ],
)
def test_the_reader_of_latex_finds_mistakes(broken: str) -> None:
    assert broken != latex(SMALL)
    with pytest.raises((AssertionError, ValueError)):
        check_document(broken)


@pytest.mark.skipif(
    not shutil.which("pdflatex"), reason="no pdflatex is installed; the structure is checked without it"
)
def test_latex_compiles(tables: list[Table], tmp_path: Path) -> None:
    (tmp_path / "all.tex").write_text(latex_document("".join(latex(table) for table in tables)), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_csv_is_the_frame(tables: list[Table]) -> None:
    for table in tables:
        again = pl.read_csv(io.StringIO(csv(table)), schema=table.frame.schema)
        assert again.equals(table.frame)


def test_a_hint_is_shown() -> None:
    table = replace(SMALL, hint="Nothing yet. Run: fsgc tables run")
    assert "Nothing yet. Run: fsgc tables run" in markdown(table)
    assert "Nothing yet. Run: fsgc tables run" in latex(table)
