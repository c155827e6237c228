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
    "--embed/--no-embed", default=True, show_default=True, help="Embed stored test episodes anew by t-SNE."
)


def load_tables(root: Path) -> tuple[list[Cell | FaultyCell], list[Table]]:
    """The cells below a directory, and all tables of them."""
    from fsgc.report.build import kept_beside
    from fsgc.report.cells import find_cells, workspace_of
    from fsgc.report.project import Project
    from fsgc.report.results import Results
    from fsgc.report.tables import all_tables

    cells = find_cells(root)
    results = Results(cells)
    beside = kept_beside(results, root, "never")
    return cells, all_tables(results, workspace_of(root), None, *beside, Project(root))


@click.group()
def tables() -> None:
    """Show and write the paper's tables; cells that are not computed yet are gaps."""


@tables.command()
@click.argument("keys", nargs=-1, metavar="[TABLE]...")
@cells_option
def show(keys: tuple[str, ...], root: Path) -> None:
    """Print the tables named TABLE, or all.

    There are d_a, d_b, ablation, pooling, variants, discriminant, discriminant_pn, no_cycles, those of other node
    features (d_a-structural, …), other, columns, search, calibration, choices, efficiency, datasets and cost.

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


@tables.command()
@click.option(
    "-d", "--dataset", "datasets", multiple=True, help="May be repeated; triangles and coil_del if not given."
)
@click.option("-m", "--model", "models", multiple=True, help="May be repeated; all methods but ablations if not given.")
@click.option(
    "-k", "--shots", default=5, show_default=True, type=click.IntRange(1), help="K, labelled graphs per class."
)
@click.option(
    "--budget", default=2.0, show_default=True, type=click.FloatRange(0.01), help="Seconds for each thing measured."
)
@click.option("--even-if-busy", is_flag=True, help="Measure although something else is computing.")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Default: docs/results/efficiency.json."
)
def efficiency(
    datasets: tuple[str, ...], models: tuple[str, ...], shots: int, budget: float, even_if_busy: bool, out: Path | None
) -> None:
    """Measure what methods take, alone on this machine and on one thread, for the efficiency table.

    One process per method, one after the other: what is done once for the dataset (a Gram matrix, super-classes,
    descriptors), training steps and validation, test episodes in batches and one by one, memory. Nothing is trained to
    the end: weights are untrained, and a training takes its steps times what a step takes. Timings of another commit
    or machine in the file are dropped.

    \b
    Example:
      fsgc tables efficiency -d triangles -m pn -m wl
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.tables.efficiency import DATASETS, FILE, MODELS, disturbed, refuse_if_busy, run

    if not even_if_busy:
        refuse_if_busy()
    file = out or FILE
    measured = run(datasets or DATASETS, models or MODELS, shots, budget, file, click.echo)
    if not_alone := disturbed(measured.timings):
        click.echo(f"something else was running while these were measured: {', '.join(not_alone)}")
    click.echo(f"{len(measured.timings)} timings written to {file}; 'fsgc tables docs' shows them")
