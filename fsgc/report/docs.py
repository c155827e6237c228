"""The results as pages to read: `docs/results`, and a block of the README."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fsgc.errors import StoreError
from fsgc.files import replacing
from fsgc.report.figures.style import FigureSet
from fsgc.report.provenance import RUN_ALL
from fsgc.report.render import markdown
from fsgc.report.results import Results
from fsgc.report.table import Table
from fsgc.report.tables import write_tables

PAGE = "report.html"
_BLOCK = re.compile(r"(<!-- results: begin[^>]*-->\n).*?(<!-- results: end -->)", flags=re.DOTALL)


def write_docs(tables: Sequence[Table], results: Results, figures: FigureSet, directory: Path) -> list[Path]:
    """Write `README.md` with all tables that are not empty, the figures as `figures/*.svg`, the tables as `csv/`."""
    shown = [table for table in tables if not table.hint]
    empty = [table for table in tables if table.hint]
    titles = [*(table.title for table in shown), *(figure.title for figure in figures.figures)]
    cells = sum(len(result.cells) for result in results.found.values())
    lines = [
        "# Results",
        "",
        f"Written by `fsgc tables docs` from {cells} cells. [`{PAGE}`]({PAGE}) is the same as one page that shows the",
        "intervals, settings and origin of every accuracy; the tables as data are in [`csv/`](csv).",
        f"To change them, compute cells with `{RUN_ALL}` and write the pages again.",
        "",
        *(f"- [{title}](#{_anchor(title)})" for title in titles),
        "",
        "\n".join(markdown(table) for table in shown),
        *(f"## {f.title}\n\n![{f.title}](figures/{f.key}.svg)\n\n{f.caption}\n" for f in figures.figures),
    ]
    if empty:
        lines += ["## Not computed yet", "", *(f"- {table.title}" for table in empty), "", f"Run: `{RUN_ALL}`", ""]
    with replacing(directory / "figures") as partial:
        partial.mkdir()
        for figure in figures.figures:
            (partial / f"{figure.key}.svg").write_bytes(figure.svg())
    page = directory / "README.md"
    with replacing(page) as partial:
        partial.write_text("\n".join(lines), encoding="utf-8")
    with replacing(directory / "csv") as partial:
        partial.mkdir()
        written = write_tables(shown, partial, ("csv",))
    return [page, *(directory / "csv" / path.name for path in written)]


def fill_readme(readme: Path, table: Table) -> None:
    """Put a table between the two marks of the README, in place of what is there."""
    text = readme.read_text(encoding="utf-8")
    body = markdown(table).partition("\n\n")[2] if table.rows else f"{table.hint}\n"  # the README has a heading
    filled, count = _BLOCK.subn(lambda marks: f"{marks[1]}{body}{marks[2]}", text)
    if count != 1:
        raise StoreError(f"{readme} must have the marks <!-- results: begin --> and <!-- results: end --> once")
    with replacing(readme) as partial:
        partial.write_text(filled, encoding="utf-8")


def _anchor(title: str) -> str:
    """The fragment that Markdown renderers give to a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
