from __future__ import annotations

import json
import re
import shutil
from math import inf, nan
from pathlib import Path

import pytest

from fsgc.errors import StoreError
from fsgc.report.build import build_docs
from fsgc.report.cells import Cell, find_cells
from fsgc.report.comparison import Comparisons
from fsgc.report.curves import CURVES
from fsgc.report.details import page_data
from fsgc.report.kept import Entry, Kept, Section
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell

NUMBERS = Section("numbers", Entry[dict[str, list[float]]])
KEY = CellKey("triangles", 5, "pn", 0)


def _cell(root: Path, recipe: str = "first", key: CellKey = KEY) -> Cell:
    """The cell, written anew, as trained by a recipe."""
    shutil.rmtree(root / key.name, ignore_errors=True)
    shutil.rmtree(root.parent / "models" / key.name, ignore_errors=True)
    write_cell(root, key, outcomes(0, 0.7), train={"epochs": 3, "recipe": recipe})
    (found,) = [cell for cell in find_cells(root) if isinstance(cell, Cell) and cell.key == key]
    return found


def _keep(directory: Path, cell: Cell, *numbers: float) -> None:
    kept = Kept(directory, (NUMBERS,))
    kept.get(NUMBERS, cell, lambda _: {"of": list(numbers)})
    kept.save(directory, [cell])


def _absent(_: Cell) -> None:
    return None


def test_numbers_survive_their_model(cells_root: Path, tmp_path: Path) -> None:
    cell = _cell(cells_root)
    numbers = (0.123456, 1234.56, inf, nan, 0.0, -1e-7)
    _keep(tmp_path / "kept", cell, *numbers)
    found = Kept(tmp_path / "kept", (NUMBERS,)).get(NUMBERS, cell, _absent)
    assert found is not None
    assert found["of"] == pytest.approx([0.1235, 1235, inf, nan, 0, -1e-7], nan_ok=True)
    assert Kept().get(NUMBERS, cell, _absent) is None
    assert Kept(tmp_path / "none", (NUMBERS,)).get(NUMBERS, cell, _absent) is None


def test_a_model_at_hand_replaces_what_was_kept_and_is_read_once(cells_root: Path, tmp_path: Path) -> None:
    cell = _cell(cells_root)
    _keep(tmp_path / "kept", cell, 1.0)
    calls = []

    def read(one: Cell) -> dict[str, list[float]]:
        calls.append(one.key)
        return {"of": [2.0]}

    kept = Kept(tmp_path / "kept", (NUMBERS,))
    assert [kept.get(NUMBERS, cell, read) for _ in range(2)] == [{"of": [2.0]}] * 2
    assert calls == [KEY]
    kept.save(tmp_path / "kept", [cell])
    assert Kept(tmp_path / "kept", (NUMBERS,)).get(NUMBERS, cell, _absent) == {"of": [2.0]}


def test_where_a_model_cannot_be_read_the_kept_numbers_serve(cells_root: Path, tmp_path: Path) -> None:
    def fail(_: Cell) -> None:
        raise StoreError("the episodes are not stored")

    cell = _cell(cells_root)
    with pytest.raises(StoreError, match="episodes are not stored"):
        Kept().get(NUMBERS, cell, fail)
    _keep(tmp_path / "kept", cell, 1.0)
    assert Kept(tmp_path / "kept", (NUMBERS,)).get(NUMBERS, cell, fail) == {"of": [1.0]}


def test_numbers_of_an_earlier_version_of_a_cell_say_so(cells_root: Path, tmp_path: Path) -> None:
    before = _cell(cells_root, "first")
    _keep(tmp_path / "kept", before, 1.0)
    after, kept = _cell(cells_root, "second"), Kept(tmp_path / "kept", (NUMBERS,))
    assert kept.note(NUMBERS, [before]) == ""
    assert kept.get(NUMBERS, after, _absent) == {"of": [1.0]}
    assert kept.is_earlier(NUMBERS, after)
    assert (
        kept.note(NUMBERS, [after]) == "From an earlier version of the cell: triangles-5shot-pn-seed0 (recipe first)."
    )
    kept = Kept(tmp_path / "kept", (NUMBERS,))
    assert kept.get(NUMBERS, after, lambda _: {"of": [2.0]}) == {"of": [2.0]}
    assert kept.note(NUMBERS, [after]) == ""


