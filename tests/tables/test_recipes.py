from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.errors import SettingsError
from fsgc.tables.grid import Grid
from fsgc.tables.recipes import SHARED, write_recipes

ROOT = Path(__file__).parents[2]
GRID = Grid(("triangles_gen", "enzymes"), (5,), ("pn", "pn_tae", "wl"), (0,))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what recipes are made of."""
    for name in ("fsgc", "pipeline"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "params.yaml", tmp_path / "params.yaml")
    return tmp_path


def _recipes(project: Path) -> dict[str, Any]:
    out = project / "recipes"
    write_recipes(GRID, project, out)
    return {path.stem: json.loads(path.read_text()) for path in sorted(out.iterdir())}


def _changed(project: Path, before: dict[str, Any]) -> set[str]:
    after = _recipes(project)
    assert set(after) == set(before)
    return {name for name in after if after[name] != before[name]}


def test_a_step_of_every_kind_has_a_recipe(project: Path) -> None:
    recipes = _recipes(project)
    assert {"download-enzymes", "kernel-triangles_gen", "train-enzymes-pn", "evaluate-triangles_gen-wl"} <= set(recipes)
    assert recipes["train-enzymes-pn"]["code"].keys() > {"fsgc/methods/prototypical.py", "pipeline/train.py"}
    assert "fsgc/methods/prototypical.py" not in recipes["train-enzymes-wl"]["code"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("fsgc/methods/kernel.py", {f"{stage}-{d}-wl" for stage in ("train", "evaluate") for d in GRID.datasets}),
        (
            "fsgc/methods/mixup.py",
            {f"{s}-{d}-{m}" for s in ("train", "evaluate") for d in GRID.datasets for m in ("pn", "pn_tae")},
        ),
        (
            "fsgc/evaluation/statistics.py",
            {f"evaluate-{d}-{m}" for d in GRID.datasets for m in GRID.models},
        ),
        ("fsgc/data/splits.py", None),
        ("fsgc/methods/registry.py", set()),
        ("fsgc/report/cells.py", set()),
    ],
)
def test_changed_code_changes_the_steps_that_load_it(project: Path, file: str, expected: set[str] | None) -> None:
    before = _recipes(project)
    with (project / file).open("a") as target:
        target.write("# changed\n")
    changed = _changed(project, before)
    if expected is None:  # what nearly all load, but not what comes before it
        assert {"split-enzymes", "episodes-enzymes", "train-enzymes-wl"} <= changed
        assert not changed & {"download-enzymes", "graphs-enzymes"}
    else:
        assert changed == expected


def test_changed_settings_change_the_steps_that_read_them(project: Path) -> None:
    before = _recipes(project)
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["prototypical"]["default"]["lr"] = 0.5
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    # TRIANGLES has a learning rate of its own.
    assert _changed(project, before) == {f"{s}-enzymes-{m}" for s in ("train", "evaluate") for m in ("pn", "pn_tae")}


def test_bad_settings_are_refused_and_nothing_is_left(project: Path) -> None:
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["embedder"]["default"]["width"] = 0
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    with pytest.raises(SettingsError, match=r"embedder\.width"):
        write_recipes(GRID, project, project / "recipes")
    assert not (project / "recipes").exists()


@pytest.mark.parametrize("stage", SHARED)
def test_the_sections_of_a_stage_are_those_of_the_single_experiment(stage: str) -> None:
    declared = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"][stage]["params"]
    assert set(SHARED[stage]) == {item for item in declared if isinstance(item, str)}
