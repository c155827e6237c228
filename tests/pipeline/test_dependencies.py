"""What `dvc.yaml` says a stage depends on against what it really uses."""

from __future__ import annotations

import ast
import inspect
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from fsgc.tables.imports import PACKAGES, needed

from fsgc.data.splits import make_split
from fsgc.episodes.settings import EpisodeSettings
from fsgc.methods.registry import METHODS
from tests.pipeline.project import ROOT, SMALL, copy_project

PIPELINE: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
PARAMS: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text())
COMPUTED = ("data/", "results/")

# Imports a stage's module, then runs it: which files of ours are loaded before and after, what it read of the catalog.
PROBE = """
import importlib, json, sys
from pathlib import Path

def loaded():
    files = [m.__file__ for name, m in list(sys.modules.items()) if name.split(".")[0] in ("fsgc", "pipeline")]
    return sorted(Path(file).relative_to(Path.cwd()).as_posix() for file in files if file)

module = importlib.import_module(sys.argv[1])
imported = loaded()
catalog = importlib.import_module("fsgc.data.catalog")
catalog.load_catalog()
fields, read, plain = set(catalog.Dataset.__dataclass_fields__), set(), catalog.Dataset.__getattribute__
catalog.Dataset.__getattribute__ = lambda self, name: read.add(name) or plain(self, name)
module.main(sys.argv[2:], standalone_mode=False)
print(json.dumps([imported, loaded(), sorted(read & fields)]))
"""


@dataclass(frozen=True)
class Use:
    """What a stage uses: our files loaded once its module is imported, and once it has run; keys of the catalog."""

    imported: list[str]
    ran: list[str]
    keys: set[str]


def code(files: list[str]) -> list[str]:
    """The files with logic: an `__init__.py` has none, see below."""
    return sorted(file for file in files if file.endswith(".py") and Path(file).name != "__init__.py")


def command_of(stage: str) -> list[str]:
    """The words of a stage's command."""
    command: str = PIPELINE[stage]["cmd"]
    for name, value in {"dataset": "triangles_gen", "shots": "5", "seed": "0", "model": "pn"}.items():
        command = command.replace(f"${{{name}}}", value)
    return shlex.split(command)


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Use]:
    """Stage -> what it uses, found by running all in the order of `dvc.yaml`, in a copy with small settings."""
    project, found = copy_project(tmp_path_factory.mktemp("project")), {}
    project.set_params(episodes=SMALL, train={"default": {"max_epochs": 1}})
    project.commit()
    for stage in PIPELINE:
        python, flag, module, *arguments = command_of(stage)
        assert (python, flag) == ("python", "-m")
        output = project.ok(sys.executable, "-c", PROBE, module, *arguments)
        imported, ran, keys = json.loads(output.splitlines()[-1])
        found[stage] = Use(code(imported), code(ran), set(keys))
    return found


def test_a_module_per_stage() -> None:
    assert [command_of(stage)[2] for stage in PIPELINE] == [f"pipeline.{stage}" for stage in PIPELINE]
    modules = {path.stem for path in (ROOT / "pipeline").glob("*.py")}
    of_tables = {"recipes"}  # of tables/dvc.yaml
    assert modules == {*PIPELINE, *of_tables, "__init__", "stage"}


@pytest.mark.parametrize("stage", PIPELINE)
def test_a_stage_declares_the_modules_it_imports_and_no_others(uses: dict[str, Use], stage: str) -> None:
    """A stage that runs a method loads that method's modules only; it declares those of all."""
    modules = [f"pipeline.{stage}"]
    assert uses[stage].imported == needed(modules, ROOT)
    runs_a_method = stage in ("train", "evaluate")
    assert uses[stage].ran == needed(modules + [METHODS["pn"].module] * runs_a_method, ROOT)
    assert code(PIPELINE[stage]["deps"]) == needed(
        modules + [entry.module for entry in METHODS.values()] * runs_a_method, ROOT
    )


@pytest.mark.parametrize("stage", PIPELINE)
def test_a_stage_depends_on_stores_and_single_files(stage: str) -> None:
    others = [path for path in PIPELINE[stage]["deps"] if not path.startswith(COMPUTED)]
    assert others == code(others)
    assert all((ROOT / path).is_file() for path in others)


def stores_made_before(stage: str) -> set[str]:
    before = list(PIPELINE)[: list(PIPELINE).index(stage)]
    return {out for name in before for out in PIPELINE[name]["outs"]}


