"""`fsgc report`: all results on one page."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.commands.tables import cells_option, embed_option


@click.command()
@cells_option
@click.option("-o", "--out", default="report.html", show_default=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--figures", type=click.Path(file_okay=False, path_type=Path), help="Also write the figures as PNG and SVG here."
)
@embed_option
def report(root: Path, out: Path, figures: Path | None, embed: bool) -> None:
    """Write all results as one HTML file: tables, details of every accuracy, paired comparisons, figures.

    The page needs no network and no other file. What has not been computed yet is a gap.

    \b
    Example:
      fsgc report -o results.html --figures figures
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.report.build import build_report

    summary = build_report(root, out, figures, embed)
    click.echo(f"{summary}\nwritten to {out}")
