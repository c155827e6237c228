from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from fsgc.report.accuracy import signed
from fsgc.report.cells import Cell, find_cells
from fsgc.report.comparison import Comparisons
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell
from tests.report.made_tables import made_table, value_in


def test_an_accuracy_stands_beside_the_papers_with_its_intervals(example: Results) -> None:
    table = made_table(example)
    value = value_in(table, "PN (t)", "TRIANGLES", "5-shot")
    mean = 100 * np.mean([outcomes(seed, 0.8) for seed in range(3)])
    intervals = Comparisons(example).column("triangles", 5).panel.intervals("pn")
    assert value.text == f"{mean:.2f}"
    assert value.interval == f"{50 * (intervals.default.high - intervals.default.low):.2f}"
    assert (value.paper, value.difference) == ("86.64", f"{mean - 86.64:+.1f}".replace("-", "−"))
    row = table.frame.filter(pl.col("model") == "pn", pl.col("dataset") == "triangles", pl.col("shots") == 5)
    assert row["difference"].item() == pytest.approx(mean - 86.64)
    assert (row["seeds"].item(), row["seeds_from"].item()) == (3, "own")
    per_episode = np.mean([outcomes(seed, 0.8) for seed in range(3)], axis=(0, 2))
    assert row["interval_episodes"].item() == pytest.approx(100 * stats.norm.ppf(0.975) * stats.sem(per_episode))
    assert row["interval"].item() > row["interval_episodes"].item(), "graphs and seeds vary too"


def test_the_best_of_a_column_with_gaps_says_of_how_many(example: Results) -> None:
    table = made_table(example)
    best, loser, last = (value_in(table, title, "TRIANGLES", "5-shot") for title in ("PN+TAE+MU", "PN (t)", "WL"))
    rows = sum(row.model != "" for row in load_paper().rows_of(load_paper().tables["d_a"])) + 1
    assert (best.best, best.best_of) == (False, f"best of 3 of {rows}"), "with my_method"
    assert not any(value.tie or value.best or value.best_of for value in (loser, last))
    tied = [value_in(table, title, "TRIANGLES", "10-shot") for title in ("PN (t)", "PN+TAE+MU")]
    assert sorted(value.best_of for value in tied) == ["", f"best of 2 of {rows}"]
    assert sum(value.tie for value in tied) == 1, "0.85 and 0.855 over 600 episodes cannot be told apart"


def test_only_the_best_of_a_whole_column_is_bold(cells_root: Path) -> None:
    for place, model in enumerate(("untrained", "pn_tae_mu", "pn_tae_mu_mean_std")):
        write_cell(cells_root, CellKey("coil_del", 5, model, 0), outcomes(place, 0.5 + 0.15 * place))
    table = made_table(Results(find_cells(cells_root)), "pooling")
    marks = [(row.values[2].best, row.values[2].best_of) for row in table.rows]
    assert marks == [(False, ""), (False, ""), (True, "")]


def test_a_lone_accuracy_is_not_the_best_of_anything(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    value = value_in(made_table(Results(find_cells(cells_root))), "PN", "ENZYMES", "5-shot")
    assert (value.best, value.best_of) == (False, "")


def test_stale_accuracies_are_marked(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    (cell,) = find_cells(cells_root)
    assert isinstance(cell, Cell)
    table = made_table(Results([replace(cell, stale=("train.max_epochs was 3, is 4",))]))
    assert value_in(table, "PN", "ENZYMES", "5-shot").stale
    assert "stale" in table.frame["state"].to_list()
    assert any(note.startswith("†: stale") for note in table.notes)


def test_columns_of_different_episodes_are_not_marked(cells_root: Path) -> None:
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7))
    write_cell(cells_root, CellKey("enzymes", 5, "wl", 0), outcomes(1, 0.4), test_episodes="other")
    table = made_table(Results(find_cells(cells_root)))
    assert not any(value.best or value.best_of or value.tie for row in table.rows for value in row.values)
    assert any(
        "enzymes-5shot-pn and enzymes-5shot-wl were tested on different episodes" in note for note in table.notes
    )


