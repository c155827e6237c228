"""Tables of accuracies made from cells, and what stands where in them."""

from __future__ import annotations

from fsgc.report.accuracy_tables import accuracy_table
from fsgc.report.comparison import Comparisons
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.table import Table, Value


def made_table(results: Results, key: str = "d_a") -> Table:
    paper = load_paper()
    return accuracy_table(key, paper.tables[key], results, paper, Comparisons(results))


def value_in(table: Table, title: str, over: str, text: str) -> Value:
    place = next(i for i, h in enumerate(table.headings) if (h.over, h.text) == (over, text))
    return next(row for row in table.rows if row.title == title).values[place]
