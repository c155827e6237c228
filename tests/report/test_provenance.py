from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from fsgc.report.cells import find_cells
from fsgc.report.provenance import (
    cell_command,
    commit_in_words,
    dataset_title,
    origin_notes,
    plain_commands,
    seed_notes,
)
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell


@pytest.mark.parametrize(
    ("commits", "threads", "told"),
    [
        (("abc", "abc"), (1, 1), "Cells computed at commit abc, with 1 thread."),
        (("abc", "def+"), (1, 2), "Cells computed at 2 commits, with 1 or 2 threads."),
        (("abc", ""), (2, None), "Cells computed at commit abc, with 2 threads."),
    ],
)
def test_where_results_come_from(
    cells_root: Path, commits: tuple[str, str], threads: tuple[int, int | None], told: str
) -> None:
    for seed in range(2):
        key = CellKey("enzymes", 5, "pn", seed)
        write_cell(cells_root, key, outcomes(seed, 0.7), commit=commits[seed], threads=threads[seed])
    notes = origin_notes(list(Results(find_cells(cells_root)).found.values()))
    assert notes[0] == told
    assert notes[1].startswith(f"Written by fsgc {version('fsgc')}, ")


def test_names() -> None:
    key = CellKey("reddit", 10, "gsm", 2, "structural")
    assert cell_command(key) == "fsgc tables run --only reddit-10shot-gsm-structural-seed2"
    assert plain_commands(key).startswith("fsgc train gsm reddit -k 10 --seed 2 --features structural -o ")
    assert (dataset_title("coil_del"), dataset_title("gone")) == ("COIL-DEL", "gone")
    words = [commit_in_words(text) for text in ("", "abc", "abc+")]
    assert words == ["unknown commit", "commit abc", "commit abc, with uncommitted changes"]


def test_a_table_says_how_many_seeds_each_row_has() -> None:
    assert seed_notes({"PN": [5, 5], "GIN": [3, 1], "WL": [1], "GAT": [1, 3], "FAITH": []}) == [
        "Number of training seeds averaged: 5 (PN), 1 to 3 (GIN; GAT), 1 (WL)."
    ]
    assert seed_notes({"PN": [1, 1], "GIN": []}) == ["Every accuracy is of one training seed."]
    assert seed_notes({"PN": []}) == []
