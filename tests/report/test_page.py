"""The page as a file; what it does in a browser is in `test_page_in_browser.py`."""

from __future__ import annotations

import json
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

from fsgc.report.build import build_report
from fsgc.report.figures.style import FigureSet, NamedFigure
from fsgc.report.page import write_page
from fsgc.report.paper import load_paper
from fsgc.report.results import Results
from fsgc.report.table import Heading, Row, Table, Value
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Reader(HTMLParser):
    """Checks that elements nest, and notes identifiers, references and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.referred: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        values = {name: value or "" for name, value in attrs}
        self.ids += [values["id"]] if "id" in values else []
        self.referred += values.get("aria-labelledby", "").split()
        for name in ("href", "src"):
            if name in values:
                self.addresses.append(values[name])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


@pytest.fixture
def written(example_report: Path) -> str:
    return example_report.read_text(encoding="utf-8")


def test_its_figures_can_be_had_as_files(example_report: Path) -> None:
    names = sorted(path.name for path in (example_report.parent / "figures").iterdir())
    assert names == [f"{key}.{suffix}" for key in ("curves", "episodes", "ranks", "shots") for suffix in ("png", "svg")]


def test_it_is_one_sound_document_that_loads_nothing(written: str) -> None:
    reader = Reader()
    reader.feed(written)
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    assert set(reader.referred) <= set(reader.ids)
    assert all(address.startswith(("data:", "#")) for address in reader.addresses)
    assert {address[1:] for address in reader.addresses if address.startswith("#")} <= set(reader.ids)
    assert "default-src 'none'" in written
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", written, flags=re.DOTALL)
    assert not re.search(r"\{[{%#]|[%#}]\}", markup), "nothing of a template is left"


def test_remarks_on_rows_are_below_their_table_and_no_other(written: str) -> None:
    sections = dict(re.findall(r'<section[^>]*id="(\w+)"(.*?)</section>', written, flags=re.DOTALL))
    places = {
        begin: [key for key, text in sections.items() if f"<li>{escape(begin)}" in text]
        for begin in ("FAITH: ", "SMF-GIN: ", "GIN on Reddit: ", "MAML, GIN and ")
    }
    assert places == {
        "FAITH: ": ["d_a", "variants"],
        "SMF-GIN: ": ["d_a", "variants"],
        "GIN on Reddit: ": ["d_a"],
        "MAML, GIN and ": ["d_a", "d_b", "ablation", "pooling", "discriminant", "discriminant_pn"],
    }


HOSTILE = """</script></style><img src=x onerror=alert(1)>" onclick='alert(2)' {{ 7*7 }} {% raw %} &lt; <!-- ]]>"""


def _page_of(text: str, path: Path) -> Outline:
    """A page that has the text wherever text can come from outside."""
    value = Value(text, text, text, text, best=True, best_of=text, tie=True, stale=True, name=text)
    rows = (Row(text, (value, Value(text, is_gap=True)), text),)
    headings = (Heading(text, text), Heading(text))
    table = Table("key", text, text, headings, rows, pl.DataFrame(), (text,), text)
    data = {"results": {text: text}, "columns": [], "methods": {text: text}}
    write_page(path, Results([]), [table], data, FigureSet((NamedFigure("key", text, text, Figure()),), (text,)))
    outline = Outline()
    outline.feed(path.read_text(encoding="utf-8"))
    return outline


def test_no_text_from_outside_becomes_markup(tmp_path: Path) -> None:
    hostile, harmless = _page_of(HOSTILE, tmp_path / "1.html"), _page_of("harmless", tmp_path / "2.html")
    assert hostile.elements == harmless.elements, "the same elements with the same attributes, whatever the text"
    assert hostile.texts.count(HOSTILE) == harmless.texts.count("harmless") > 10, "the text is there as it is"


class Outline(HTMLParser):
    """Notes the elements with the names of their attributes, and every text and value of an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.texts += [value for _, value in attrs if value]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def test_its_data_cannot_end_the_script(written: str) -> None:
    content = re.search(r'<script type="application/json" id="data">(.*?)</script>', written, flags=re.DOTALL)
    assert content
    assert "<" not in content[1]
    data = json.loads(content[1])
    assert "<in epoch 3>" in data["results"]["reddit-5shot-maml"]["trouble"]


def test_numbers_that_json_does_not_have_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    path = write_cell(tmp_path / "cells", CellKey("enzymes", 5, "pn", 0), outcomes(0, 0.7), macro_f1=float("nan"))
    (tmp_path / "models" / path.name / "curves" / "plots" / "metrics" / "loss.tsv").write_text(
        "step\tloss\n0\tinf\n1\t0.5\n"
    )
    build_report(tmp_path / "cells", tmp_path / "report.html", embed=False)
    content = re.search(r'id="data">(.*?)</script>', (tmp_path / "report.html").read_text(), flags=re.DOTALL)
    assert content
    one = json.loads(content[1])["results"]["enzymes-5shot-pn"]
    assert (one["macroF1"], one["curves"]["loss"]) == (None, [None, 0.5])


def test_without_any_cell_it_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    assert build_report(tmp_path / "cells", tmp_path / "report.html") == "0 results from 0 cells, 0 figures"
    page = (tmp_path / "report.html").read_text()
    assert page.count('<p class="hint">') == len(load_paper().tables) + 2, "one per table of accuracies, two for times"
    assert "Run: fsgc tables run" in page
    assert "Cells: none." in page


def test_another_run_writes_the_same_bytes(
    example_root: Path, example_report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    summary = build_report(example_root, tmp_path / "again.html", embed=False)
    assert summary == "9 results from 14 cells, 4 figures"
    assert (tmp_path / "again.html").read_bytes() == example_report.read_bytes()


def test_real_cells_have_their_embeddings_drawn(real_root: Path, tmp_path: Path) -> None:
    build_report(real_root, tmp_path / "report.html", tmp_path / "figures")
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert names == {"classes", "curves", "episodes", "reliability", "tsne-enzymes", "similarity-enzymes"}
