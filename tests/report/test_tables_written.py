from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

from fsgc.errors import SettingsError
from fsgc.report.cells import find_cells
from fsgc.report.figures.style import NamedFigure, house_style
from fsgc.report.results import Results
from fsgc.report.table import Table
from fsgc.report.tables import all_tables, choose, write_docs, write_tables
from fsgc.workspace import Workspace

KEYS = ["d_a", "d_b", "ablation", "pooling", "other", "efficiency", "datasets"]


@pytest.fixture(scope="module")
def tables(example: Results, tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    return all_tables(example, Workspace(tmp_path_factory.mktemp("data")))


def test_all_tables_are_there(tables: list[Table]) -> None:
    assert [table.key for table in tables] == KEYS
    assert [table.key for table in choose(tables, ("d_b", "d_a"))] == ["d_b", "d_a"]
    with pytest.raises(SettingsError, match="unknown table 'd_c'; there are: d_a, d_b, ablation"):
        choose(tables, ("d_c",))


def test_each_format_is_a_file(tables: list[Table], tmp_path: Path) -> None:
    written = write_tables(tables, tmp_path)
    assert {path.name for path in written} == {f"{key}.{suffix}" for key in KEYS for suffix in ("md", "tex", "csv")}
    assert pl.read_csv(tmp_path / "d_a.csv")["accuracy"].count() == 8


def test_the_pages_of_docs(tables: list[Table], example_root: Path, tmp_path: Path) -> None:
    cells = find_cells(example_root)
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "stale-5shot-pn-seed0.json").write_text("{}")
    with house_style():
        figures = [NamedFigure("ranks", "Average ranks", "Who is first.", Figure())]
    write_docs(tables, cells, figures, tmp_path)
    page = (tmp_path / "README.md").read_text()
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert headings == [table.title for table in tables if not table.hint] + ["Average ranks", "Not computed yet"]
    assert "![Average ranks](figures/ranks.svg)\n\nWho is first.\n" in page
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["ranks.svg"]
    assert "- Pooling: mean against mean and standard deviation" in page
    links = re.findall(r"\]\(#([^)]*)\)", page)
    assert links == [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings[:-1]]
    names = {path.name for path in (tmp_path / "metrics").iterdir()}
    assert names == {f"{cell.key.name}.json" for cell in cells if cell.state == "done"}, "and nothing stale"
    metrics = json.loads((tmp_path / "metrics" / "triangles-5shot-wl-seed0.json").read_text())
    assert f"{100 * metrics['accuracy']:.2f} ± " in page
