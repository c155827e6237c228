from __future__ import annotations

import os
import shutil
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import sync_playwright

from fsgc.report.build import build_report
from fsgc.report.cells import Cell, find_cells
from fsgc.report.comparison import Comparisons
from fsgc.report.details import result_details
from fsgc.report.figures.discriminant import EXPLANATION, draw_discriminant, draw_searches
from fsgc.report.kept import Kept
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.searches import SEARCH as KEPT_SEARCH
from fsgc.report.searches import search_of, search_table
from fsgc.report.tables import all_tables
from fsgc.tables.grid import CellKey
from fsgc.training.model_file import write_model
from fsgc.workspace import Workspace
from tests.report.made_cells import outcomes, write_cell

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
# The second step is as good as the last, but was only screened: what is taken is the fourth.
SEARCH: list[dict[str, Any]] = [
    {"views": "paths (norm)", "gamma": 0.0, "epsilon": 0.0, "rho": 0.0, "tau": inf, "accuracy": 0.5, "best": 0.5},
    {"views": "nodes (plain)", "gamma": 0.5, "epsilon": 0.1, "rho": 0.1, "tau": 0.3, "accuracy": 0.7, "best": 0.5},
    {"views": "labels (plain)", "gamma": 0.5, "epsilon": 0.1, "rho": 0.0, "tau": 3.0, "accuracy": 0.4, "best": 0.5},
    {"views": "<paths> (norm)", "gamma": 1.0, "epsilon": 0.1, "rho": 0.0, "tau": 0.1, "accuracy": 0.7, "best": 0.7},
    {"views": "words (norm)", "gamma": 1.0, "epsilon": 0.1, "rho": 0.0, "tau": 0.1, "accuracy": 0.6, "best": 0.7},
]


