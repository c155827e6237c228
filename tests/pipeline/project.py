"""A copy of the project in which DVC runs for real, apart from the user's own settings, caches and data."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fsgc.files import remove

ROOT = Path(__file__).parents[2]
TIMEOUT = 900  # seconds; not an expectation, only so that a hanging process does not hang the tests
SMALL = {"train_epochs": 2, "train_per_epoch": 50, "val": 20, "test": 50}
TINY: dict[str, Any] = {  # what a small model takes to be trained and tested in a second
    "episodes": {"queries": 3, "train_epochs": 2, "train_per_epoch": 20, "val": 10, "test": 20},
    "train": {"default": {"max_epochs": 2, "batch_size": 5, "accelerator": "cpu"}},
    "embedder": {"default": {"width": 4}},
    "transfer": {"train": {"max_epochs": 1}},
}
COMPUTED = ("dvc.lock", "metrics.json", "tables/cells/", "tables/dvc.lock", "docs/results/")
_EVENT = re.compile(r"^(Running stage|Stage) '([\w@-]+)'(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Repro:
    """What one `dvc repro` did."""

    code: int
    output: str
    errors: str

    @property
    def ran(self) -> list[str]:
        """The stages that were run, in order."""
        return [name for what, name, _ in _EVENT.findall(self.output) if what == "Running stage"]

    @property
    def restored(self) -> list[str]:
        """The stages whose outputs came out of DVC's run cache."""
        return [name for _, name, rest in _EVENT.findall(self.output) if "is cached - skipping run" in rest]

    @property
    def unchanged(self) -> list[str]:
        """The stages that had nothing to do."""
        return [name for _, name, rest in _EVENT.findall(self.output) if "didn't change, skipping" in rest]


@dataclass(frozen=True)
class Project:
    """The copy: where it is and the environment its commands run in."""

    root: Path
    environment: Mapping[str, str]

    @property
    def data(self) -> Path:
        return self.root / "data"

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command at the root of the copy, with more environment variables."""
        return subprocess.run(
            command,
            cwd=self.root,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            stdin=subprocess.DEVNULL,
        )

    def ok(self, *command: str, **variables: str) -> str:
        """The output of a command that must succeed."""
        done = self.run(*command, **variables)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def dvc(self, *arguments: str, **variables: str) -> str:
        """The output of a DVC command that must succeed."""
        return self.ok(sys.executable, "-m", "dvc", *arguments, **variables)

    def repro(self, target: str = "episodes", **variables: str) -> Repro:
        """`dvc repro` up to a stage, which may fail."""
        done = self.run(sys.executable, "-m", "dvc", "repro", target, **variables)
        return Repro(done.returncode, done.stdout, done.stderr)

    def tables(self, *arguments: str) -> Repro:
        """A DVC command in the repository of the tables, which may fail."""
        done = self.run("sh", "-c", 'cd tables && exec "$@"', "sh", sys.executable, "-m", "dvc", *arguments)
        return Repro(done.returncode, done.stdout, done.stderr)

    def fsgc(self, *arguments: str) -> Repro:
        """A command of ours, which may fail."""
        done = self.run(sys.executable, "-m", "fsgc", *arguments)
        return Repro(done.returncode, done.stdout, done.stderr)

    def set_tables(self, **blocks: object) -> None:
        """Want the cells of these blocks of lists, and no others."""
        (self.root / "tables" / "params.yaml").write_text(yaml.safe_dump(blocks))
        remove(self.root / "tables" / "plan.yaml")

    def set_params(self, episodes: Mapping[str, int] | None = None, **values: object) -> None:
        """Change keys of `params.yaml`, those of its section `episodes` apart."""
        path = self.root / "params.yaml"
        params = yaml.safe_load(path.read_text())
        params |= values
        params["episodes"] |= episodes or {}
        path.write_text(yaml.safe_dump(params, sort_keys=False))

    def commit(self) -> None:
        """Commit everything that git does not ignore."""
        self.ok("git", "add", "--all")
        self.ok("git", "commit", "--quiet", "--message", "state")

    def restore(self) -> None:
        """Go back to the last commit; what git ignores stays."""
        self.ok("git", "reset", "--quiet", "--hard")
        self.ok("git", "clean", "--quiet", "-d", "--force")

    def mend(self) -> None:
        """Delete what DVC itself may leave torn when it is killed, as a user would after reading its message.

        DVC rewrites `dvc.lock` and `.dvc/tmp/rwlock` in place; killed in the milliseconds that takes, it leaves a part
        and refuses to run. Without a `dvc.lock` it restores finished stages from its run cache; the other file is a
        list of running processes.
        """
        lock, running = self.root / "dvc.lock", self.root / ".dvc" / "tmp" / "rwlock"
        if lock.exists() and not _is_whole_lock(lock.read_text()):
            lock.unlink()
        try:
            json.loads(running.read_text())
        except FileNotFoundError:
            pass
        except ValueError:
            running.unlink()


@dataclass(frozen=True)
class FirstRun:
    """A copy after its first `dvc repro`.

    Attributes:
        project: the copy.
        repro: what `dvc repro` did.
        changed: what git then saw as changed.
        data: what it computed, kept apart.
    """

    project: Project
    repro: Repro
    changed: list[str]
    data: Path


def _is_whole_lock(text: str) -> bool:
    """Whether every stage of a `dvc.lock` got to its last line, the number of files or the size of its output."""
    try:
        stages = yaml.safe_load(text)["stages"].values()
        return all(
            len(item["md5"].removesuffix(".dir")) == 32 and isinstance(item["size"], int)
            for stage in stages
            for item in (*stage["deps"], *stage["outs"])
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return False


def copy_project(root: Path) -> Project:
    """Copy the work tree, committed or not, to `root` and make it a git repository of its own.

    What experiments left in git stays behind, so that a copy starts as if nothing had ever been computed.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        env=_environment(root),
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(COMPUTED):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    project = Project(root, _environment(root))
    project.ok("git", "init", "--quiet")
    for key, value in {"user.name": "Test", "user.email": "test@example.org", "commit.gpgsign": "false"}.items():
        project.ok("git", "config", key, value)
    return project


def _environment(root: Path) -> dict[str, str]:
    """The user's environment without git's, DVC's and our variables; `python` is the running interpreter."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_", "FSGC_"))}
    beside = root.parent / f"{root.name}-dvc"
    directories = {f"DVC_{name}_DIR": str(beside / name) for name in ("GLOBAL_CONFIG", "SYSTEM_CONFIG", "SITE_CACHE")}
    return {
        **kept,
        **directories,
        "DVC_NO_ANALYTICS": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def tree(path: Path) -> dict[str, bytes]:
    """Every file below a directory, hidden ones too, or the one file, with its bytes."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files if file.is_file()}


STORES = ("raw", "graphs.zarr", "split.json", "episodes.zarr")


def stores(data: Path, names: Iterable[str] = STORES) -> dict[str, bytes]:
    """Every file of the stores of an experiment with its bytes; unfinished ones too."""
    return {f"{store}/{name}": content for store in names for name, content in tree(data / store).items()}


def leftovers(data: Path) -> list[str]:
    """What unfinished writing left below a data root: temporaries and parts of downloads."""
    return [
        path.relative_to(data).as_posix()
        for path in sorted(data.rglob("*"))
        if ".partial-" in path.name or path.suffix == ".part"
    ]
