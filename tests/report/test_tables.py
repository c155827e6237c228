from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fsgc.errors import SettingsError
from fsgc.report.results import Results
from fsgc.report.table import Table
from fsgc.report.tables import all_tables, choose, write_tables
from fsgc.workspace import Workspace

KEYS = [
    *("d_a", "d_b", "ablation", "pooling", "variants", "discriminant", "discriminant_pn", "no_cycles"),
    *("other", "columns", "choices", "efficiency", "datasets"),
]


@pytest.fixture(scope="module")
def tables(example: Results, tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    return all_tables(example, Workspace(tmp_path_factory.mktemp("data")))


def test_all_tables_are_there(tables: list[Table]) -> None:
    assert [table.key for table in tables] == KEYS
    assert [table.key for table in choose(tables, ("d_b", "d_a"))] == ["d_b", "d_a"]
    with pytest.raises(SettingsError, match="unknown table 'd_c'; there are: d_a, d_b, ablation"):
        choose(tables, ("d_c",))


def test_each_format_is_a_file(tables: list[Table], tmp_path: Path) -> None:
    written = write_tables(tables, tmp_path)
    assert {path.name for path in written} == {f"{key}.{suffix}" for key in KEYS for suffix in ("md", "tex", "csv")}
    assert pl.read_csv(tmp_path / "d_a.csv")["accuracy"].count() == 8
