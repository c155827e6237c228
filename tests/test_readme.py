"""What the README says is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|", README, flags=re.MULTILINE)
    expected = [
        (e.key, str(s.graphs), str(s.classes), f"{s.nodes:.2f}", f"{s.edges:.2f}", str(e.way))
        for e in load_catalog().values()
        if not e.variant_of
        for s in [e.statistics]
    ]
    assert rows == expected


def test_every_path_it_names_exists() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "data/README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
            assert target.startswith("https://") or ((ROOT / page).parent / target).exists(), target


def test_the_method_shown_is_the_tested_example() -> None:
    _, shown = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert shown in (ROOT / "examples" / "cosine_prototypes.py").read_text()
