from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fsgc.files import remove, replacing, sha256_of, sweep
from fsgc.zarr_io import read_arrays, write_arrays


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "x.txt"
    with replacing(target) as partial:
        partial.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_directory_replaces_an_older_one(tmp_path: Path) -> None:
    target = tmp_path / "d"
    for content in ("old", "new"):
        with replacing(target) as partial:
            partial.mkdir()
            (partial / content).write_text(content)
    assert [p.name for p in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


def test_after_an_error_what_was_there_is_there(tmp_path: Path) -> None:
    target = tmp_path / "d"
    target.mkdir()
    (target / "old").touch()

    def fail() -> None:
        with replacing(target) as partial:
            partial.mkdir()
            (partial / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [p.name for p in target.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [target]


def _dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_leftovers_of_dead_writers_are_swept_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    dead = tmp_path / f".x.partial-{_dead_process()}-abc"
    living = tmp_path / f".x.partial-{os.getppid()}-abc"
    for leftover in (dead, living):
        leftover.mkdir()
        (leftover / "half").touch()
    with replacing(tmp_path / "x") as partial:
        partial.write_text("whole")
    assert not dead.exists()
    assert living.exists()


def test_a_writer_killed_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    """The old target stands aside when the writer dies; the next writer, though it fails, puts it back."""
    aside = tmp_path / f".d.partial-{_dead_process()}-abc-old"
    aside.mkdir()
    (aside / "old").touch()

    def fail() -> None:
        with replacing(tmp_path / "d"):
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["old"]


def test_a_killed_writer_leaves_the_target_alone(tmp_path: Path) -> None:
    target = tmp_path / "x.txt"
    target.write_text("old")
    code = (
        "import sys, time; from pathlib import Path; from fsgc.files import replacing\n"
        f"with replacing(Path({str(target)!r})) as p:\n"
        "    p.write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(target) as partial:
        partial.write_text("new")
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == "new"


def test_remove_and_sha256(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    remove(tmp_path / "x")
    remove(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


_REPLACE = """
import sys
from pathlib import Path
import numpy as np
from fsgc import files
from fsgc.zarr_io import write_arrays
if sys.argv[2] == "two renames":
    files._renameat2 = lambda: None
print("ready", flush=True)
for number in range(40):
    arrays = {name: np.full(1000, number) for name in "abcd"}
    write_arrays(Path(sys.argv[1]), arrays, {"kind": "test", "number": number})
"""


@pytest.mark.parametrize("way", ["one exchange", "two renames"])
def test_a_reader_sees_the_old_or_the_new_store(tmp_path: Path, way: str) -> None:
    """Two processes write the same store again and again: a reader never finds it missing, damaged or mixed."""
    target = tmp_path / "x.zarr"
    write_arrays(target, {name: np.zeros(1000) for name in "abcd"}, {"kind": "test", "number": 0})
    command = [sys.executable, "-c", _REPLACE, str(target), way]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    seen = set()
    while any(writer.poll() is None for writer in writers):
        arrays, attributes = read_arrays(target, "test", tuple("abcd"))
        seen.add(attributes["number"])
        for array in arrays.values():
            assert (array == attributes["number"]).all()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert len(seen) > 2
    assert list(tmp_path.iterdir()) == [target]


def test_leftovers_of_other_targets_are_swept_too(tmp_path: Path) -> None:
    """A store that is never written again would keep them for good."""
    dead = _dead_process()
    for name, end in (("a", ""), ("b", "-old"), ("c", "-old")):
        leftover = tmp_path / f".{name}.partial-{dead}-abc{end}"
        leftover.mkdir()
        (leftover / "file").touch()
    (tmp_path / "b").mkdir()
    with replacing(tmp_path / "x") as partial:
        partial.touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "c", "x"]


def test_a_process_that_began_later_is_not_the_writer(tmp_path: Path) -> None:
    """Process ids come round again."""
    leftover = tmp_path / f".x.partial-{os.getpid()}-abc"
    leftover.touch()
    os.utime(leftover, (1, 1))
    sweep(tmp_path)
    assert not leftover.exists()


def test_a_writer_on_another_machine_is_left_alone_for_a_day(tmp_path: Path) -> None:
    fresh, stale = (tmp_path / f".{name}.partial-{_dead_process()}@elsewhere-abc" for name in "ab")
    for leftover in (fresh, stale):
        leftover.touch()
    os.utime(stale, (1, 1))
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [fresh]


def test_a_full_disk_is_a_sentence_and_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "x.zarr"
    write_arrays(target, {"a": np.arange(3)}, {"kind": "test"})
    limited = (
        "import resource, signal, sys; from pathlib import Path\n"
        "import numpy as np; from fsgc.zarr_io import write_arrays\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "write_arrays(Path(sys.argv[1]), {'a': np.random.default_rng(0).random(9999)}, {'kind': 'test'})\n"
    )
    done = subprocess.run([sys.executable, "-c", limited, str(target)], capture_output=True, text=True, check=False)
    assert f"StoreError: {target} cannot be written: File too large" in done.stderr
    np.testing.assert_array_equal(read_arrays(target, "test", ("a",))[0]["a"], np.arange(3))
    assert list(tmp_path.iterdir()) == [target]