def test_a_model_of_another_training_than_the_cells_gives_way(cells_root: Path, tmp_path: Path) -> None:
    cell = _cell(cells_root, "second")
    _keep(tmp_path / "kept", cell, 2.0)
    (cell.model / "model.json").write_text(json.dumps({"recipe": "first"}))
    kept = Kept(tmp_path / "kept", (NUMBERS,))
    assert kept.get(NUMBERS, cell, lambda _: {"of": [1.0]}) == {"of": [2.0]}
    nothing_kept = Kept()
    assert nothing_kept.get(NUMBERS, cell, lambda _: {"of": [1.0]}) == {"of": [1.0]}
    assert "(recipe first)" in nothing_kept.note(NUMBERS, [cell])


def test_nothing_is_kept_of_a_cell_that_is_gone(cells_root: Path, tmp_path: Path) -> None:
    gone, stays = _cell(cells_root), _cell(cells_root, key=CellKey("triangles", 5, "gsm", 0))
    kept = Kept(tmp_path / "kept", (NUMBERS,))
    for cell in (gone, stays):
        kept.get(NUMBERS, cell, lambda _: {"of": [1.0]})
    assert kept.save(tmp_path / "kept", [gone, stays]) == [tmp_path / "kept" / "numbers.json"]
    assert list(json.loads((tmp_path / "kept" / "numbers.json").read_text())) == [stays.key.name, gone.key.name]
    kept.save(tmp_path / "kept", [stays])
    assert list(json.loads((tmp_path / "kept" / "numbers.json").read_text())) == [stays.key.name]
    assert kept.save(tmp_path / "kept", []) == []
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "<<<<<<< HEAD\n{}",
        '{"a": 3}',
        '{"a": {"recipe": "r"}}',
        '{"a": {"recipe": "r", "value": {"of": "many"}}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "numbers.json").write_text(content)
    with pytest.raises(StoreError, match=r"numbers.json is damaged .*git checkout -- .*numbers.json"):
        Kept(tmp_path, (NUMBERS,))


def _pages(project: Path) -> tuple[dict[str, bytes], list[str]]:
    """Every file that the docs of a project are made of, written anew, and the sections of the page in Markdown."""
    out = project / "docs" / "results"
    build_docs(project / "tables" / "cells", out, None)
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    return files, re.findall(r"^## (.*)$", files["README.md"].decode(), flags=re.MULTILINE)


def test_pages_lose_nothing_with_the_models(real_root: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(real_root.parents[1], project)
    files, sections = _pages(project)
    assert {"kept/curves.json", "kept/tsne.json", "kept/separation.json"} <= set(files)
    drawn = ("Training curves", "Embeddings: ENZYMES, 3-shot", "Class similarity and mixup: ENZYMES, 3-shot")
    assert set(drawn) <= set(sections)
    shutil.rmtree(project / "tables" / "models")
    again, _ = _pages(project)
    assert again == files
    shutil.rmtree(project / "docs" / "results" / "kept")
    assert not set(drawn) & set(_pages(project)[1])


def test_pages_say_what_is_of_an_earlier_version_of_a_cell(cells_root: Path) -> None:
    _cell(cells_root, "first")
    build_docs(cells_root, cells_root.parent, None)  # what is kept lies beside the cells, where it is looked for
    cell = _cell(cells_root, "second")
    shutil.rmtree(cell.model)
    build_docs(cells_root, cells_root.parent, None)
    page = (cells_root.parent / "README.md").read_text()
    assert "From an earlier version of the cell: triangles-5shot-pn-seed0 (recipe first)." in page
    results = Results(find_cells(cells_root))
    kept = Kept(cells_root.parent / "kept", (CURVES,))
    data = page_data(results, Comparisons(results), load_paper(), kept)
    assert data["results"]["triangles-5shot-pn"]["curves"] == {}, "details are of the cell as it is"
