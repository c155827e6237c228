"""The page from the cells: everything read, computed, drawn and written in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from fsgc.report.accuracy_tables import overview_table
from fsgc.report.cells import find_cells, workspace_of
from fsgc.report.comparison import Comparisons
from fsgc.report.curves import CURVES
from fsgc.report.details import page_data
from fsgc.report.docs import PAGE, fill_readme, write_docs
from fsgc.report.figures.collect import draw_results
from fsgc.report.figures.collect_embeddings import draw_latent_spaces
from fsgc.report.figures.embeddings import SEPARATION, TSNE
from fsgc.report.figures.style import FigureSet, save_figure
from fsgc.report.kept import FOLDER as KEPT
from fsgc.report.kept import Kept
from fsgc.report.page import write_page
from fsgc.report.paper import load_paper
from fsgc.report.project import Project
from fsgc.report.reliability import FILE as RELIABILITY
from fsgc.report.reliability import Reliabilities
from fsgc.report.results import Results
from fsgc.report.searches import SEARCH
from fsgc.report.tables import all_tables
from fsgc.tables.efficiency import FILE as EFFICIENCY
from fsgc.tables.efficiency import Measured


def build_report(root: Path, out: Path, figures: Path | None = None, embed: bool = True) -> str:
    """Write the page of the cells below `root`; what it holds, in a sentence.

    Args:
        root: where the cells are; none is a page that says what to run.
        out: the HTML file.
        figures: a directory to write the figures to as well, as PNG and SVG.
        embed: whether to load models and draw their embeddings of stored episodes; if not, those that were kept are.
    """
    results, paper, workspace = Results(find_cells(root)), load_paper(), workspace_of(root)
    comparisons, beside = Comparisons(results), kept_beside(results, root)
    tables = all_tables(results, workspace, comparisons, *beside, Project(root))
    shown = draw_all(results, root, embed, comparisons, beside)
    if figures is not None:
        for figure in shown.figures:
            save_figure(figure.drawing, figures / figure.key)
    write_page(out, results, tables, page_data(results, comparisons, paper, beside.kept), shown)
    return f"{len(results.found)} results from {len(results.cells)} cells, {len(shown.figures)} figures"


def build_docs(root: Path, directory: Path, readme: Path | None, embed: bool = True) -> list[Path]:
    """Write the pages of `docs/results`, the report among them, and the README's block; the files written.

    Args:
        root: where the cells are.
        directory: where to write.
        readme: a README with the marks that `fsgc.report.docs` looks for; `None` leaves it alone.
        embed: as for `build_report`.
    """
    results, paper, workspace = Results(find_cells(root)), load_paper(), workspace_of(root)
    comparisons, beside = Comparisons(results), kept_beside(results, root, "anew")
    tables = all_tables(results, workspace, comparisons, *beside, Project(root))
    figures = draw_all(results, root, embed, comparisons, beside)
    written = write_docs(tables, results, figures, directory)
    if beside.reliabilities.curves:
        beside.reliabilities.save(directory / RELIABILITY.name)
        written.append(directory / RELIABILITY.name)
    write_page(directory / PAGE, results, tables, page_data(results, comparisons, paper, beside.kept), figures)
    written += beside.kept.save(directory / KEPT.name, (cell for r in results.found.values() for cell in r.cells))
    if readme is not None:
        fill_readme(readme, overview_table(results, paper, comparisons))
        written.append(readme)
    return [*written, directory / PAGE]


class Beside(NamedTuple):
    """What is kept with the results in small files.

    Attributes:
        reliabilities: reliability curves.
        measured: what methods take.
        kept: numbers from models.
    """

    reliabilities: Reliabilities
    measured: Measured | None
    kept: Kept


def kept_beside(results: Results, root: Path, scores: Literal["anew", "missing", "never"] = "missing") -> Beside:
    """What is kept with the results of the cells below `root`; see `Reliabilities` for `scores`."""
    project = Project(root)
    return Beside(
        Reliabilities.of(results, project.kept(RELIABILITY), scores),
        Measured.load(project.kept(EFFICIENCY)),
        Kept(project.kept(KEPT), (CURVES, SEARCH, TSNE, SEPARATION)),
    )


def draw_all(
    results: Results, root: Path, embed: bool, comparisons: Comparisons | None = None, beside: Beside | None = None
) -> FigureSet:
    """The figures of the cells below `root`; with `embed`, models are loaded for those that need them."""
    paper, workspace, own = load_paper(), workspace_of(root), results.with_own_inputs()
    beside = beside or kept_beside(results, root)
    plain = draw_results(own, comparisons or Comparisons(results), paper, workspace, beside.reliabilities, beside.kept)
    latent = draw_latent_spaces(own, paper, Project(root), beside.kept, embed)
    return FigureSet(plain.figures + latent.figures, plain.gaps + latent.gaps)
