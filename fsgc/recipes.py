"""What a step depends on: the code it loads, the settings it reads, its dataset's entry, its method.

Code counts as syntax: each module as a digest of its syntax tree without docstrings, comments and annotations of local
variables, so that rewording a sentence changes nothing; with a module counts the C++ file beside it, without comments.
The modules are those that importing the step's module and the method's loads, found by reading the imports, and those
that one of them names in `LOADED_LATER` because a function imports them. Modules that only resolve names and settings
are left out: what they decide stands in the recipe itself, and adding a method would otherwise change the recipes of
all. An edit that changes no result is named in `fsgc.harmless`.

A recipe decides whether DVC runs a step again, whether a cell of the tables is stale, and whether a killed training may
be resumed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.experiment import Experiment
from fsgc.harmless import counted
from fsgc.methods.contract import Scope
from fsgc.methods.registry import Entry, method_entry

PACKAGE = "fsgc"
RESOLVED = frozenset(  # what these decide is in the recipe; `errors` and `workspace` decide no result
    f"{PACKAGE}.{name}"
    for name in ("data.catalog", "errors", "experiment", "methods.registry", "recipes", "settings", "workspace")
) | {PACKAGE}
STEPS = ("download", "graphs", "split", "episodes", "prepare", "train", "evaluate")
OF_METHODS = ("prepare", "train", "evaluate")
_DATASET = {  # step -> what it reads of the dataset's entry in the catalog
    "download": ("files",),
    "graphs": ("base", "files", "node_labels", "novel", "options", "reader", "statistics", "title", "validation"),
    "split": ("base", "novel", "validation"),
    "episodes": ("way",),
    "prepare": ("base", "novel", "validation"),
    "train": (),
    "evaluate": (),
}
_NONE = Scope(shots=False, seed=False)
_SCOPES = {
    "download": _NONE,
    "graphs": _NONE,
    "split": Scope(shots=False, seed=True),
    "episodes": Scope(shots=True, seed=True),
}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'#include "([^"]+)"')

Recipe = dict[str, Any]
RECORDED = ("graphs", "split", "episodes", "prepare", "train", "evaluate")  # what a result is the outcome of


def recipe(step: str, experiment: Experiment) -> Recipe:
    """The recipe of one step of an experiment; plain values, the same for the same code and settings."""
    keys, entry = experiment.keys, method_entry(experiment.keys.model)
    scope, of_method = scope_of(step, entry), step in OF_METHODS
    modules = [f"{PACKAGE}.steps.{step}"]
    if step == "prepare":
        wanted = entry.method().preparation
        if wanted is None:
            return {"step": step, "nothing": True}
        modules.append(wanted.maker.split(":")[0])
    elif of_method:
        modules.append(entry.module)
    described = asdict(catalog_entry(keys.dataset))
    return {
        "step": step,
        "dataset": {"key": keys.dataset, **{name: described[name] for name in _DATASET[step]}},
        **({"shots": keys.shots} if scope.shots else {}),
        **({"seed": keys.seed} if scope.seed else {}),
        **({"method": {"path": entry.path, "options": dict(entry.options)}} if of_method else {}),
        "settings": _settings(step, experiment),
        "code": code_of(modules),
    }


def recorded(experiment: Experiment) -> dict[str, Recipe]:
    """The recipes of all steps that a result is the outcome of."""
    return {step: recipe(step, experiment) for step in RECORDED}


def digest(of: Mapping[str, Any]) -> str:
    """A recipe as one short word."""
    return hashlib.sha256(as_json(of).encode()).hexdigest()[:16]


def as_json(of: Mapping[str, Any]) -> str:
    """A recipe as text, the same for equal recipes."""
    return json.dumps(of, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def scope_of(step: str, entry: Entry) -> Scope:
    """Whether the shots and the seed matter to a step."""
    if step in _SCOPES:
        return _SCOPES[step]
    method = entry.method()
    if step == "prepare":
        return method.preparation.scope if method.preparation else _NONE
    if step == "train":
        return method.trained_for
    return Scope(shots=True, seed=method.trained_for.seed)


def _settings(step: str, experiment: Experiment) -> dict[str, Any]:
    match step:
        case "split":
            return asdict(experiment.split)
        case "episodes":
            return asdict(experiment.episodes)
        case "prepare":
            if experiment.preparation is None:
                return {}
            return {"preparation": asdict(experiment.preparation), "split": asdict(experiment.split)}
        case "train":
            training = experiment.training
            features = list(experiment.features)
            return {"features": features, "method": asdict(training.method), "train": asdict(training.train)}
        case "evaluate":
            return {"features": list(experiment.features), "method": asdict(experiment.training.method)}
    return {}


def code_of(modules: Iterable[str]) -> dict[str, str]:
    """Module -> digest of the syntax it counts as, for all modules of ours that importing `modules` loads."""
    todo, seen, found = list(modules), set[str](), dict[str, str]()
    # Of another package, which a method may come from, too.
    ours = frozenset((PACKAGE, *(module.split(".")[0] for module in todo if not module.endswith(".py"))))
    while todo:
        module = todo.pop()
        source = _source(module, ours)
        if source is None or module in seen or module in RESOLVED:
            continue
        seen.add(module)
        found_digest, imports = _digest_and_imports(source, source.stat().st_mtime_ns)
        if counts_as := counted(module, found_digest):
            found[module] = counts_as
        parent = module.rpartition(".")[0]
        todo += [*imports, *([parent] if parent else [])]  # a package is loaded before its modules
    return dict(sorted(found.items()))


def changed_since(when: float, modules: Iterable[str]) -> list[str]:
    """Those of some modules of the package whose files, Python or C++, were written after a time (`time.time`)."""
    ours = frozenset({PACKAGE})
    sources = {module: _source(module, ours) for module in sorted(set(modules))}
    return [module for module, source in sources.items() if source and _written(source) > when]


def _written(source: Path) -> float:
    files = [path for path in (source, source.with_suffix(".cpp")) if path.exists()]
    return max((path.stat().st_mtime for path in files), default=0.0)


@cache
def _source(module: str, ours: frozenset[str]) -> Path | None:
    """The file of a module of the packages `ours`; None for any other module."""
    if module.split(".")[0] not in ours and not module.endswith(".py"):
        return None
    if module.endswith(".py"):  # a method from a file of the user's
        return Path(module)
    # `find_spec` of a module would import the packages above it, and what these load.
    top, *parts = module.split(".")
    spec = find_spec(top)
    if spec is None or not parts:
        return Path(spec.origin) if spec is not None and spec.origin else None
    for place in map(Path, spec.submodule_search_locations or ()):
        for path in (place.joinpath(*parts).with_suffix(".py"), place.joinpath(*parts, "__init__.py")):
            if path.is_file():
                return path
    return None  # `from a import b` may name something other than a module


@cache
def _digest_and_imports(path: Path, _changed: int) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = tuple(_imported(tree))
    text = repr(_plain(tree)) + _compiled(path.with_suffix(".cpp"))
    return hashlib.sha256(text.encode()).hexdigest()[:16], imports


def _compiled(path: Path) -> str:
    """A C++ file and what it includes of ours, without comments and white space; nothing if there is none."""
    if not path.exists():
        return ""
    text = _COMMENT.sub(" ", path.read_text(encoding="utf-8"))
    included = [_compiled(path.parent / name) for name in _INCLUDE.findall(text)]
    return "".join([" ".join(text.split()), *included])


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports when it is loaded; `from a import b` may mean the module `a.b`."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LOADED_LATER":
            words = (each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant))
            yield from (word for word in words if isinstance(word, str))


def _plain(node: Any, is_local: bool = False) -> Any:
    """A syntax tree as nested tuples, without docstrings, positions and annotations of local variables.

    Empty fields are left out, so that a newer Python, whose nodes have more of them, gives the same.
    """
    if isinstance(node, list):
        return tuple(_plain(each, is_local) for each in node)
    if not isinstance(node, ast.AST):
        return node
    inside = is_local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    if is_local and isinstance(node, ast.AnnAssign):
        if node.value is None:
            return ()
        return ("Assign", (("targets", (_plain(node.target, True),)), ("value", _plain(node.value, True))))
    values = []
    for name, value in ast.iter_fields(node):
        if value in (None, []) or name in ("type_comment", "kind"):
            continue
        if name == "body" and isinstance(value, list) and _is_docstring(node, value):
            value = value[1:]
        if isinstance(node, ast.ClassDef) and name == "body":
            values.append((name, _plain(value)))  # annotations of a class are its fields
        else:
            values.append((name, _plain(value, inside)))
    return (type(node).__name__, tuple(values))


def _is_docstring(node: ast.AST, body: list[ast.stmt]) -> bool:
    holder = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    first = body[0] if body else None
    return (
        holder
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
