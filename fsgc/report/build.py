"""The page from the cells: everything read, computed, drawn and written in one go."""

from __future__ import annotations

from pathlib import Path

from fsgc.report.cells import find_cells, workspace_of
from fsgc.report.comparison import Comparisons
from fsgc.report.details import page_data
from fsgc.report.figures.collect import draw_latent_spaces, draw_results
from fsgc.report.figures.style import NamedFigure, save_figure
from fsgc.report.page import write_page
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.tables import all_tables


def build_report(root: Path, out: Path, figures: Path | None = None, embed: bool = True) -> str:
    """Write the page of the cells below `root`; what it holds, in a sentence.

    Args:
        root: where the cells are; none is a page that says what to run.
        out: the HTML file.
        figures: a directory to write the figures to as well, as PNG and SVG.
        embed: whether to load models and draw their embeddings of stored episodes.
    """
    results, paper, workspace = Results(find_cells(root)), load_paper(), workspace_of(root)
    comparisons = Comparisons(results)
    tables = all_tables(results, workspace, comparisons)
    shown = draw_all(results, root, embed)
    if figures is not None:
        for figure in shown:
            save_figure(figure.drawing, figures / figure.key)
    write_page(out, results, tables, page_data(results, comparisons, paper, workspace), shown)
    return f"{len(results.found)} results from {len(results.cells)} cells, {len(shown)} figures"


def draw_all(results: Results, root: Path, embed: bool) -> list[NamedFigure]:
    """The figures of the cells below `root`; with `embed`, those for which models are loaded as well."""
    paper, workspace = load_paper(), workspace_of(root)
    latent = draw_latent_spaces(results, paper, workspace) if embed else []
    return draw_results(results, paper, workspace) + latent
