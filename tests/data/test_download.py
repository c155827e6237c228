from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from fsgc.data.catalog import Dataset, Statistics, dataset, load_catalog
from fsgc.data.download import download, is_downloaded, stored_files
from fsgc.data.fetch import Patience
from fsgc.errors import ChecksumError, DownloadError
from fsgc.files import sha256_of
from tests.data.raw_files import plain_file, zip_bytes, zip_file
from tests.http_server import Handler, Server, ranged

ROOT = Path(__file__).parents[2]
GRAPHS, LABELS, EXTRA = b"1, 2\n" * 1000, b"0\n1\n", b"b" * 77
ZIPPED = {"X_labels.txt": LABELS, "X_A.txt": GRAPHS}
QUICK = Patience(attempts=1, pause=0.0, timeout=(5.0, 5.0))


def entry(*urls: str) -> Dataset:
    """A dataset of one zip with two members and one plain file."""
    files = (zip_file("x.zip", "tu/x.zip", ZIPPED, *urls), plain_file("b.txt", "b.txt", EXTRA, *urls))
    return replace(dataset("triangles_gen"), key="x", files=files, statistics=Statistics(1, 1, 1.0, 1.0))


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture(autouse=True)
def small_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "mirror"
    (directory / "tu").mkdir(parents=True)
    (directory / "tu" / "x.zip").write_bytes(zip_bytes(ZIPPED))
    (directory / "b.txt").write_bytes(EXTRA)
    monkeypatch.setenv("FSGC_MIRROR", str(directory))
    return directory


