"""Two trainings of one name in one data root, as real processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from filelock import FileLock

from fsgc.cli import main

NAME = "triangles_gen-2shot-pn-seed0"
PARAMS = (
    "episodes: {{queries: 3, train_epochs: {epochs}, train_per_epoch: 8, val: 5, test: 5}}\n"
    "train: {{default: {{max_epochs: {epochs}, patience: {epochs}, accelerator: cpu}}}}\n"
    "embedder: {{default: {{width: {width}}}}}\n"
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def _words(name: str, epochs: int, width: int = 4) -> list[str]:
    Path(f"{name}.yaml").write_text(PARAMS.format(epochs=epochs, width=width))
    return ["train", "pn", "triangles_gen", "-k", "2", "--params", f"{name}.yaml", "-o", f"{name}.pt"]


def _run(name: str, epochs: int, width: int = 4) -> Result:
    return CliRunner().invoke(main, _words(name, epochs, width))


@contextmanager
def _under_way(name: str, epochs: int, data: Path) -> Iterator[None]:
    """A training in another process, which stands still once it has written checkpoints and is killed in the end."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "fsgc", *_words(name, epochs)]
    with (
        Path(f"{name}.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as it,
    ):
        try:
            while not (data / ".training" / NAME / "last.ckpt").exists():
                assert it.poll() is None, Path(f"{name}.log").read_text()
                time.sleep(0.02)
            it.send_signal(signal.SIGSTOP)
            yield
        finally:
            it.kill()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="stops a process")
def test_a_second_training_of_the_name_is_refused_and_harms_nothing(data: Path) -> None:
    with _under_way("first", 20, data):
        before = _content(data / ".training" / NAME)
        second = _run("second", 1, width=8)
        assert second.exit_code == 1
        assert f"another 'fsgc train' of {NAME} is running on {data}, and would lose its checkpoints" in second.output
        assert "wait for it to end, or set FSGC_DATA to another directory" in second.output
        assert not Path("second.pt").exists()
        assert _content(data / ".training" / NAME) == before
    # The lock of a killed process is free, and what it had trained is resumed.
    resumed = _run("first", 20)
    assert resumed.exit_code == 0, resumed.output
    assert "epoch 20/20" in resumed.output
    assert "epoch 1/20" not in resumed.output
    assert Path("first.pt").exists()


def _content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_the_lock_file_of_an_ended_training_is_in_nobodys_way(data: Path) -> None:
    for name in ("first", "second"):
        done = _run(name, 1)
        assert done.exit_code == 0, done.output
    assert [path.name for path in (data / ".training").iterdir()] == [f"{NAME}.lock"]


def test_trainings_for_all_shots_share_a_lock(data: Path) -> None:
    words = ["train", "untrained", "triangles_gen", "-k"]
    (data / ".training").mkdir(parents=True)
    with FileLock(data / ".training" / "triangles_gen-untrained-seed0.lock"):
        for shots in ("2", "3"):
            refused = CliRunner().invoke(main, [*words, shots, "-o", "model.pt"])
            assert "another 'fsgc train' of triangles_gen-untrained-seed0 is running" in refused.output
        other = CliRunner().invoke(main, [*words, "2", "--seed", "1", "-o", "model.pt"])
        assert other.exit_code == 0, other.output


@pytest.mark.parametrize("reason", [OSError(errno.EROFS, "Read-only file system"), NotImplementedError("no flock")])
def test_where_nothing_can_be_locked_training_goes_on(
    data: Path, reason: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise reason

    assert CliRunner().invoke(main, ["build", "triangles_gen", "-k", "2"]).exit_code == 0  # a download has a lock, too
    monkeypatch.setattr(FileLock, "acquire", refuse)
    done = CliRunner().invoke(main, ["train", "untrained", "triangles_gen", "-k", "2", "-o", "model.pt"])
    assert done.exit_code == 0, done.output
    path = data / ".training" / "triangles_gen-untrained-seed0.lock"
    assert f"{path} cannot be locked ({reason}): leave other trainings of it" in caplog.text
