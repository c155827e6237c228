"""What the README and docs/ say is true."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fsgc.cli import main
from fsgc.data.catalog import load_catalog

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_python_example_runs_in_about_ten_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FSGC_DATA", str(tmp_path))
    code, _ = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip() and not line.startswith("import")]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    accuracy, count = re.fullmatch(r"(0\.\d+) over (\d+) episodes\n", capsys.readouterr().out).groups()  # type: ignore[union-attr]
    assert int(count) == 5000
    assert float(accuracy) > 0.5, "degree histograms alone do better than the 1/3 of guessing"


def test_the_table_of_datasets_is_the_catalog() -> None:
    page = (ROOT / "docs" / "datasets.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|", page, flags=re.MULTILINE)
    expected = [
        (e.key, str(s.graphs), str(s.classes), f"{s.nodes:.2f}", f"{s.edges:.2f}", str(e.way))
        for e in load_catalog().values()
        if not e.variant_of
        for s in [e.statistics]
    ]
    assert rows == expected


def test_every_path_it_names_exists() -> None:
    pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md"]
    for page in [*pages, *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]:
        for target, section in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", (ROOT / page).read_text()):
            if not target.startswith("https://"):
                path = (ROOT / page).parent / target if target else ROOT / page
                assert path.exists(), target
                assert not section or section in _sections(path), f"{target}#{section}"


def _sections(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_method_shown_is_the_tested_example() -> None:
    _, shown = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert shown in (ROOT / "examples" / "cosine_prototypes.py").read_text()


def _commands() -> Iterator[tuple[str, list[str]]]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), flags=re.DOTALL):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words and words[0] == "fsgc":
                    yield path.name, words[1:]


def test_every_fsgc_command_it_shows_exists_with_these_options() -> None:
    shown = list(_commands())
    assert len(shown) >= 8
    for page, words in shown:
        command: click.Command = main
        while isinstance(command, click.Group) and words and words[0] in command.commands:
            command, words = command.commands[words[0]], words[1:]
        assert command is not main, (page, words)
        command.make_context("fsgc", words)  # parses, and refuses what it does not know, without running anything
