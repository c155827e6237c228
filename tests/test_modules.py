"""The list of modules in docs/modules.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_list_of_modules_is_that_of_their_docstrings() -> None:
    listed: dict[str, str] = {}
    package = ""
    for line in (ROOT / "docs" / "modules.md").read_text().splitlines():
        if heading := re.fullmatch(r"## `(fsgc.*)/`", line):
            package = heading[1]
        elif row := re.fullmatch(r"\| `(\w+\.py)` \| (.*) \|", line):
            listed[f"{package}/{row[1]}"] = row[2]
    found = {
        path.relative_to(ROOT).as_posix(): (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]
        for path in (ROOT / "fsgc").rglob("*.py")
        if path.name != "__init__.py"
    }
    assert listed == found
