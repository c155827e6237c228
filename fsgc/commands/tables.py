"""`fsgc tables`: the paper's tables from the cells that are computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsgc.commands.console import print_table

if TYPE_CHECKING:
    from fsgc.report.cells import Cell, FaultyCell
    from fsgc.report.table import Table

cells_option = click.option(
    "--cells",
    "root",
    default="tables/cells",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the cells are.",
)


embed_option = click.option(
    "--embed/--no-embed", default=True, show_default=True, help="Embed stored test episodes by t-SNE."
)


def load_tables(root: Path) -> tuple[list[Cell | FaultyCell], list[Table]]:
    """The cells below a directory, and all tables of them."""
    from fsgc.report.cells import find_cells, workspace_of
    from fsgc.report.results import Results
    from fsgc.report.tables import all_tables

    cells = find_cells(root)
    return cells, all_tables(Results(cells), workspace_of(root))


@click.group()
def tables() -> None:
    """Show and write the paper's tables; cells that are not computed yet are gaps."""


@tables.command()
@click.argument("keys", nargs=-1, metavar="[TABLE]...")
@cells_option
def show(keys: tuple[str, ...], root: Path) -> None:
    """Print the tables named TABLE, or all.

    They are d_a, d_b, ablation, pooling, discriminant, other, columns, efficiency and datasets.

    \b
    Example:
      fsgc tables show d_a d_b
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.report.render import marks
    from fsgc.report.tables import choose

    for table in choose(load_tables(root)[1], keys):
        heads = [f"{h.over} {h.text}".strip() for h in table.headings]
        rows = [
            [row.title, *(("*" if value.best else "") + value.text + marks(value) for value in row.values)]
            for row in table.rows
        ]
        print_table(table.title, [table.label, *heads], rows, tuple(heads))
        for note in (table.hint, *table.notes):
            if note:
                click.echo(note.replace("Bold:", "*:"))
        click.echo()


@tables.command()
@click.argument("keys", nargs=-1, metavar="[TABLE]...")
@cells_option
@click.option("-o", "--out", default="tables/out", show_default=True, type=click.Path(path_type=Path), help="Where to.")
@click.option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["md", "tex", "csv"]),
    default=("md", "tex", "csv"),
    show_default=True,
    help="May be repeated.",
)
def write(keys: tuple[str, ...], root: Path, out: Path, formats: tuple[str, ...]) -> None:
    """Write the tables named TABLE, or all, as Markdown, LaTeX (booktabs, graphicx) and CSV.

    \b
    Example:
      fsgc tables write d_a -f tex -o paper/tables
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.report.tables import choose, write_tables

    for path in write_tables(choose(load_tables(root)[1], keys), out, formats):
        click.echo(path)


@tables.command()
@cells_option
@click.option("-o", "--out", default="docs/results", show_default=True, type=click.Path(path_type=Path))
@embed_option
def docs(root: Path, out: Path, embed: bool) -> None:
    """Write the results as pages to read: tables and figures, the report, and the table in README.md.

    \b
    Example:
      fsgc tables docs
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.report.build import build_docs

    readme = Path("README.md")
    for path in build_docs(root, out, readme if readme.exists() else None, embed):
        click.echo(path)
