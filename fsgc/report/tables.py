"""All tables, and writing them."""

from __future__ import annotations

from pathlib import Path

from fsgc.errors import SettingsError
from fsgc.files import replacing
from fsgc.report.accuracy_tables import accuracy_table, inputs_tables, other_table
from fsgc.report.choices import choices_table, load_choices
from fsgc.report.columns import columns_table
from fsgc.report.comparison import Comparisons
from fsgc.report.cost import cost_table
from fsgc.report.efficiency import efficiency_table
from fsgc.report.kept import Kept
from fsgc.report.overview import dataset_table
from fsgc.report.paper import load_paper
from fsgc.report.project import Project
from fsgc.report.reliability import Reliabilities, calibration_table
from fsgc.report.render import csv, latex, markdown
from fsgc.report.results import Results
from fsgc.report.searches import search_table
from fsgc.report.table import Table
from fsgc.tables.efficiency import Measured
from fsgc.workspace import Workspace

WRITERS = {"md": markdown, "tex": latex, "csv": csv}


def all_tables(
    results: Results,
    workspace: Workspace,
    comparisons: Comparisons | None = None,
    reliabilities: Reliabilities | None = None,
    measured: Measured | None = None,
    kept: Kept | None = None,
    project: Project | None = None,
) -> list[Table]:
    """Every table, filled with what there is; gaps and empty tables included. What it cost needs a project."""
    paper, comparisons = load_paper(), comparisons or Comparisons(results)
    tables: list[Table] = []
    whole: list[Table] = []  # the tables of the paper that compare all methods, not a few
    for key, spec in paper.tables.items():
        tables.append(accuracy_table(key, spec, results, paper, comparisons))
        whole += [] if spec.models else tables[-1:]
        tables += inputs_tables(key, spec, results, paper, comparisons)
    other = other_table(results, paper, comparisons)
    further = (
        other,
        columns_table(whole, comparisons),
        search_table(results, paper, kept),
        calibration_table(results, paper, reliabilities or Reliabilities({})),
    )
    tables += [table for table in further if table]
    tables.append(choices_table(load_choices()))
    tables += [efficiency_table(results, paper, measured), dataset_table(paper, workspace)]
    return [*tables, cost_table(results, project, paper)] if project else tables


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
