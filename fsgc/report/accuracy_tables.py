"""The tables of accuracies: which rows and columns each of them has."""

from __future__ import annotations

from dataclasses import replace

from fsgc.experiment import OWN_FEATURES
from fsgc.methods.registry import METHODS
from fsgc.report.accuracy import filled, method_title
from fsgc.report.comparison import Comparisons
from fsgc.report.paper import SHOTS, Paper, PaperRow, TableSpec
from fsgc.report.results import Results
from fsgc.report.table import Table

FURTHER = "Further"  # the group of models that the paper does not have


def accuracy_table(key: str, spec: TableSpec, results: Results, paper: Paper, comparisons: Comparisons) -> Table:
    """A table of the paper, filled with what there is; published rows without a value here are left out.

    Methods with other node inputs than the datasets' own are not compared with these; see `inputs_tables`.
    """
    rows = [row for row in paper.rows_of(spec) if row.model or set(row.accuracies) & set(spec.datasets)]
    if spec.models:
        rows = [replace(row, group="") for row in rows]
    else:
        known = {row.model for row in paper.rows}
        here = [model for model in results.variants if model not in known and "-" not in model]
        rows += [
            PaperRow(method_title(model, paper), FURTHER, model=model)
            for model in here
            if any((*column, model) in results.found for column in spec.columns)
        ]
    return filled(key, spec.title, rows, spec.columns, results, paper, comparisons)


def inputs_tables(key: str, spec: TableSpec, results: Results, paper: Paper, comparisons: Comparisons) -> list[Table]:
    """The same table for each choice of node inputs other than the datasets' own that has results of its rows.

    It has the columns in which there are any. A table that compares certain rows is left out if it has few of them.
    """
    listed = {row.model for row in paper.rows_of(spec)} if spec.models else None
    least = len(listed) // 2 + 1 if listed else 1
    tables = []
    for features in sorted({result.features for result in results.found.values()} - {OWN_FEATURES}):
        here = [r for r in results.found.values() if r.features == features and (listed is None or r.model in listed)]
        columns = [column for column in spec.columns if column in {(r.dataset, r.shots) for r in here}]
        models = {r.model for r in here if (r.dataset, r.shots) in columns}
        if len(models) >= least:
            rows = [
                PaperRow(method_title(model, paper), "", model=f"{model}-{features}")
                for model in sorted(models, key=lambda model: _place(model, paper))
            ]
            title = f"{spec.title}, node inputs: {features}"
            table = filled(f"{key}-{features}", title, rows, columns, results, paper, comparisons)
            tables.append(replace(table, notes=(*table.notes, *_inputs_notes(spec, features, paper))))
    return tables


def _inputs_notes(spec: TableSpec, features: str, paper: Paper) -> list[str]:
    """What the node inputs are called, and which rows of a table there cannot be with them."""
    models = [row.model for row in paper.rows_of(spec) if row.model in METHODS]
    without = [method_title(model, paper) for model in models if not METHODS[model].takes_features]
    named = f"Node inputs: -S features={features}, see docs/datasets.md."
    if not without:
        return [named]
    return [f"{named} {'; '.join(without)}: not here, since they take no node inputs."]


def _place(variant: str, paper: Paper) -> tuple[int, str]:
    """What to sort methods by: the order of the paper's rows, others last."""
    order = [row.model for row in paper.rows]
    model = variant.partition("-")[0]
    return (order.index(model) if model in order else len(order), variant)


def other_table(results: Results, paper: Paper, comparisons: Comparisons) -> Table | None:
    """Cells on datasets or with shots that no table of the paper has; `None` if there are none."""
    shown = {column for spec in paper.tables.values() for column in spec.columns}
    columns = [column for column in results.columns if column not in shown]
    if not columns:
        return None
    here = [v for v in results.variants if any((*c, v) in results.found or (*c, v) in results.gaps for c in columns)]
    here.sort(key=lambda variant: _place(variant, paper))
    rows = [PaperRow(method_title(variant, paper), "", model=variant) for variant in here]
    return filled("other", "Other datasets and shots", rows, columns, results, paper, comparisons)


def overview_table(results: Results, paper: Paper, comparisons: Comparisons, shots: int = SHOTS[0]) -> Table:
    """One number of shots on all datasets of the paper, for the README: the models that have a result there.

    Variants and ablations of methods are left to the tables that are about them.
    """
    datasets = list(dict.fromkeys(dataset for spec in paper.tables.values() for dataset in spec.datasets))
    columns = [(dataset, shots) for dataset in datasets]
    here = {v for dataset, number, v in results.found if (dataset, number) in columns and "-" not in v}
    rows = [replace(row, group="") for row in paper.compared if row.model in here]
    rows += [PaperRow(method_title(m, paper), "", model=m) for m in sorted(here - {row.model for row in paper.rows})]
    return filled("overview", f"Accuracy with {shots} shots", rows, columns, results, paper, comparisons)