def test_a_column_for_orientation_has_no_difference_to_the_paper(cells_root: Path) -> None:
    for place, dataset in enumerate(("graph_r52", "coil_del")):
        write_cell(cells_root, CellKey(dataset, 5, "pn", 0), outcomes(place, 0.7))
    table = made_table(Results(find_cells(cells_root)), "d_b")
    recreated, same = (value_in(table, "PN", over, "5-shot") for over in ("Graph-R52 (re-created)", "COIL-DEL"))
    assert (bool(recreated.paper), recreated.difference) == (True, "")
    assert same.difference
    assert any(note.startswith("Graph-R52 is re-created") for note in table.notes)


def test_remarks_on_rows_stand_below_the_tables_that_have_their_published_accuracies(cells_root: Path) -> None:
    for place, model in enumerate(("smf_gin", "faith", "pn")):
        write_cell(cells_root, CellKey("triangles", 5, model, 0), outcomes(place, 0.7))
    results = Results(find_cells(cells_root))
    table = made_table(results)
    told = [note.split(":")[0] for note in table.notes if "the published accurac" in note]
    assert told == ["SMF-GIN", "FAITH"]
    for key in ("d_b", "ablation", "pooling"):
        assert not any("published accurac" in note for note in made_table(results, key).notes)
    smf_gin, faith = (value_in(table, title, "TRIANGLES", "5-shot") for title in ("SMF-GIN", "FAITH"))
    assert (smf_gin.paper, smf_gin.difference) == ("79.8", ""), "on another split there is no difference to speak of"
    assert faith.paper == "79.5"
    assert faith.difference


def test_gaps_are_gaps_and_say_why(example: Results) -> None:
    table = made_table(example)
    failed = value_in(table, "MAML", "Reddit", "5-shot")
    assert (failed.text, failed.is_gap, failed.paper, failed.name) == ("failed", True, "26.0", "reddit-5shot-maml")
    missing = value_in(table, "WL", "Reddit", "5-shot")
    assert (missing.text, missing.is_gap, missing.paper, missing.name) == ("—", True, "29.3", "")
    assert any(
        note.startswith("MAML on Reddit, 5-shot, failed: seed 0: the loss is not finite") for note in table.notes
    )
    assert not table.hint
    other = made_table(example, "d_b")
    assert {"missing", "damaged"} <= set(other.frame["state"].to_list())
    assert any("metrics.json is damaged: accuracy: input should be a valid number" in note for note in other.notes)


def test_an_empty_table_says_what_to_run() -> None:
    table = made_table(Results([]))
    assert "fsgc tables run" in table.hint
    assert value_in(table, "WL", "TRIANGLES", "5-shot").paper == "59.3"
    assert table.frame["accuracy"].null_count() == len(table.frame)


def test_transductive_methods_are_shown_as_such(example: Results) -> None:
    table = made_table(example)
    assert [row.title for row in table.rows if row.title.endswith("(t)")] == ["PN (t)"]
    assert any(note.startswith("(t): transductive") for note in table.notes)


def test_footers_name_protocol_q_seeds_versions_and_commit(example: Results) -> None:
    notes = "\n".join(made_table(example).notes)
    for text in (
        "600 stored test episodes",
        "TRIANGLES 2-way",
        "TRIANGLES 5 (5-shot), 5 (10-shot)",
        "Number of training seeds averaged: 1 to 3 (PN), 1 (",
        "Cells computed at commit 0a1b2c3d4e5f, with 1 thread.",
        "Written by fsgc ",
        ", commit ",
    ):
        assert text in notes


@pytest.mark.parametrize(("number", "text"), [(1.26, "+1.3"), (-1.26, "−1.3"), (-0.04, "0.0"), (0.0, "0.0")])
def test_signs(number: float, text: str) -> None:
    assert signed(number) == text
