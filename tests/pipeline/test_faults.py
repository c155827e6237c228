"""Stages and `dvc repro` killed at random moments: the next run completes, as if nothing had happened."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsgc.data.catalog import dataset
from fsgc.files import remove, replacing
from tests.http_server import ranged, serving
from tests.pipeline.made_up import KEY, raw_files
from tests.pipeline.project import STORES, TIMEOUT, Project, copy_project, leftovers, tree

STAGES = ("download", "graphs", "split", "episodes")
MANY = {"train_epochs": 150, "train_per_epoch": 40, "val": 50, "test": 200}
KILLS = 5  # of a stage
SECONDS = 1.2  # that the slow mirror takes at least
Process = subprocess.Popen[str]


def command(stage: str, data: Path, key: str = KEY) -> list[str]:
    """A stage by itself, as in `tables/dvc.yaml` but for the data root."""
    return [sys.executable, "-m", f"pipeline.{stage}", "--dataset", key, "--tables", str(data)]


def target(stage: str, data: Path, key: str = KEY) -> Path:
    """What a stage makes."""
    names = {
        "download": f"raw/{key}",
        "graphs": f"graphs/{key}.zarr",
        "split": f"splits/{key}-seed0.json",
        "episodes": f"episodes/{key}-5shot-seed0.zarr",
    }
    return data / names[stage]


def is_writing(path: Path) -> bool:
    """Whether the temporary that will become `path` is there."""
    return any(path.parent.glob(f".{path.name}.partial-*"))


@dataclass(frozen=True)
class Pace:
    """How many seconds an undisturbed stage took, and how many of them it was writing."""

    total: float
    writing: float


@dataclass(frozen=True)
class Scene:
    """A project whose dataset comes from a slow mirror, and what undisturbed stages make of it."""

    project: Project
    reference: Path
    paces: Mapping[str, Pace]

    def start(self, *command: str) -> Process:
        """Start a command in a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.project.root,
            env=self.project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def kill(process: Process) -> bool:
    """Kill a process with all it has started; False if it had ended before."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT)  # until the last one of the group has let go of the output
    return process.returncode == -signal.SIGKILL


def run(scene: Scene, stage: str, data: Path, key: str = KEY) -> Pace:
    """Run a stage to its end."""
    start, path, since = time.monotonic(), target(stage, data, key), None
    process = scene.start(*command(stage, data, key))
    while process.poll() is None:
        if since is None and is_writing(path):
            since = time.monotonic()
        time.sleep(0.001)
    assert process.returncode == 0, process.communicate()
    process.communicate()
    end = time.monotonic()
    return Pace(end - start, end - (since or end))


def slow_mirror(content: Mapping[str, bytes]) -> Iterator[str]:
    """The address of a server that takes its time."""
    pause = SECONDS / sum(len(part) / (1 << 14) for part in content.values())
    with serving() as server:
        for path, part in content.items():
            server.url("/" + path.replace(" ", "%20"), ranged(part, pause))
        yield server.address


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    content, entry = raw_files()
    copied = copy_project(tmp_path_factory.mktemp("project"))
    with (copied.root / "fsgc" / "data" / "catalog.toml").open("a") as catalog:
        catalog.write(entry)
    copied.set_params(dataset=KEY, shots=5, seed=0, episodes=MANY)
    copied.commit()
    for address in slow_mirror(content):
        project = Project(copied.root, {**copied.environment, "FSGC_MIRROR": address})
        reference = tmp_path_factory.mktemp("reference")
        paces: dict[str, Pace] = {}
        scene = Scene(project, reference, paces)
        for stage in STAGES:
            paces[stage] = run(scene, stage, reference)
        yield scene


def kill_stage(scene: Scene, stage: str, data: Path, key: str, pace: Pace, rng: random.Random, writing: bool) -> bool:
    """Kill a stage, at a moment drawn over all its time or over the time it writes; False if it had ended."""
    process = scene.start(*command(stage, data, key))
    while writing and process.poll() is None and not is_writing(target(stage, data, key)):
        time.sleep(0.001)
    # Writing was measured to the end of the process; its last part, in which little can go wrong, is left out.
    time.sleep(rng.uniform(0, 0.6 * pace.writing if writing else pace.total))
    return kill(process)


def outdated(stage: str, scene: Scene, tmp_path: Path) -> Path | None:
    """A store of other episodes, for a stage that finds one; DVC deletes them first, `fsgc.load_episodes` does not."""
    if stage != "episodes":
        return None
    old = shutil.copytree(target(stage, scene.reference), tmp_path / "old")
    (old / "zarr.json").write_text("{}")
    return old


@pytest.mark.parametrize("stage", ["download", "graphs", "episodes"])
def test_a_killed_stage(scene: Scene, stage: str, tmp_path: Path) -> None:
    data, rng, hits, attempts = tmp_path / "data", random.Random(stage), 0, 0
    path, whole = target(stage, data), tree(target(stage, scene.reference))
    old = outdated(stage, scene, tmp_path)
    for earlier in STAGES[: STAGES.index(stage)]:
        source, copy = target(earlier, scene.reference), target(earlier, data)
        copy.parent.mkdir(parents=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy2(source, copy)
    while hits < KILLS and attempts < 4 * KILLS:
        attempts += 1
        if old:
            remove(path)
            shutil.copytree(old, path)
        hits += kill_stage(scene, stage, data, KEY, scene.paces[stage], rng, writing=attempts % 2 == 0)
        if path.exists():
            assert tree(path) in ([whole, tree(old)] if old else [whole])
            remove(path)
        else:
            assert not old or any(path.parent.glob("*-old"))
    assert hits == KILLS
    run(scene, stage, data)
    assert tree(path) == whole
    assert leftovers(data) == []


@pytest.mark.real
def test_a_killed_download_of_real_files(scene: Scene, mirror: Path, tmp_path: Path) -> None:
    real = dataset("coil_del")
    content = {file.mirror: (mirror / file.mirror).read_bytes() for file in real.files}
    rng = random.Random(0)
    for address in slow_mirror(content):
        there = Scene(Project(scene.project.root, {**scene.project.environment, "FSGC_MIRROR": address}), tmp_path, {})
        pace = run(there, "download", tmp_path / "reference", real.key)
        hits = [
            kill_stage(there, "download", tmp_path / "data", real.key, pace, rng, writing=True)
            for _ in range(KILLS // 2)
        ]
        run(there, "download", tmp_path / "data", real.key)
    assert any(hits)
    assert tree(target("download", tmp_path / "data", real.key)) == tree(
        target("download", tmp_path / "reference", real.key)
    )
    assert leftovers(tmp_path / "data") == []


def kill_repro(scene: Scene, stage: str, rng: random.Random) -> bool:
    """Kill `dvc repro` and its stage at a random moment after `stage`, or one after it, has begun."""
    begun = tuple(f"Running stage '{name}'" for name in STAGES[STAGES.index(stage) :])
    process = scene.start(sys.executable, "-m", "dvc", "repro", "episodes")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(begun):
            break
    time.sleep(rng.uniform(0, scene.paces[stage].total))
    hit = kill(process)
    scene.project.mend()
    return hit


def test_a_killed_repro(scene: Scene) -> None:
    """Neither the locks of the killed DVC nor what its stages left stand in the way of the next one."""
    project, rng = scene.project, random.Random(0)
    hits = [kill_repro(scene, stage, rng) for stage in ("download", *STAGES)]
    assert sum(hits) > len(hits) / 2
    done = project.repro()
    assert done.code == 0, done
    for stage, store in zip(STAGES, STORES, strict=True):
        assert tree(project.data / store) == tree(target(stage, scene.reference)), stage
    assert leftovers(project.data) == []
    assert "up to date" in project.dvc("status", "episodes", "--with-deps")
    cache = project.root / ".dvc" / "cache" / "files" / "md5"
    objects = tree(cache)
    assert len(objects) > len(STAGES)
    for name, content in objects.items():
        assert name.replace("/", "").removesuffix(".dir") == hashlib.md5(content).hexdigest()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells zombies by Linux's /proc")
def test_a_killed_writer_that_nobody_has_waited_for(tmp_path: Path) -> None:
    """As in a container whose first process does not reap orphans: the killed one keeps its process id."""
    writer = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    alive, dead = (tmp_path / f".x.partial-{pid}-0" for pid in (os.getpid(), writer.pid))
    for leftover in (alive, dead):
        leftover.mkdir()
    with replacing(tmp_path / "x") as partial:
        partial.touch()
    assert dead.exists()
    writer.kill()
    while not Path(f"/proc/{writer.pid}/stat").read_text().rpartition(")")[2].startswith(" Z"):
        time.sleep(0.001)
    with replacing(tmp_path / "x") as partial:
        partial.touch()
    assert (alive.exists(), dead.exists()) == (True, False)
    writer.communicate()
