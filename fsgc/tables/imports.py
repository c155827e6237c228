"""Which files of ours a module needs, found by reading the code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = ("fsgc", "pipeline")


def needed(modules: Iterable[str], root: Path) -> list[str]:
    """The files that importing `modules` loads, with those they import in turn, but `__init__.py`: it has no logic.

    Args:
        modules: full names.
        root: the project, which the returned paths are relative to.
    """
    todo, seen = list(modules), set()
    while todo:
        module = todo.pop()
        path = file_of(module, root)
        if path is not None and path not in seen:
            seen.add(path)
            todo.append(module.rpartition(".")[0] or module)  # a package is loaded before its modules
            todo += imported_at_once(ast.parse((root / path).read_text(encoding="utf-8")))
    return sorted(path for path in seen if Path(path).name != "__init__.py")


def file_of(module: str, root: Path) -> str | None:
    """The file of a module of ours, below the project; None for what is no module of ours."""
    path = Path(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    found = (each for each in candidates if path.parts[0] in PACKAGES and (root / each).is_file())
    return next((each.as_posix() for each in found), None)


def imported_at_once(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports when it is loaded; `from a import b` may mean the module `a.b`."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)