@pytest.mark.parametrize("stage", PIPELINE)
def test_a_stage_reads_stores_of_stages_before_it(stage: str) -> None:
    assert {path for path in PIPELINE[stage]["deps"] if path.startswith(COMPUTED)} <= stores_made_before(stage)


def sections_read(source: str) -> set[str]:
    """The sections of `params.yaml` that a module asks for by `section("name", …)`, for an `Experiment` or a kernel."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    of_methods = {"preset", "train", "embedder", *(entry.method().section for entry in METHODS.values())}
    of_kernels = {"kernel"} if "KernelSettings.from_params(" in source else set()
    return (of_methods if "Experiment.from_params(" in source else of_kernels) | {
        ast.literal_eval(call.args[0])
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "section"
    }


@pytest.mark.parametrize("stage", PIPELINE)
def test_a_stage_declares_the_settings_it_reads(stage: str) -> None:
    declared = {item for item in PIPELINE[stage]["params"] if isinstance(item, str)}
    assert declared == sections_read((ROOT / "pipeline" / f"{stage}.py").read_text())


@pytest.mark.parametrize("stage", PIPELINE)
def test_a_stage_declares_what_it_reads_of_the_catalog(uses: dict[str, Use], stage: str) -> None:
    """The whole entry of its dataset, or exactly the keys it reads; never another dataset's."""
    declared = [item for item in PIPELINE[stage]["params"] if isinstance(item, dict)]
    keys = sorted(uses[stage].keys - {"key"})
    assert [{path: sorted(names) for path, names in item.items()} for item in declared] in (
        [{"fsgc/data/catalog.toml": ["${dataset}"]}],
        [{"fsgc/data/catalog.toml": [f"${{dataset}}.{key}" for key in keys]}] if keys else [],
    )


def late_imports(tree: ast.AST, inside: bool = False) -> Iterator[str]:
    """The modules of ours that are imported within functions, where a look at what is loaded may miss them."""
    for node in ast.iter_child_nodes(tree):
        if inside and isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in PACKAGES)
        elif inside and isinstance(node, ast.ImportFrom) and (node.level or str(node.module).split(".")[0] in PACKAGES):
            yield "." * node.level + str(node.module)
        elif isinstance(node, ast.Name | ast.Attribute | ast.alias) and "import" in _name(node):
            yield _name(node)
        yield from late_imports(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def _name(node: ast.Name | ast.Attribute | ast.alias) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import fsgc.api", []),
        ("def f():\n  import numpy, fsgc.api", ["fsgc.api"]),
        ("class A:\n  async def f(self):\n    if 1:\n      from pipeline.stage import stage", ["pipeline.stage"]),
        ("def f():\n  from . import api", [".None"]),
        ("import importlib", ["importlib"]),
        ("from importlib import import_module as load", ["import_module"]),
        ("x = __import__('fsgc')", ["__import__"]),
    ],
)
def test_late_imports_are_seen(source: str, found: list[str]) -> None:
    assert list(late_imports(ast.parse(source))) == found


def test_no_module_of_a_stage_imports_late_but_for_pyg_and_methods() -> None:
    """The conversions to and from PyG are for users, not for stages, and PyG takes seconds to load."""
    files = {file for stage in PIPELINE.values() for file in code(stage["deps"])}
    late = {file: set(late_imports(ast.parse((ROOT / file).read_text()))) for file in files}
    assert {file: names for file, names in late.items() if names} == {
        "fsgc/data/graph_store.py": {"fsgc.data.pyg"},
        "fsgc/methods/registry.py": {"import_module"},
    }


@pytest.mark.parametrize(
    "path", [path.relative_to(ROOT).as_posix() for name in PACKAGES for path in (ROOT / name).rglob("__init__.py")]
)
def test_init_files_hold_no_logic(path: str) -> None:
    """So that no stage need declare them."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    tree = ast.parse((ROOT / path).read_text())
    names = {getattr(node, "name", "lambda") for node in ast.walk(tree) if isinstance(node, kinds)}
    assert names == ({"__getattr__", "__dir__"} if path == "fsgc/__init__.py" else set())


def test_the_pipeline_draws_the_episodes_of_the_api() -> None:
    assert PARAMS["episodes"] == asdict(EpisodeSettings())
    assert PARAMS["split"] == {"held_out_share": inspect.signature(make_split).parameters["held_out_share"].default}
