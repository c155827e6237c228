from __future__ import annotations

import math

import numpy as np
import pytest

from fsgc.data.catalog import load_catalog
from fsgc.methods.registry import METHODS
from fsgc.report.paper import SHOTS, PaperRow, load_paper
from fsgc.tables.plan import load_works

# The column "mean" of the paper's own tables: a check sum over each row, 5-shot and 10-shot. GIN's 10-shot mean of D_B
# is left out: the paper prints 74.4 where its own columns give 70.2.
MEANS = {
    "d_a": {
        "WL": (53.3, 57.5),
        "SP": (59.5, 63.0),
        "Graphlet": (51.5, 56.0),
        "MAML": (59.0, 63.5),
        "AS-MAML": (57.4, 61.9),
        "FAITH": (62.9, 66.5),
        "GIN": (63.6, 66.8),
        "GAT": (62.4, 64.2),
        "GCN": (62.8, 65.7),
        "GSM (published)": (59.5, 63.8),
        "GSM": (62.4, 65.4),
        "PN+TAE+MU": (66.8, 68.7),
    },
    "d_b": {
        "WL": (72.4, 77.7),
        "SP": (61.9, 67.2),
        "Graphlet": (57.5, 59.8),
        "MAML": (70.8, 74.4),
        "AS-MAML (published)": (78.4, 81.5),
        "AS-MAML": (74.7, 76.0),
        "GIN": (69.8, math.nan),
        "GAT": (77.2, 79.1),
        "GCN": (75.1, 75.6),
        "GSM": (72.6, 75.4),
        "PN": (79.3, 82.6),
        "PN+MU": (79.45, 82.95),
        "PN+TAE": (82.1, 85.0),
        "PN+TAE+MU": (82.8, 86.0),
    },
}


@pytest.mark.parametrize("key", list(MEANS))
def test_rows_add_up_to_the_papers_means(key: str) -> None:
    paper = load_paper()
    spec = paper.tables[key]
    rows = {row.title: row for row in paper.rows_of(spec)}
    for title, means in MEANS[key].items():
        for shots, mean in zip(SHOTS, means, strict=True):
            values = [rows[title].accuracy(dataset, shots) or math.nan for dataset in spec.datasets]
            if not math.isnan(mean):
                # The paper rounds its means down or up; the furthest is 68.625, printed as 68.7.
                assert np.mean(values) == pytest.approx(mean, abs=0.0751), (title, shots)


def test_everything_refers_to_datasets_that_exist() -> None:
    paper = load_paper()
    named = {d for spec in paper.tables.values() for d in spec.datasets} | {
        d for row in paper.rows for d in row.accuracies
    }
    timed = {d for table in (paper.training, paper.inference) for pairs in table.values() for d in pairs}
    remarked = {d for remark in paper.remarks for d in remark.datasets}
    assert named | timed | set(paper.datasets) | remarked <= set(load_catalog())
    assert {model for spec in paper.tables.values() for model in spec.models} <= {row.model for row in paper.rows}
    models = [row.model for row in paper.rows if row.model]
    assert len(set(models)) == len(models)
    assert set(models) <= set(METHODS)
    assert {model for remark in paper.remarks for model in remark.models} <= set(models)


def test_what_the_paper_does_not_report_is_none() -> None:
    paper = load_paper()
    pn = paper.row_of("pn")
    assert pn is not None
    assert (pn.accuracy("triangles", 5), pn.accuracy("triangles", 10), pn.accuracy("reddit", 5)) == (86.64, None, None)
    assert pn.accuracy("triangles", 1) is None
    assert paper.row_of("my_method") is None
    assert paper.training_seconds("pn_tae_mu", "graph_r52", 5) == 24 * 60 + 9
    assert paper.episode_seconds("wl", "graph_r52", 5) is None


def test_remarks_are_on_accuracies_that_the_paper_reports() -> None:
    paper = load_paper()
    rows = [row for model in ("faith", "smf_gin", "faith_inductive", "gin", "wl") if (row := paper.row_of(model))]
    faith, smf_gin, inductive, gin, wl = rows

    def begins(rows: list[PaperRow], *datasets: str) -> list[str]:
        return [text.split(":")[0] for text in paper.remarks_on(rows, datasets)]

    of_norms = "MAML, GIN and prototypical rows"
    assert begins(rows, "triangles", "triangles") == [of_norms, "Transfer", "SMF-GIN", "FAITH"]
    assert begins(rows, "enzymes") == [of_norms, "Transfer", "FAITH"], "SMF-GIN's is of TRIANGLES only"
    assert begins(rows, "coil_del") == ["COIL-DEL", of_norms, "Transfer"]
    assert begins([inductive], "triangles", "coil_del") == []
    assert begins([wl, faith], "graph_r52", "reddit")[1:] == ["Training on Reddit", "FAITH"]
    assert begins([gin], "reddit") == [of_norms, "Transfer", "GIN on Reddit"]
    assert "best test accuracies" in paper.remarks_on([faith], ["triangles"])[0]
    assert "another split" in paper.remarks_on([smf_gin], ["triangles"])[0]
    assert [paper.is_comparable(row, "triangles") for row in rows] == [True, False, True, True, True]
    assert not any(paper.is_comparable(row, "graph_r52") for row in rows)


def test_the_tables_show_what_is_planned_and_nothing_else() -> None:
    paper = load_paper()
    shown = {
        (row.model, *column) for spec in paper.tables.values() for row in paper.rows_of(spec) for column in spec.columns
    }
    planned = {(work.cell.model, work.cell.dataset, work.cell.shots) for work in load_works()}
    assert {each for each in shown if each[0]} == planned


def test_variants_and_ablations_are_not_among_the_methods_compared() -> None:
    models = {row.model for row in load_paper().compared}
    assert {"pn", "pn_tae_mu_mean_std", "faith", "smf_gin", "discriminant", "untrained"} <= models
    assert not models & {"faith_inductive", "smf_gin_local", "discriminant_pn", "head_pn", "discriminant_no_cycles"}