@pytest.fixture
def web_mirror(server: Server, small_mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The mirror as an address."""
    for path in ("/tu/x.zip", "/b.txt"):
        server.url(path, ranged((small_mirror / path[1:]).read_bytes()))
    monkeypatch.setenv("FSGC_MIRROR", server.address)
    return server


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "data" / "raw" / "x"


def test_the_directory_holds_members_files_and_manifest(target: Path, partials: Path) -> None:
    download(entry(), target, partials)
    found = contents(target)
    manifest = json.loads(found.pop("manifest.json"))
    assert found == {"X_A.txt": GRAPHS, "X_labels.txt": LABELS, "b.txt": EXTRA}
    assert manifest == {
        "dataset": "x",
        "files": [
            {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in [("X_A.txt", GRAPHS), ("X_labels.txt", LABELS), ("b.txt", EXTRA)]
        ],
    }
    assert names(target.parent) == {"x"}


def test_the_bytes_do_not_depend_on_the_source(
    tmp_path: Path, target: Path, partials: Path, web_mirror: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    download(entry(), target, partials, QUICK)
    assert web_mirror.asked == ["/tu/x.zip", "/b.txt"]
    monkeypatch.setenv("FSGC_MIRROR", str(tmp_path / "mirror"))
    download(entry(), tmp_path / "again", tmp_path / "other")
    assert contents(tmp_path / "again") == contents(target)
    assert not list(partials.glob("*.part"))


def test_a_generated_dataset_has_a_manifest_of_nothing(
    target: Path, partials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSGC_MIRROR", "/no/such/directory")  # of no concern here
    download(dataset("triangles_gen"), target, partials)
    assert names(target) == {"manifest.json"}
    assert json.loads((target / "manifest.json").read_text()) == {"dataset": "triangles_gen", "files": []}
    assert is_downloaded(dataset("triangles_gen"), target)


def test_is_downloaded(target: Path, partials: Path) -> None:
    assert not is_downloaded(entry(), target)
    download(entry(), target, partials)
    assert is_downloaded(entry(), target)
    assert not is_downloaded(replace(entry(), key="y"), target)
    assert not is_downloaded(replace(entry(), files=entry().files[:1]), target)
    changed = replace(entry().files[1], sha256="0" * 64)
    assert not is_downloaded(replace(entry(), files=(entry().files[0], changed)), target)
    (target / "b.txt").write_bytes(EXTRA[1:])
    assert not is_downloaded(entry(), target)
    (target / "b.txt").unlink()
    assert not is_downloaded(entry(), target)
    (target / "manifest.json").write_bytes(b"\xff")
    assert not is_downloaded(entry(), target)


def test_what_is_there_and_intact_is_left_alone(
    target: Path, partials: Path, small_mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    download(entry(), target, partials)
    before = target.stat().st_ino
    monkeypatch.delenv("FSGC_MIRROR")
    download(entry(), target, partials)
    assert target.stat().st_ino == before
    (target / "b.txt").write_bytes(b"c" * 77)
    monkeypatch.setenv("FSGC_MIRROR", str(small_mirror))
    download(entry(), target, partials)
    assert (target / "b.txt").read_bytes() == EXTRA


def test_a_failure_leaves_nothing(target: Path, partials: Path, small_mirror: Path) -> None:
    (small_mirror / "b.txt").write_bytes(b"c" * 77)
    with pytest.raises(ChecksumError, match=r"b\.txt could not be obtained"):
        download(entry(), target, partials)
    assert names(target.parent) == set()
    (small_mirror / "b.txt").unlink()
    with pytest.raises(DownloadError, match=r"(?s)b\.txt.*No such file.*FSGC_MIRROR"):
        download(entry(), target, partials)
    assert names(target.parent) == set()


def test_a_failure_keeps_what_was_there(target: Path, partials: Path, small_mirror: Path) -> None:
    target.mkdir(parents=True)
    (target / "old").touch()
    (small_mirror / "b.txt").unlink()
    with pytest.raises(DownloadError):
        download(entry(), target, partials)
    assert names(target) == {"old"}


def test_a_place_that_cannot_be_written(tmp_path: Path, partials: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"x: cannot store the raw files in .*/file/x: .*(Not a dir|exists)"):
        download(entry(), tmp_path / "file" / "x", partials)


def test_two_processes_at_once_download_once(target: Path, partials: Path, web_mirror: Server) -> None:
    imports = (
        "from pathlib import PosixPath; from fsgc.data.download import download;"
        "from fsgc.data.catalog import Dataset, Member, RawFile, Statistics;"
    )
    command = [sys.executable, "-c", f"{imports} download({entry()!r}, {target!r}, {partials!r})"]
    gate, asked = threading.Event(), threading.Event()
    answer = web_mirror.routes["/tu/x.zip"][0]

    def wait_then_answer(handler: Handler) -> None:
        asked.set()
        gate.wait(20)
        answer(handler)

    web_mirror.url("/tu/x.zip", wait_then_answer)
    first = subprocess.Popen(command)
    assert asked.wait(20)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as second:
        assert second.stderr is not None
        assert second.stderr.readline() == "x: waiting for another process that downloads it\n"
        gate.set()
        assert second.stderr.read() == ""
    assert [first.wait(), second.returncode] == [0, 0]
    assert web_mirror.asked == ["/tu/x.zip", "/b.txt"]
    assert is_downloaded(entry(), target)
    assert names(target.parent) == {"x"}


def stage(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline.download", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60)


def test_the_stage(tmp_path: Path) -> None:
    done = stage("--dataset", "triangles_gen", "--tables", str(tmp_path / "data"))
    assert (done.returncode, done.stderr) == (0, "")
    assert names(tmp_path / "data" / "raw") == {"triangles_gen"}


def test_the_stage_says_what_is_wrong_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_MIRROR", "nowhere")
    failed = stage("--dataset", "triangles", "--tables", str(tmp_path / "data"))
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: FSGC_MIRROR is 'nowhere'")
    assert "Traceback" not in failed.stderr
    assert names(tmp_path / "data" / "raw") == set()


@pytest.mark.real
@pytest.mark.parametrize("key", list(load_catalog()))
def test_the_real_files(mirror: Path, key: str, target: Path, partials: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_MIRROR", str(mirror))
    real = dataset(key)
    local = replace(real, files=tuple(replace(file, urls=()) for file in real.files))
    download(local, target, partials)
    assert is_downloaded(real, target)
    assert names(target) == {"manifest.json", *(file.name for file in stored_files(real))}
    assert all(sha256_of(target / file.name) == file.sha256 for file in stored_files(real))
    for file in real.files:
        if file.members:
            with zipfile.ZipFile(mirror / file.mirror) as archive:
                inside = {Path(name).name: archive.read(name) for name in archive.namelist()}
            assert all((target / item.name).read_bytes() == inside[item.name] for item in file.members)
        else:
            assert (target / file.name).read_bytes() == (mirror / file.mirror).read_bytes()
