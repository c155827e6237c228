"""All tables, and writing them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fsgc.errors import SettingsError
from fsgc.files import replacing
from fsgc.report.accuracy import accuracy_table, other_table
from fsgc.report.cells import Cell, State
from fsgc.report.comparison import Comparisons
from fsgc.report.overview import dataset_table, efficiency_table
from fsgc.report.paper import load_paper
from fsgc.report.provenance import RUN_ALL
from fsgc.report.render import csv, latex, markdown
from fsgc.report.results import Results
from fsgc.report.table import Table
from fsgc.workspace import Workspace

if TYPE_CHECKING:
    from fsgc.report.figures.style import NamedFigure

WRITERS = {"md": markdown, "tex": latex, "csv": csv}


def all_tables(results: Results, workspace: Workspace, comparisons: Comparisons | None = None) -> list[Table]:
    """Every table, filled with what there is; gaps and empty tables included."""
    paper, comparisons = load_paper(), comparisons or Comparisons(results)
    tables = [accuracy_table(key, spec, results, paper, comparisons) for key, spec in paper.tables.items()]
    other = other_table(results, paper, comparisons)
    if other:
        tables.append(other)
    return [*tables, efficiency_table(results, paper), dataset_table(paper, workspace)]


def choose(tables: list[Table], keys: tuple[str, ...]) -> list[Table]:
    """The tables named, or all; an unknown name is an error that lists what there is."""
    by_key = {table.key: table for table in tables}
    for key in keys:
        if key not in by_key:
            raise SettingsError(f"unknown table {key!r}; there are: {', '.join(by_key)}")
    return [by_key[key] for key in keys] if keys else tables


def write_tables(tables: list[Table], directory: Path, formats: tuple[str, ...] = tuple(WRITERS)) -> list[Path]:
    """Write each table in each format; the files written."""
    written = []
    for table in tables:
        for suffix in formats:
            path = directory / f"{table.key}.{suffix}"
            with replacing(path) as partial:
                partial.write_text(WRITERS[suffix](table), encoding="utf-8")
            written.append(path)
    return written


def write_docs(tables: list[Table], cells: list[Cell], figures: list[NamedFigure], directory: Path) -> list[Path]:
    """Write the results as pages to read: all tables that are not empty, and the metrics they came from.

    `README.md` has the tables and, from `figures/`, the figures; `metrics/` the metrics of every cell that is done,
    `csv/` the tables as data.
    """
    shown = [table for table in tables if not table.hint]
    empty = [table for table in tables if table.hint]
    done = [cell for cell in cells if cell.state is State.DONE]
    lines = [
        "# Results",
        "",
        f"Written by `fsgc tables docs` from {len(done)} cells.",
        "Their metrics are in [`metrics/`](metrics), the tables as data in [`csv/`](csv).",
        f"To change them, compute cells with `{RUN_ALL}` and write the page again.",
        "",
        *(
            f"- [{title}](#{_anchor(title)})"
            for title in [*(table.title for table in shown), *(figure.title for figure in figures)]
        ),
        "",
        "\n".join(markdown(table) for table in shown),
        *(f"## {f.title}\n\n![{f.title}](figures/{f.key}.svg)\n\n{f.caption}\n" for f in figures),
    ]
    if empty:
        lines += ["## Not computed yet", "", *(f"- {table.title}" for table in empty), "", f"Run: `{RUN_ALL}`", ""]
    page = directory / "README.md"
    with replacing(directory / "metrics") as partial:
        partial.mkdir()
        for cell in done:
            shutil.copyfile(cell.path / "metrics.json", partial / f"{cell.key.name}.json")
    with replacing(directory / "figures") as partial:
        partial.mkdir()
        for figure in figures:
            (partial / f"{figure.key}.svg").write_bytes(figure.svg())
    with replacing(page) as partial:
        partial.write_text("\n".join(lines), encoding="utf-8")
    return [page, *write_tables(shown, directory / "csv", ("csv",))]


def _anchor(title: str) -> str:
    """The fragment that Markdown renderers give to a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