def _write(root: Path, key: CellKey, state: dict[str, Any], curves: bool = True) -> Path:
    """A cell of the discriminant with a model file that holds hardly more than its search; the file."""
    train = {"seconds": 3.0, "epochs": 5, "best_epoch": 4, "parameters": 9, "peak_memory": 1e8, "unit": "choice"}
    write_cell(root, key, outcomes(key.seed, 0.8, shots=key.shots), curves=False, train=train)
    content = {
        "model": key.model,
        "dataset": key.dataset,
        "shots": key.shots,
        "seed": key.seed,
        "features": ["degree_onehot"],
        "settings": {},
        "shape": {"num_features": 1, "way": 2, "base_classes": 4},
        "inputs": {
            "encoder": {"names": ["degree_onehot"], "encodings": [], "num_attributes": 0},
            "vocabulary": {"labels": None, "attributes": []},
        },
        "state": state,
    }
    model = root.parent / "models" / key.name / "model.pt"
    model.parent.mkdir(parents=True)
    write_model(model, content, {"epochs": 5})
    if curves:
        directory = model.parent / "curves" / "plots" / "metrics"
        directory.mkdir(parents=True)
        for name, column in {"accuracy": "accuracy", "val_accuracy": "best"}.items():
            lines = [f"step\t{name}", *(f"{place}\t{row[column]}" for place, row in enumerate(SEARCH))]
            (directory / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return model


def _cells(root: Path) -> dict[str, Cell]:
    return {cell.key.name: cell for cell in find_cells(root) if isinstance(cell, Cell)}


@pytest.fixture
def searched(cells_root: Path) -> Path:
    for seed in (0, 1):
        _write(cells_root, CellKey("enzymes", 5, "discriminant", seed), {"search": SEARCH})
    _write(cells_root, CellKey("enzymes", 5, "discriminant_pn", 0), {"discriminant": {"search": SEARCH[:1]}})
    write_cell(cells_root, CellKey("enzymes", 5, "pn", 0), outcomes(3, 0.7))
    return cells_root


def test_a_search_is_read_from_the_model_file(searched: Path) -> None:
    cells = _cells(searched)
    search = search_of(cells["enzymes-5shot-discriminant-seed0"])
    assert search is not None
    assert search.taken == 3
    assert search.steps[3].views == "<paths> (norm)"
    assert search.rows()[0] == ["paths (norm)", 0.0, 0.0, 0.0, "∞", 0.5, True]
    assert [row[-1] for row in search.rows()] == [True, False, False, True, False]
    beside = search_of(cells["enzymes-5shot-discriminant_pn-seed0"])
    assert beside is not None
    assert len(beside.steps) == 1
    assert search_of(cells["enzymes-5shot-pn-seed0"]) is None


@pytest.mark.parametrize("search", [[], [{"views": "paths"}], [{**SEARCH[1]}], "all of them", None])
def test_a_file_without_a_sound_search_has_none(search: Any, cells_root: Path) -> None:
    _write(cells_root, CellKey("enzymes", 5, "discriminant", 0), {"search": search})
    assert search_of(_cells(cells_root)["enzymes-5shot-discriminant-seed0"]) is None


def test_a_damaged_or_missing_file_has_none(searched: Path) -> None:
    cell = _cells(searched)["enzymes-5shot-discriminant-seed0"]
    (cell.model / "model.pt").write_bytes(b"damaged")
    assert search_of(cell) is None
    (cell.model / "model.pt").unlink()
    assert search_of(cell) is None


def test_the_table_shows_what_was_taken(searched: Path) -> None:
    results = Results(find_cells(searched))
    table = search_table(results, load_paper())
    assert table is not None
    assert [(row.group, row.title) for row in table.rows] == [("ENZYMES, 5-shot", f"seed {seed}") for seed in (0, 1)]
    assert [value.text for value in table.rows[0].values] == ["<paths> (norm)", "1", "0.1", "0", "0.1", "70.00", "5"]
    assert len(table.frame) == 2 + 1, "of variants as well"
    (of_first,) = table.frame.filter(pl.col("model") == "discriminant", pl.col("seed") == 0).to_dicts()
    assert (of_first["tau"], of_first["accuracy"], of_first["tried"]) == (SEARCH[3]["tau"], SEARCH[3]["accuracy"], 5)
    assert "search" in [table.key for table in all_tables(results, Workspace(searched.parent / "data"))]


def test_without_models_there_is_no_table(example: Results, tmp_path: Path) -> None:
    assert search_table(example, load_paper()) is None
    assert "search" not in [table.key for table in all_tables(example, Workspace(tmp_path))]


def test_the_details_hold_every_choice(searched: Path) -> None:
    results = Results(find_cells(searched))
    for model, tried in (("discriminant", 5), ("pn", 0)):
        result = results.found["enzymes", 5, model]
        details = result_details(result, load_paper(), Comparisons(results).intervals(result), None)
        assert len(details["search"]) == tried


def test_the_method_and_its_search_are_drawn(searched: Path, example: Results, cells_root: Path) -> None:
    results = Results(find_cells(searched))
    drawing, search = draw_discriminant(results), draw_searches(results, Kept())
    assert drawing is not None
    assert drawing.caption == EXPLANATION
    texts = {text.get_text() for text in drawing.drawing.axes[0].texts}
    assert {"Views", "Scale", "Metric", "Discriminant"} <= texts
    assert search is not None
    assert not isinstance(search, str)
    (axis,) = search.drawing.axes
    for line, column in zip(axis.lines, ("accuracy", "best"), strict=True):
        np.testing.assert_allclose(np.asarray(line.get_ydata(), float), [100 * row[column] for row in SEARCH])
    assert draw_discriminant(example) is None
    assert draw_searches(example, Kept()) is None
    for curves in cells_root.parent.glob("models/*/curves"):
        shutil.rmtree(curves)
    assert "dvc pull" in str(draw_searches(Results(find_cells(searched)), Kept()))


def test_a_search_survives_its_model_file(searched: Path, tmp_path: Path) -> None:
    results, paper = Results(find_cells(searched)), load_paper()
    kept, directory = Kept(), tmp_path / "kept"
    table = search_table(results, paper, kept)
    assert table is not None
    kept.save(directory, _cells(searched).values())
    shutil.rmtree(searched.parent / "models")
    again = search_table(results, paper, Kept(directory, (KEPT_SEARCH,)))
    assert again is not None
    assert again.rows == table.rows
    assert again.frame.equals(table.frame)
    assert again.notes == table.notes
    assert search_table(results, paper, Kept()) is None


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: set CHROMIUM to its path")
def test_a_reader_finds_the_method_its_search_and_every_choice(searched: Path, tmp_path: Path) -> None:
    build_report(searched, tmp_path / "report.html", embed=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "report.html").as_uri())
        assert "no network and takes no gradient step" in page.locator("#figure-discriminant figcaption").inner_text()
        assert page.locator("#figure-search img").count() == 1
        assert "<paths> (norm)" in page.locator("#search tbody").last.inner_text()
        page.locator('button[data-name="enzymes-5shot-discriminant"]').first.click()
        page.get_by_text("Every choice that the search tried (5)").click()
        rows = page.locator("table.search tbody tr").all_inner_texts()
        assert [row.split("\t")[1] for row in rows] == [row["views"] for row in SEARCH]
        assert page.locator("table.search b").all_inner_texts() == ["50.00", "70.00"]
        assert "3 s, 5 choices, best 4" in page.locator("#details-body").inner_text()
        browser.close()
    assert complaints == []
