"""`fsgc figures`: figures for papers, beyond those of the page."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.commands.tables import cells_option


@click.group()
def figures() -> None:
    """Draw figures as PNG and SVG; 'fsgc report --figures DIR' writes those of the page."""


@figures.command()
@click.argument("dataset")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("-k", "--shots", default=5, show_default=True, help="K, labelled graphs per class.")
@click.option(
    "-e",
    "--episode",
    "episodes",
    multiple=True,
    type=int,
    default=(0, 1, 2),
    show_default=True,
    help="Number of a test episode; may be repeated.",
)
@cells_option
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The files to write, without suffix.")
def tsne(dataset: str, models: tuple[str, ...], shots: int, episodes: tuple[int, ...], root: Path, out: Path) -> None:
    """Draw stored test episodes of DATASET as each MODEL embeds them: one row per episode, one column per model.

    \b
    Example:
      fsgc figures tsne triangles pn pn_tae_mu -e 0 -e 7 -o tsne     # tsne.png and tsne.svg
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.errors import StoreError
    from fsgc.report.cells import find_cells
    from fsgc.report.figures.collect_embeddings import draw_tsne
    from fsgc.report.figures.style import save_figure
    from fsgc.report.paper import load_paper
    from fsgc.report.project import Project
    from fsgc.report.results import Results

    results = Results(find_cells(root))
    absent = [model for model in models if results.result(dataset, shots, model) is None]
    if absent:
        raise StoreError(f"no result of {', '.join(absent)} on {dataset}, {shots}-shot, below {root}")
    drawing = draw_tsne(dataset, shots, models, episodes, results, load_paper(), Project(root))
    if drawing is None:
        raise StoreError(f"none of {', '.join(models)} has embeddings, or their model files are not stored")
    for path in save_figure(drawing, out):
        click.echo(path)


@figures.command()
@cells_option
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The files to write, without suffix.")
def reliability(root: Path, out: Path) -> None:
    """Draw how often predictions are right by how probable they were said to be, for all methods and datasets.

    \b
    Example:
      fsgc figures reliability -o reliability     # reliability.png and reliability.svg
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.errors import StoreError
    from fsgc.report.build import kept_beside
    from fsgc.report.cells import find_cells
    from fsgc.report.figures.collect import draw_reliability
    from fsgc.report.figures.style import save_figure
    from fsgc.report.paper import load_paper
    from fsgc.report.results import Results

    results = Results(find_cells(root))
    figure = draw_reliability(results, load_paper(), kept_beside(results, root).reliabilities)
    if isinstance(figure, str):
        raise StoreError(figure)
    for path in save_figure(figure.drawing, out):
        click.echo(path)
