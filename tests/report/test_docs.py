from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fsgc.errors import StoreError
from fsgc.report.accuracy_tables import overview_table
from fsgc.report.build import build_docs
from fsgc.report.comparison import Comparisons
from fsgc.report.docs import fill_readme, write_docs
from fsgc.report.figures.style import FigureSet, NamedFigure, house_style
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.tables import all_tables
from fsgc.workspace import Workspace
from tests.report.made_cells import outcomes

README = "# Mine\n\n<!-- results: begin (by a command) -->\nold\nlines\n<!-- results: end -->\n\nThe rest.\n"


def test_the_page_of_results(example: Results, tmp_path: Path) -> None:
    tables = all_tables(example, Workspace(tmp_path / "data"))
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "old.csv").write_text("of a table that is gone")
    with house_style():
        figures = FigureSet((NamedFigure("ranks", "Average ranks", "Who is first.", Figure()),))
    write_docs(tables, example, figures, tmp_path)
    page = (tmp_path / "README.md").read_text()
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert headings == [table.title for table in tables if not table.hint] + ["Average ranks", "Not computed yet"]
    assert "from 11 cells" in page
    assert "![Average ranks](figures/ranks.svg)\n\nWho is first.\n" in page
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["ranks.svg"]
    assert {path.stem for path in (tmp_path / "csv").iterdir()} == {table.key for table in tables if not table.hint}
    assert "- Pooling: mean against mean and standard deviation" in page
    links = re.findall(r"\]\(#([^)]*)\)", page)
    assert links == [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings[:-1]]
    assert f"{100 * outcomes(4, 0.6).mean():.2f} ± " in page


def test_the_readme_gets_the_table_of_five_shots_and_keeps_the_rest(
    example_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    readme = tmp_path / "README.md"
    readme.write_text(README)
    for _ in range(2):  # the second time over the first's
        written = build_docs(example_root, tmp_path / "out", readme, embed=False)
        assert {path.name for path in written} >= {"README.md", "report.html", "d_a.csv"}
        assert all(path.exists() for path in written)
        before, _, after = readme.read_text().partition("<!-- results: begin (by a command) -->\n")
        body, _, rest = after.partition("<!-- results: end -->")
        assert (before, rest) == ("# Mine\n\n", "\n\nThe rest.\n")
        rows = [line.split(" | ")[0] for line in body.splitlines() if line.startswith("| ")]
        assert rows == ["| Model", "| ---", "| WL", "| PN", "| PN+TAE+MU", "| my\\_method"]
        assert "10-shot" not in body.splitlines()[0]


def test_without_results_the_readme_says_what_to_run(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(README)
    fill_readme(readme, overview_table(Results([]), load_paper(), Comparisons(Results([]))))
    assert "-->\nNo cell of this table is computed yet. Run: fsgc tables run\n<!--" in readme.read_text()


def test_a_readme_without_the_marks_is_left_alone(example: Results, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Mine\n")
    with pytest.raises(StoreError, match=r"must have the marks .* once"):
        fill_readme(readme, overview_table(example, load_paper(), Comparisons(example)))
    assert readme.read_text() == "# Mine\n"
