from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.report.cells import find_cells
from fsgc.report.ranks import ranking
from fsgc.report.scores import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import accuracies, write_cell


def test_results_are_ranked_by_their_means(tmp_path: Path) -> None:
    means = {("enzymes", 5): (0.5, 0.6, 0.7), ("enzymes", 10): (0.5, 0.7, 0.9), ("reddit", 5): (0.4, 0.6, 0.5)}
    for number, (column, values) in enumerate(means.items()):
        for model, mean in zip(("wl", "pn", "gin"), values, strict=True):
            write_cell(tmp_path, CellKey(*column, model, 0), accuracies(number, mean))
    write_cell(tmp_path, CellKey("reddit", 5, "sp", 0), accuracies(9, 0.9))
    found = ranking(Results(find_cells(tmp_path)))
    assert found is not None
    assert dict(zip(found.models, found.ranks, strict=True)) == pytest.approx({"gin": 1.5, "pn": 1.5, "wl": 3})
    assert ranking(Results([])) is None
