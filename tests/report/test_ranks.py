from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.report.cells import find_cells
from fsgc.report.ranks import ranking
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell


def test_results_are_ranked_by_their_means(cells_root: Path) -> None:
    means = {("enzymes", 5): (0.5, 0.6, 0.7), ("enzymes", 10): (0.5, 0.7, 0.9), ("reddit", 5): (0.4, 0.6, 0.5)}
    for number, (column, values) in enumerate(means.items()):
        for model, mean in zip(("wl", "pn", "gin"), values, strict=True):
            write_cell(cells_root, CellKey(*column, model, 0), outcomes(number, mean))
    write_cell(cells_root, CellKey("reddit", 5, "sp", 0), outcomes(9, 0.9))
    found = ranking(Results(find_cells(cells_root)))
    assert found is not None
    assert dict(zip(found.models, found.ranks, strict=True)) == pytest.approx({"gin": 1.5, "pn": 1.5, "wl": 3})
    assert ranking(Results([])) is None
