"""Methods from outside the package, named by their file or offered by an installed package."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner

from fsgc.cli import main
from fsgc.data.own import Choices, add_dataset
from fsgc.errors import SettingsError, StoreError
from fsgc.experiment import Experiment
from fsgc.methods import plugins
from fsgc.methods.registry import method_entry
from fsgc.params_check import check_params
from fsgc.recipes import recipe
from fsgc.training.checkpoint import restore
from tests.commands.test_predict import write_graphs
from tests.shapes import bare_shapes

EXAMPLE = Path(__file__).parents[2] / "examples" / "cosine_prototypes.py"
PARAMS = """
episodes: {queries: 2, train_epochs: 1, train_per_epoch: 4, val: 2, test: 3}
train: {default: {max_epochs: 1, batch_size: 2, accelerator: cpu}}
embedder: {default: {width: 8}}
"""
OWN = '''
from fsgc.methods.prototypical.method import PrototypicalNetwork, PrototypicalSettings
from fsgc.settings import settings

@settings
class MySettings(PrototypicalSettings):
    """Mine."""
    boost: float = 2.0

class Boosted(PrototypicalNetwork):
    """Distances that count more."""
    settings_type = MySettings
    section = "boosted"

    def similarity(self, x, prototypes):
        return self.settings.boost * super().similarity(x, prototypes)
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a small dataset, settings and the example of the README."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FSGC_DATASETS", raising=False)
    monkeypatch.setattr(plugins, "_named", {})
    write_graphs(tmp_path / "shapes", *bare_shapes(20), "g")
    add_dataset("shapes", "shapes", Choices())
    (tmp_path / "params.yaml").write_text(PARAMS)
    shutil.copy(EXAMPLE, tmp_path / "my_file.py")
    return tmp_path


def _run(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_a_file_is_trained_tested_and_predicts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "my_file.py:CosinePrototypes"
    _run("train", name, "shapes", "-k", "2", "-o", "cosine.pt")
    monkeypatch.setattr(plugins, "_named", {})  # as in another process
    refused = CliRunner().invoke(main, ["evaluate", "cosine.pt"])
    assert refused.exit_code == 1
    assert f"is not run unless you name it: give the option --method {name}" in refused.output
    assert "accuracy" in _run("evaluate", "cosine.pt", "--method", name)
    new = write_graphs(project / "new", bare_shapes(1, 3)[0], None, "n")
    _run("predict", "cosine.pt", "--support", "shapes", "--query", str(new), "-o", "out.csv", "--method", name)
    assert (project / "out.csv").read_text().count("\n") == 6


def test_from_another_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run("train", "my_file.py:CosinePrototypes", "shapes", "-k", "2", "-o", "cosine.pt")
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    monkeypatch.setattr(plugins, "_named", {})
    with pytest.raises(StoreError, match="not run unless you name it"):
        restore(project / "cosine.pt")
    method_entry("../my_file.py:CosinePrototypes")
    assert type(restore(project / "cosine.pt").method).__name__ == "CosinePrototypes"


def test_its_file_is_part_of_its_recipe(project: Path) -> None:
    name = "my_file.py:CosinePrototypes"

    def made(step: str) -> object:
        return recipe(step, Experiment.from_params({}, model=name, dataset="shapes"))

    before = {step: made(step) for step in ("episodes", "train", "evaluate")}
    text = (project / "my_file.py").read_text()
    (project / "my_file.py").write_text(text.replace("Everything is", "Nearly everything is") + "# more words\n")
    assert {step: made(step) for step in before} == before
    (project / "my_file.py").write_text(text.replace("self.scale *", "2 * self.scale *"))
    assert made("episodes") == before["episodes"]
    assert made("train") != before["train"]
    assert made("evaluate") != before["evaluate"]


def test_settings_come_from_its_dataclass_and_from_the_section_if_there_is_one(project: Path) -> None:
    (project / "mine.py").write_text(OWN)
    name = "mine.py:Boosted"
    plain = Experiment.from_params({}, model=name, dataset="shapes")
    assert (plain.training.method.boost, plain.training.method.width) == (2.0, 64)
    params = {
        "plugins": {"boosted": {"default": {"boost": 5.0}, "shapes": {"lr": 0.5}}},
        "embedder": {"default": {"width": 8}},
    }
    check_params(params, method_entry(name))
    made = Experiment.from_params(params, model=name, dataset="shapes").training.method
    assert (made.boost, made.lr, made.width) == (5.0, 0.5, 8)
    check_params(params)  # and does not disturb other methods
    with pytest.raises(SettingsError, match=r"plugins\.boosted\.default\.bost"):
        check_params({"plugins": {"boosted": {"default": {"bost": 1}}}}, method_entry(name))


def test_a_changed_file_is_loaded_again(project: Path) -> None:
    (project / "mine.py").write_text(OWN)
    assert method_entry("mine.py:Boosted").about == "Distances that count more."
    (project / "mine.py").write_text(OWN.replace("count more", "count less"))
    assert method_entry("mine.py:Boosted").about == "Distances that count less."


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (None, "nowhere.py:X", r"nowhere.py cannot be read \(No such file or directory\)"),
        ("x = 1\n", "bad.py:X", "bad.py has no X; its classes are none"),
        ("class Y:\n    pass\n", "bad.py:X", "bad.py has no X; its classes are Y"),
        ("class X:\n    pass\n", "bad.py:X", "bad.py:X is not a method: derive it from"),
        ("x = 1\ny = 1 / 0\n", "bad.py:X", "bad.py, line 2: ZeroDivisionError"),
        ("raise SystemExit(0)\n", "bad.py:X", "bad.py:X ends Python when it is loaded"),
        (
            "from fsgc.methods.untrained import UntrainedNetwork as U\nclass X(U):\n    settings_type = dict\n",
            "bad.py:X",
            "the settings_type of bad.py:X is not a dataclass",
        ),
        ("x = 1\nclass X(\n", "bad.py:X", "bad.py, line 2: SyntaxError"),
        ("import nothing_like_this\n", "bad.py:X", "bad.py, line 1: ModuleNotFoundError"),
        (
            "from fsgc.methods.contract import Method\nclass X(Method):\n    section = 'x'\n",
            "bad.py:X",
            "bad.py:X lacks __init__, attach, predict, settings_type",
        ),
    ],
)
def test_what_cannot_be_a_method(text: str | None, name: str, message: str) -> None:
    if text is not None:
        Path("bad.py").write_text(text)
    with pytest.raises(SettingsError, match=message):
        method_entry(name)


def test_a_method_of_an_installed_package(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = project / "site" / "my_package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "parts.py").write_text("BOOST = 2\n")
    (package / "boosted.py").write_text(f"from my_package.parts import BOOST\n{OWN}")
    monkeypatch.syspath_prepend(project / "site")
    point = EntryPoint("boosted", "my_package.boosted:Boosted", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == plugins.GROUP else [])
    assert method_entry("boosted").title == "Boosted"
    assert "boosted" in _run("models")
    before = recipe("train", Experiment.from_params({}, model="boosted", dataset="shapes"))
    assert {"my_package.boosted", "my_package.parts", "my_package"} <= set(before["code"])
    assert "fsgc.methods.prototypical.method" in before["code"]
    with pytest.raises(SettingsError, match="unknown method 'bosted'; did you mean 'boosted'"):
        method_entry("bosted")
    for module in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        monkeypatch.delitem(sys.modules, module)
