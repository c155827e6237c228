"""The page as its readers meet it, in a headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.chromium import ADVICE, Page, find_chromium
from tests.report.made_cells import accuracies

BROWSER = find_chromium()
pytestmark = pytest.mark.skipif(BROWSER is None, reason=ADVICE)

ENTER, ESCAPE, TAB = ("Enter", 13, "\r"), ("Escape", 27), ("Tab", 9)


@pytest.fixture
def page(example_report: Path, tmp_path: Path) -> Iterator[Page]:
    """The page, which must not complain about anything and load nothing whatever a test does with it."""
    assert BROWSER
    with Page(BROWSER, tmp_path / "profile") as page:
        page.open(example_report)
        yield page
        assert page.complaints() == []
        assert page.requests() == [example_report.resolve().as_uri()]


def _column(page: Page, place: int) -> list[str]:
    cells = f"[...document.querySelectorAll('#d_a tbody tr:not(.group)')].map(r => r.cells[{place}].innerText)"
    found: list[str] = page.run(cells)
    return found


def test_it_opens_with_tables_figures_and_what_went_wrong(page: Page) -> None:
    assert page.run("document.title").startswith("fsgc")
    sections = page.run("[...document.querySelectorAll('main > section')].map(s => s.id)")
    assert sections == ["d_a", "d_b", "ablation", "pooling", "other", "efficiency", "datasets", "compare", "figures"]
    assert page.run("[...document.querySelectorAll('img')].every(i => i.complete && i.naturalWidth > 100)")
    assert page.run("document.querySelectorAll('img').length") >= 4
    assert "fsgc tables run" in page.run("document.querySelector('#pooling .hint').innerText")
    assert "<in epoch 3> & so on" in page.run("document.querySelector('#d_a .notes').innerText")


def test_sorting_by_a_column_goes_down_up_and_back(page: Page) -> None:
    before = _column(page, 0)
    head = "document.querySelector('#d_a th[data-column=\"1\"]')"

    def figures() -> list[float]:
        return [float(text.split()[0]) for text in _column(page, 1) if text[0].isdigit()]

    page.run(f"{head}.querySelector('button').click()")
    assert page.run(f"{head}.ariaSort") == "descending"
    falling = figures()
    assert falling == sorted(falling, reverse=True)
    assert len(falling) == 3
    assert all(not text[0].isdigit() for text in _column(page, 1)[3:]), "gaps are last"
    page.run(f"{head}.querySelector('button').click()")
    assert figures() == sorted(falling)
    assert not _column(page, 1)[-1][0].isdigit(), "gaps are last either way"
    page.run(f"{head}.querySelector('button').click()")
    assert page.run(f"{head}.ariaSort") == "none"
    assert _column(page, 0) == before


def test_a_figure_opens_its_details_with_the_keyboard_alone(page: Page) -> None:
    button = "document.querySelector('button[data-name=\"triangles-5shot-pn\"]')"
    page.run(f"{button}.focus()")
    page.press(*ENTER)
    assert page.run("document.getElementById('details').open")
    assert page.run("document.getElementById('details-title').innerText") == "PN on TRIANGLES, 5-shot"
    text = page.run("document.getElementById('details-body').innerText")
    for expected in (
        "95 % interval, bootstrap",
        "95 % interval over seeds",
        f"Seeds\n0: {100 * accuracies(0, 0.8).mean():.2f}, 1: {100 * accuracies(1, 0.8).mean():.2f}",
        "86.64 (ours minus it: −",
        "dvc repro tables/dvc.yaml:evaluate@triangles-5-pn-0",
        "fsgc train pn triangles -k 5 --seed 0",
        "Not at hand: the model file is not stored here.",
        "Not at hand: it needs the stored scores and test episodes.",
    ):
        assert expected in text
    assert page.run("document.querySelectorAll('#details-body svg path').length") == 5
    page.press(*ESCAPE)
    assert not page.run("document.getElementById('details').open")
    assert page.run(f"document.activeElement === {button}"), "the focus is back where it was"
    page.press(*TAB)
    assert page.run("document.activeElement.dataset.name"), "and goes on to the next figure"


def test_a_failed_cell_tells_its_reason(page: Page) -> None:
    page.run("document.querySelector('button[data-name=\"reddit-5shot-maml\"]').click()")
    text = page.run("document.getElementById('details-body').innerText")
    assert "failed: seed 0: the loss is not finite <in epoch 3> & so on" in text
    assert "python -m pipeline.train" in text


def test_two_methods_compare(page: Page) -> None:
    def choose(first: str, second: str) -> list[list[str]]:
        for name, value in (("first", first), ("second", second)):
            page.run(f"document.getElementById('{name}').value = '{value}'")
            page.run(f"document.getElementById('{name}').dispatchEvent(new Event('change'))")
        cells = "[...document.querySelectorAll('#comparison tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
        found: list[list[str]] = page.run(cells)
        return found

    there, back = choose("pn_tae_mu", "pn"), choose("pn", "pn_tae_mu")
    assert [row[0] for row in there] == ["ENZYMES, 5-shot", "TRIANGLES, 5-shot", "TRIANGLES, 10-shot"]
    triangles, turned = there[1], back[1]
    assert triangles[-1] == "first"
    assert turned[-1] == "second"
    assert float(triangles[1]) == -float(turned[1].replace("−", "-")) > 5
    assert there[2][-1] == "not separated"
    assert choose("pn", "pn") == []
    assert "share no dataset" in page.run("document.getElementById('comparison').innerText")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_without_scrolling_sideways(example_report: Path, tmp_path: Path, dark: bool) -> None:
    assert BROWSER
    with Page(BROWSER, tmp_path / "profile", width=360, height=700, dark=dark) as page:
        page.open(example_report)
        assert page.run("document.documentElement.scrollWidth") <= 360
        page.run("document.querySelector('button[data-name]').click()")
        width = page.run("document.getElementById('details').getBoundingClientRect().width")
        assert 300 < width <= 360
        ground, ink = (page.run(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
        assert _contrast(ground, ink) > 7
        assert (_luminance(ground) < 0.1) is dark
        assert page.screenshot().startswith(b"\x89PNG")
        assert page.complaints() == []


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it, of a colour as `rgb(1, 2, 3)`."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)
