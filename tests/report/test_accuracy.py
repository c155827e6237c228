from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from fsgc.report.accuracy import FURTHER, accuracy_table, mark, other_table, signed
from fsgc.report.cells import find_cells
from fsgc.report.comparison import Comparisons
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.table import Table, Value
from fsgc.tables.grid import CellKey
from tests.report.made_cells import accuracies, write_cell


def _table(results: Results, key: str = "d_a") -> Table:
    paper = load_paper()
    return accuracy_table(key, paper.tables[key], results, paper, Comparisons(results))


def _value(table: Table, title: str, over: str, text: str) -> Value:
    place = next(i for i, h in enumerate(table.headings) if (h.over, h.text) == (over, text))
    return next(row for row in table.rows if row.title == title).values[place]


def test_an_accuracy_stands_beside_the_papers(example: Results) -> None:
    table = _table(example)
    value = _value(table, "PN (t)", "TRIANGLES", "5-shot")
    both = (accuracies(0, 0.8) + accuracies(1, 0.8)) / 2
    half = stats.norm.ppf(0.975) * stats.sem(both)
    assert value.text == f"{100 * both.mean():.2f}"
    assert value.interval == f"{100 * half:.2f}"
    assert value.seeds == f"{100 * np.std([accuracies(s, 0.8).mean() for s in (0, 1)], ddof=1):.2f}"
    assert (value.paper, value.difference) == ("86.64", f"{100 * both.mean() - 86.64:+.1f}".replace("-", "−"))
    row = table.frame.filter(pl.col("model") == "pn", pl.col("dataset") == "triangles", pl.col("shots") == 5)
    assert row["difference"].item() == pytest.approx(100 * both.mean() - 86.64)
    assert row["seeds"].item() == 2


def test_only_the_best_is_bold_and_only_ties_are_marked(example: Results) -> None:
    table = _table(example)
    best, loser, last = (_value(table, title, "TRIANGLES", "5-shot") for title in ("PN+TAE+MU", "PN (t)", "WL"))
    assert (best.best, best.tie, loser.best, loser.tie, last.tie) == (True, False, False, False, False)
    tied = [_value(table, title, "TRIANGLES", "10-shot") for title in ("PN (t)", "PN+TAE+MU")]
    assert sum(value.best for value in tied) == 1
    assert sum(value.tie for value in tied) == 1, "0.85 and 0.855 over 200 episodes cannot be told apart"


def test_holms_correction_is_over_the_whole_table(tmp_path: Path) -> None:
    """A difference that is significant alone, at 1 to 5 %, is not among five others that are not."""
    base = accuracies(0, 0.72)
    others = (accuracies(seed, 0.68) for seed in range(1, 500))
    shifted = next(o for o in others if o.mean() < base.mean() and 0.01 < stats.ttest_rel(base, o).pvalue < 0.04)
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), base)
    write_cell(tmp_path, CellKey("enzymes", 5, "wl", 0), shifted)
    alone = Results(find_cells(tmp_path))
    assert mark([alone.column("enzymes", 5)], Comparisons(alone)).tied == frozenset()
    for number, dataset in enumerate(("triangles", "reddit", "letter_high", "graph_r52", "coil_del")):
        for place, model in enumerate(("pn", "wl")):
            write_cell(tmp_path, CellKey(dataset, 5, model, 0), accuracies(10 * number + place, 0.7))
    results = Results(find_cells(tmp_path))
    columns = [results.column(*column) for column in results.columns]
    assert "enzymes-5shot-wl" in mark(columns, Comparisons(results)).tied


def test_a_lone_accuracy_is_not_the_best_of_anything(tmp_path: Path) -> None:
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), accuracies(0, 0.7))
    assert not _value(_table(Results(find_cells(tmp_path))), "PN", "ENZYMES", "5-shot").best


def test_columns_of_different_episodes_are_not_marked(tmp_path: Path) -> None:
    write_cell(tmp_path, CellKey("enzymes", 5, "pn", 0), accuracies(0, 0.7))
    write_cell(tmp_path, CellKey("enzymes", 5, "wl", 0), accuracies(1, 0.4), queries=4)
    table = _table(Results(find_cells(tmp_path)))
    assert not any(value.best or value.tie for row in table.rows for value in row.values)
    assert any(
        "enzymes-5shot-pn and enzymes-5shot-wl were tested on different episodes" in note for note in table.notes
    )
    assert any("ENZYMES 4/5 (5-shot)" in note for note in table.notes), "the Q used is stated, whatever it is"


def test_gaps_are_gaps_and_say_why(example: Results) -> None:
    table = _table(example)
    failed = _value(table, "MAML", "Reddit", "5-shot")
    assert (failed.text, failed.is_gap, failed.paper, failed.name) == ("failed", True, "26.0", "reddit-5shot-maml")
    missing = _value(table, "WL", "Reddit", "5-shot")
    assert (missing.text, missing.is_gap, missing.paper, missing.name) == ("—", True, "29.3", "")
    assert any(
        note.startswith("MAML on Reddit, 5-shot, failed: seed 0: the loss is not finite") for note in table.notes
    )
    assert not table.hint
    assert "unfinished" in _table(example, "d_b").frame["state"].to_list()


def test_an_empty_table_says_what_to_run() -> None:
    table = _table(Results([]))
    assert "fsgc tables run" in table.hint
    assert _value(table, "WL", "TRIANGLES", "5-shot").paper == "59.3"
    assert table.frame["accuracy"].null_count() == len(table.frame)


def test_models_and_datasets_that_the_paper_does_not_have(example: Results) -> None:
    table = _table(example)
    assert [row.title for row in table.rows if row.group == FURTHER] == ["my_method"]
    assert _value(table, "my_method", "ENZYMES", "5-shot").best
    other = other_table(example, load_paper(), Comparisons(example))
    assert other is not None
    assert [(row.title, row.values[0].name) for row in other.rows] == [("PN", "triangles_gen-5shot-pn")]
    assert other_table(Results([]), load_paper(), Comparisons(Results([]))) is None


def test_transductive_methods_are_shown_as_such(example: Results) -> None:
    table = _table(example)
    assert [row.title for row in table.rows if row.title.endswith("(t)")] == ["PN (t)"]
    assert any(note.startswith("(t): transductive") for note in table.notes)


def test_footers_name_protocol_q_seeds_versions_and_commit(example: Results) -> None:
    notes = "\n".join(_table(example).notes)
    for text in (
        "200 stored test episodes",
        "TRIANGLES 2-way",
        "TRIANGLES 5 (5-shot), 5 (10-shot)",
        "Training seeds: 0, 1; 1 of 8 accuracies are means over several seeds",
        "Written by fsgc ",
        ", commit ",
    ):
        assert text in notes


@pytest.mark.parametrize(("number", "text"), [(1.26, "+1.3"), (-1.26, "−1.3"), (-0.04, "0.0"), (0.0, "0.0")])
def test_signs(number: float, text: str) -> None:
    assert signed(number) == text
