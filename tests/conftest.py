"""Shared fixtures."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import settings

if TYPE_CHECKING:
    from fsgc.episodes.batches import Episodes

# Some virtual machines name AMX among what the processor has but end a process that uses it; bfloat16 does without.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Determinism over exploration: CI fails only for what a change broke.
settings.register_profile("fsgc", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("fsgc")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full-reliability`: thousands of mutations and hundreds of kills instead of a few, and the longest tests."""
    parser.addoption("--full-reliability", action="store_true", help="run tests/reliability and long tests, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked `long`, whose parts shorter tests cover, unless all are wanted."""
    if config.getoption("--full-reliability"):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether reliability is tested at full length."""
    return bool(request.config.getoption("--full-reliability"))


@pytest.fixture
def outside_any_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train where no repository is: DVCLive opens the one it finds and leaves its pack files open."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The directory of real raw files; the test is skipped, and listed as skipped, where there is none."""
    value = os.environ.get("FSGC_MIRROR", "")
    if not value or not Path(value).is_dir():
        pytest.skip("real data: set FSGC_MIRROR to a directory with the raw files to run this test")
    return Path(value)


@pytest.fixture(scope="session")
def coil_del(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the raw TU files of COIL-DEL."""
    directory = tmp_path_factory.mktemp("coil_del")
    with zipfile.ZipFile(mirror / "tu" / "COIL-DEL.zip") as archive:
        for member in archive.infolist():
            (directory / Path(member.filename).name).write_bytes(archive.read(member))
    return directory


@pytest.fixture
def double() -> Iterator[None]:
    """Makes double precision the type of all new tensors, so that a comparison can be strict."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(params=["single", "double"])
def precision(request: pytest.FixtureRequest) -> torch.dtype:
    """Runs a test in single and in double precision."""
    if request.param == "double":
        request.getfixturevalue("double")
    return torch.get_default_dtype()


@pytest.fixture(scope="session")
def shape_episodes() -> Episodes:
    """Episodes of simple shapes, few and small."""
    from fsgc.dataset import Dataset
    from fsgc.episodes.settings import EpisodeSettings
    from tests.shapes import shapes

    few = EpisodeSettings(queries=2, train_epochs=1, train_per_epoch=8, val=4, test=6)
    return Dataset.from_networkx(*shapes(20)).split(way=2, novel=["ring", "star"]).episodes(shots=2, settings=few)


@pytest.fixture(scope="session")
def model_file(shape_episodes: Episodes, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a model by name, trained once for all tests."""
    from fsgc.dataset import train

    folder = tmp_path_factory.mktemp("models")

    def find(name: str) -> Path:
        path = folder / f"{name}.pt"
        if not path.exists():
            gsm = {"super_classes": 2, "fine_tune_steps": 5, "batches_per_epoch": 3, "val_episodes": 4}
            small = gsm if name == "gsm" else {}
            train(name, shape_episodes, loop={"max_epochs": 1, "batch_size": 4, "accelerator": "cpu"}, **small).save(
                path
            )
        return path

    return find
