from __future__ import annotations

from pathlib import Path

from fsgc.report.accuracy_tables import FURTHER, inputs_tables, other_table
from fsgc.report.cells import find_cells
from fsgc.report.comparison import Comparisons
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell
from tests.report.made_tables import made_table, value_in


def test_a_table_of_some_models_and_shots_has_those_alone(example: Results) -> None:
    table = made_table(example, "no_cycles")
    assert [row.title for row in table.rows] == ["Discriminant without cycles", "Discriminant"]
    pn = made_table(example, "discriminant_pn")
    assert {(heading.over, heading.text) for heading in pn.headings} == {
        (title, "5-shot") for title in ("TRIANGLES", "Letter-High", "ENZYMES", "COIL-DEL")
    }


def test_models_and_datasets_that_the_paper_does_not_have(example: Results) -> None:
    table = made_table(example)
    assert [row.title for row in table.rows if row.group == FURTHER] == ["my_method"]
    assert value_in(table, "my_method", "ENZYMES", "5-shot").best_of.startswith("best of 3 of ")
    other = other_table(example, load_paper(), Comparisons(example))
    assert other is not None
    assert [(row.title, row.values[0].name) for row in other.rows] == [("PN", "triangles_gen-5shot-pn")]
    assert other_table(Results([]), load_paper(), Comparisons(Results([]))) is None


def test_other_inputs_have_tables_of_their_own(cells_root: Path) -> None:
    for place, (model, features) in enumerate((("pn", "dataset"), ("pn", "structural"), ("gin", "structural"))):
        write_cell(cells_root, CellKey("enzymes", 5, model, 0, features), outcomes(place, 0.6 + 0.1 * place))
    results, paper = Results(find_cells(cells_root)), load_paper()
    own = made_table(results)
    assert not any(value.best_of for row in own.rows for value in row.values), "a lone accuracy among its like"
    (table,) = inputs_tables("d_a", paper.tables["d_a"], results, paper, Comparisons(results))
    assert (table.key, [row.title for row in table.rows]) == ("d_a-structural", ["GIN", "PN"])
    best = value_in(table, "GIN", "ENZYMES", "5-shot")
    assert (best.best, best.paper, best.name) == (True, "", "enzymes-5shot-gin-structural")
    assert [f"{heading.over}, {heading.text}" for heading in table.headings] == ["ENZYMES, 5-shot"], "no empty columns"
    assert table.notes[-1] == (
        "Node inputs: -S features=structural, see docs/datasets.md. WL; SP; Graphlet; Discriminant: not here, "
        "since they take no node inputs."
    )
    assert inputs_tables("d_b", paper.tables["d_b"], results, paper, Comparisons(results)) == []
    assert inputs_tables("ablation", paper.tables["ablation"], results, paper, Comparisons(results)) == []
    for model in ("pn_mu", "pn_tae"):
        write_cell(cells_root, CellKey("enzymes", 5, model, 0, "structural"), outcomes(4, 0.6))
    results = Results(find_cells(cells_root))
    (ablation,) = inputs_tables("ablation", paper.tables["ablation"], results, paper, Comparisons(results))
    assert [row.title for row in ablation.rows] == ["PN", "PN+MU", "PN+TAE"], "only rows of that table"
