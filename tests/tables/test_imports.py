from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.tables.imports import needed

FILES = {
    "fsgc/__init__.py": "",
    "fsgc/a.py": "import numpy\nfrom fsgc import b\n",
    "fsgc/b.py": "from fsgc.sub.c import thing\nimport fsgc.d as other\n",
    "fsgc/sub/__init__.py": "from fsgc.sub.e import x\n",
    "fsgc/sub/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fsgc.unused import y\n",
    "fsgc/sub/e.py": "import fsgc.a\n",
    "fsgc/d.py": "def f():\n    import fsgc.unused\n",
    "fsgc/unused.py": "",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_imports_are_followed_also_through_packages_and_in_circles(project: Path) -> None:
    assert needed(["fsgc.a"], project) == ["fsgc/a.py", "fsgc/b.py", "fsgc/d.py", "fsgc/sub/c.py", "fsgc/sub/e.py"]
    assert needed(["fsgc.d"], project) == ["fsgc/d.py"]


def test_what_is_not_ours_is_left_out(project: Path) -> None:
    assert needed(["numpy", "fsgc.missing"], project) == []
