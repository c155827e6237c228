"""What a recipe contains against what Python really loads, and what an edit of a module changes."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fsgc.experiment import Experiment
from fsgc.harmless import EDITS as HARMLESS
from fsgc.methods.registry import METHODS
from fsgc.recipes import RESOLVED, STEPS, code_of, recipe

ROOT = Path(__file__).parents[1]
Case = tuple[str, ...]  # the modules that a step imports, as one word each

# Imports modules in a fork each, watching who imports whom; what is not ours is loaded once, before.
PROBE = """
import builtins, importlib, json, os, sys
import dvclive, polars, psutil, pydantic, pytorch_lightning, scipy, sklearn, torch, yaml, zarr

def probe(modules):
    read, write = os.pipe()
    if os.fork() == 0:
        edges, plain = set(), builtins.__import__
        def watch(name, globals=None, locals=None, fromlist=(), level=0):
            result = plain(name, globals, locals, fromlist, level)
            importer = (globals or {}).get("__name__", "")
            parts = [f"{name}.{each}" for each in fromlist or () if f"{name}.{each}" in sys.modules]
            edges.update((importer, each) for each in (name, *parts))
            return result
        builtins.__import__ = watch
        for module in modules:
            importlib.import_module(module)
        for module in [name for name in sys.modules if name.split(".")[0] == "fsgc"]:
            for later in getattr(sys.modules[module], "LOADED_LATER", ()):
                importlib.import_module(later)
                edges.add((module, later))
        with os.fdopen(write, "w") as pipe:
            json.dump(sorted(edges), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return json.load(pipe)

print(json.dumps([probe(modules) for modules in json.load(sys.stdin)]))
"""

# In a copy of the package: edits one file after the other and tells which recipes each edit changes.
EDITS = """
import json, sys
from pathlib import Path
from fsgc.recipes import code_of

cases, edits = json.load(sys.stdin)
before, changed = [code_of(case) for case in cases], []
for file, text in edits:
    path = Path(file)
    original = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    changed.append([index for index, case in enumerate(cases) if code_of(case) != before[index]])
    path.write_text(original, encoding="utf-8")
assert [code_of(case) for case in cases] == before
print(json.dumps(changed))
"""


def _python(script: str, given: Any, root: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(given),
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _case(step: str, model: str) -> Case:
    """The modules that a step of a method imports, told independently of `fsgc.recipes`."""
    entry = METHODS[model]
    wanted = entry.method().preparation
    own = {
        "prepare": wanted.maker.split(":")[0] if wanted else "",
        "train": entry.module,
        "evaluate": entry.module,
    }.get(step, "")
    return tuple(filter(None, (f"fsgc.steps.{step}", own)))


CASES: dict[tuple[str, str], Case] = {
    (step, model): _case(step, model)
    for step in STEPS
    for model, entry in METHODS.items()
    if step != "prepare" or entry.method().preparation
}
DISTINCT = sorted(set(CASES.values()))


@pytest.fixture(scope="module")
def loaded() -> Mapping[Case, set[str]]:
    """Case -> the modules of ours that it really loads, but for what only resolved modules load.

    What was part of another module when results were computed is left out.
    """
    found = {}
    parts = {edit.module for edit in HARMLESS if not edit.counts_as}
    for case, edges in zip(DISTINCT, _python(PROBE, DISTINCT, ROOT), strict=True):
        reached: set[str] = set()
        todo = set(case)
        while todo:
            module = todo.pop()
            if module in reached or module in RESOLVED or module.split(".")[0] != "fsgc":
                continue
            reached.add(module)
            todo |= {imported for importer, imported in edges if importer == module}
            todo.add(module.rpartition(".")[0])
        found[case] = reached - parts
    return found


def test_what_a_module_loads_later_is_what_its_functions_import() -> None:
    named = 0
    for path in sorted((ROOT / "fsgc").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        imported = {
            str(node.module)
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom)
        }
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LOADED_LATER":
                named += 1
                assert set(ast.literal_eval(node.value)) == {name for name in imported if name.startswith("fsgc.")}
    assert named


def test_a_recipe_is_written_without_the_training_framework() -> None:
    """It is noted before every experiment, and Lightning takes longer to load than all else together."""
    script = """
import json, sys
from fsgc.experiment import Experiment
from fsgc.methods.registry import METHODS
from fsgc.recipes import recorded
for model in METHODS:
    recorded(Experiment.from_params({}, dataset="triangles_gen", model=model))
print(json.dumps(list(sys.modules)))
"""
    modules = set(_python(script, None, ROOT))
    assert "fsgc.methods.learned" in modules
    assert not modules & {"pytorch_lightning", "torch._dynamo", "torch_geometric"}


def test_a_recipe_has_the_modules_that_python_loads(loaded: Mapping[Case, set[str]]) -> None:
    for case in DISTINCT:
        assert set(code_of(case)) == loaded[case], case
    assert any("fsgc.nn.embedder" in modules for modules in loaded.values()), "the probe sees something"


def test_the_recipes_of_all_steps_are_of_these_modules() -> None:
    for model in METHODS:
        experiment = Experiment.from_params({}, dataset="triangles_gen", model=model)
        for step in STEPS:
            made = recipe(step, experiment)
            if (step, model) in CASES:
                assert made["code"] == code_of(CASES[step, model])
            else:
                assert made == {"step": "prepare", "nothing": True}


@pytest.mark.parametrize("model", ["wl", "sp", "graphlet"])
def test_kernels_depend_neither_on_networks_nor_on_the_trainer(model: str) -> None:
    experiment = Experiment.from_params({}, dataset="triangles_gen", model=model)
    for step in STEPS:
        modules = set(recipe(step, experiment)["code"])
        assert not {name for name in modules if name.startswith("fsgc.nn")}, step
        assert not modules & {
            "fsgc.methods.learned",
            *(f"fsgc.training.{name}" for name in ("fit", "callbacks", "data")),
        }


def test_the_contract_loads_neither_a_training_framework_nor_a_network() -> None:
    script = "import json, sys; import fsgc.methods.contract; print(json.dumps(list(sys.modules)))"
    modules = set(_python(script, None, ROOT))
    assert "fsgc.methods.contract" in modules
    assert not modules & {"torch", "pytorch_lightning", "torch_geometric"}
    assert not {name for name in modules if name.startswith("fsgc.nn")}


def _module_files() -> list[Path]:
    """Every module below `fsgc/nn` and `fsgc/methods` that decides something; relative to the root."""
    files = [path for part in ("nn", "methods") for path in sorted((ROOT / "fsgc" / part).rglob("*.py"))]
    return [path.relative_to(ROOT) for path in files if path.name != "__init__.py"]


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


MODULES = [_module(path) for path in _module_files()]


def _with_another_expression(text: str) -> str:
    """The first value that the module assigns or returns, written otherwise."""
    values = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign) and node.value is not None
    ]
    first = min(values, key=lambda node: (node.lineno, node.col_offset))
    expression = ast.get_source_segment(text, first)
    assert expression is not None
    lines = text.splitlines(keepends=True)
    # Offsets are in bytes.
    head = "".join(lines[: first.lineno - 1]) + lines[first.lineno - 1].encode()[: first.col_offset].decode()
    edited = f"{head}(({expression}), 0)[0]{text[len(head) + len(expression) :]}"
    ast.parse(edited)
    return edited


def _reworded(text: str) -> str:
    """Other docstrings, one more comment, and the first local variable with an annotation where there was none."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    locals_ = [
        node
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    ]
    lines = text.splitlines(keepends=True)
    if locals_:
        target = locals_[0].targets[0]
        assert isinstance(target, ast.Name)
        line = lines[target.lineno - 1]
        end = target.col_offset + len(target.id)
        lines[target.lineno - 1] = f"{line[:end]}: 'object'{line[end:]}"
    edited = "".join(lines).replace('"""', '"""Reworded. ', 1)
    for function in functions[:1]:
        inner = ast.get_docstring(function, clean=False)
        if inner:
            edited = edited.replace(inner, f"{inner} Reworded.", 1)
    edited += "\n# A comment more.\n"
    ast.parse(edited)
    return edited


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], set[Case]]:
    """(module, kind of edit) -> the cases whose code is another after it."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "fsgc", root / "fsgc", ignore=shutil.ignore_patterns("__pycache__"))
    kinds = {"expression": _with_another_expression, "words": _reworded}
    edits = {
        (_module(path), kind): (str(root / path), edit((ROOT / path).read_text(encoding="utf-8")))
        for path in _module_files()
        for kind, edit in kinds.items()
    }
    changed = _python(EDITS, [DISTINCT, list(edits.values())], root)
    return {key: {DISTINCT[index] for index in each} for key, each in zip(edits, changed, strict=True)}


@pytest.mark.parametrize("module", MODULES)
def test_an_edited_expression_changes_the_recipes_of_the_methods_that_load_it(
    module: str, loaded: Mapping[Case, set[str]], changes: Mapping[tuple[str, str], set[Case]]
) -> None:
    if module in RESOLVED:
        assert changes[module, "expression"] == set(), "what it decides is in the recipe itself"
    else:
        assert changes[module, "expression"] == {case for case, modules in loaded.items() if module in modules}


@pytest.mark.parametrize("module", MODULES)
def test_an_edited_sentence_changes_no_recipe(module: str, changes: Mapping[tuple[str, str], set[Case]]) -> None:
    assert changes[module, "words"] == set()


def test_a_building_block_serves_at_least_two_methods(loaded: Mapping[Case, set[str]]) -> None:
    entries = {entry.module for entry in METHODS.values()}
    for module in MODULES:
        if module.startswith("fsgc.nn."):
            users = {name for case, modules in loaded.items() if module in modules for name in entries & set(case)}
            assert len(users) >= 2, f"{module} serves {users} alone; it belongs there"
