"""The page as its readers meet it, in a headless Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from fsgc.report.build import build_report
from tests.report.made_cells import outcomes

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: run 'make browser' as root, install chromium, or set CHROMIUM to its path"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


class Watch:
    """Notes what a page complains about and what it asks for."""

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._note)
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(message.text)


@pytest.fixture
def page(browser: Browser, example_report: Path) -> Iterator[Page]:
    """The page, which must not complain about anything and load nothing whatever a test does with it."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(60_000)
    watch = Watch(page)
    address = example_report.resolve().as_uri()
    page.goto(address)
    yield page
    assert watch.complaints == []
    assert [url for url in watch.requests if not url.startswith("data:")] == [address]
    page.close()


def _column(page: Page, place: int) -> list[str]:
    cells = page.locator(f"#d_a tbody tr:not(.group) > :nth-child({place + 1})")
    return cells.all_inner_texts()


def test_it_opens_with_tables_figures_and_what_went_wrong(page: Page) -> None:
    assert page.title().startswith("fsgc")
    sections = page.locator("main > section").evaluate_all("found => found.map(section => section.id)")
    assert sections == [
        "d_a",
        "d_b",
        "ablation",
        "pooling",
        "variants",
        "discriminant",
        "discriminant_pn",
        "no_cycles",
        "other",
        "columns",
        "choices",
        "efficiency",
        "datasets",
        "cost",
        "compare",
        "figures",
    ]
    assert page.locator("img").count() >= 4
    assert page.locator("img").evaluate_all("found => found.every(i => i.complete && i.naturalWidth > 100)")
    expect(page.locator("#pooling .hint")).to_contain_text("fsgc tables run")
    expect(page.locator("#d_a .notes")).to_contain_text("<in epoch 3> & so on")


def test_sorting_by_a_column_goes_down_up_and_back(page: Page) -> None:
    before = _column(page, 0)
    head = page.locator('#d_a th[data-column="1"]')

    def numbers() -> list[float]:
        return [float(text.split()[0]) for text in _column(page, 1) if text[0].isdigit()]

    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    falling = numbers()
    assert falling == sorted(falling, reverse=True)
    assert len(falling) == 3
    assert all(not text[0].isdigit() for text in _column(page, 1)[3:]), "gaps are last"
    head.get_by_role("button").click()
    assert numbers() == sorted(falling)
    assert not _column(page, 1)[-1][0].isdigit(), "gaps are last either way"
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "none")
    assert _column(page, 0) == before


def test_a_result_opens_its_details_with_the_keyboard_alone(page: Page) -> None:
    button, dialog = page.locator('button[data-name="triangles-5shot-pn"]').first, page.get_by_role("dialog")
    button.focus()
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    expect(page.locator("#details-title")).to_have_text("PN on TRIANGLES, 5-shot")
    text = page.locator("#details-body").inner_text()
    for expected in (
        f"Seeds\n{', '.join(f'{seed}: {100 * outcomes(seed, 0.8).mean():.2f}' for seed in range(3))}",
        "another sample of novel graphs and another training run together",
        "86.64 (ours minus it: −",
        "Commit\n0a1b2c3d4e5f",
        "Recipes\ntrain 0123456789abcdef",
        "fsgc tables run --only triangles-5shot-pn-seed0",
        "fsgc train pn triangles -k 5 --seed 0",
    ):
        assert expected in text
    intervals = page.get_by_role("region", name="Intervals").locator("tbody th").all_inner_texts()
    assert intervals == ["graphs and seeds", "episodes", "graphs", "seeds", "classes"]
    assert "method.width" not in text, "the settings are one more click away"
    page.get_by_text("All settings").click()
    expect(page.locator("#details-body")).to_contain_text("method.width")
    assert page.locator("#details-body svg path").count() == 5
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()  # the focus is back where it was
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.name"), "and moves on to the next result"


def test_a_failed_cell_tells_its_reason(page: Page) -> None:
    page.locator('button[data-name="reddit-5shot-maml"]').first.click()
    body = page.locator("#details-body")
    expect(body).to_contain_text("failed: seed 0: the loss is not finite <in epoch 3> & so on")
    expect(body).to_contain_text("python -m pipeline.train")


def test_a_damaged_cell_names_its_file(page: Page) -> None:
    page.locator('button[data-name="coil_del-5shot-wl"]').first.click()
    expect(page.locator("#details-body")).to_contain_text("metrics.json is damaged: accuracy: input should be a valid")


def test_the_page_says_what_was_chosen_on_what(page: Page) -> None:
    text = page.locator("#selection p")
    expect(text).to_be_hidden()
    page.get_by_text("What was chosen on what").click()
    expect(text).to_contain_text("may have seen it")


def test_a_stale_accuracy_says_why(browser: Browser, real_root: Path, tmp_path: Path) -> None:
    shutil.copytree(real_root.parents[1], tmp_path / "project")
    params = tmp_path / "project" / "params.yaml"
    params.write_text(params.read_text().replace("width: 8", "width: 9"))
    build_report(tmp_path / "project" / "tables" / "cells", tmp_path / "report.html", embed=False)
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    button = page.locator('button[data-name="enzymes-3shot-pn"]').first
    expect(button).to_contain_text("†")
    button.click()
    expect(page.locator("#details-body")).to_contain_text("method.width was 8, is 9")
    page.close()


def test_two_methods_compare(page: Page) -> None:
    def choose(first: str, second: str) -> list[list[str]]:
        page.locator("#first").select_option(first)
        page.locator("#second").select_option(second)
        return [row.locator("th, td").all_inner_texts() for row in page.locator("#comparison tbody tr").all()]

    there, back = choose("pn_tae_mu", "pn"), choose("pn", "pn_tae_mu")
    assert [row[0] for row in there] == ["ENZYMES, 5-shot", "TRIANGLES, 5-shot", "TRIANGLES, 10-shot"]
    triangles, turned = there[1], back[1]
    assert triangles[-1] == "first"
    assert turned[-1] == "second"
    assert float(triangles[1]) == -float(turned[1].replace("−", "-")) > 5
    assert there[2][-1] == "not separated"
    assert choose("pn", "pn") == []
    expect(page.locator("#comparison")).to_contain_text("share no dataset")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, example_report: Path, scheme: str) -> None:
    page = browser.new_page(
        viewport={"width": 360, "height": 700},
        is_mobile=True,
        has_touch=True,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    watch = Watch(page)
    page.goto(example_report.resolve().as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("button[data-name]").first.click()
    box = page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert 300 < box["width"] <= 360
    ground, ink = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    assert _contrast(ground, ink) > 7
    assert (_luminance(ground) < 0.1) is (scheme == "dark")
    assert watch.complaints == []
    page.close()


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it, of a colour as `rgb(1, 2, 3)`."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)
