"""The tutorial `docs/your-graphs.md`: every file, command and program on it, in order, with the output it shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from fsgc.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "your-graphs.md"
BLOCK = re.compile(r"^```(\w*)(?: ([\w.]+))?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    kind: str
    file: str
    text: str


def _blocks() -> Iterator[Block]:
    for kind, file, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        yield Block(kind, file, text)


def _shell(text: str) -> str:
    output = ""
    for line in text.splitlines():
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
        output += result.stdout
    return output


def _python(text: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(PAGE), "exec"), {"__name__": "tutorial"})
    return "".join(line for line in printed.getvalue().splitlines(keepends=True) if not line.startswith("epoch "))


def _words(text: str) -> str:
    """The text without its percentages, which a better method may raise."""
    return re.sub(r"\d+\.\d%", "…%", text.rstrip("\n"))


@pytest.mark.filterwarnings("ignore::fsgc.episodes.store.FewerQueriesWarning")  # few graphs, and few episodes of them
def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FSGC_DATASETS", raising=False)
    output, shown = "", 0
    for block in _blocks():
        match block.kind:
            case "csv":
                Path(block.file).write_text(block.text)
            case "sh":
                output = _shell(block.text)
            case "python":
                output = _python(block.text)
            case _:
                assert _words(output).startswith(_words(block.text)), f"shown:\n{block.text}\nprinted:\n{output}"
                shown += 1
    assert shown == 3
    assert len(Path("predictions.csv").read_text().splitlines()) == 6
    assert len(Path("shapes.csv").read_text().splitlines()) == 151
    assert Path("page.html").read_text().count("<article>") == 5
