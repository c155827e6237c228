"""What the tests of the download and of own datasets share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data.own_shapes import write_folder
from tests.http_server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    """A local web server."""
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy comes between a test and its local server."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's mirror is not set."""
    monkeypatch.delenv("FSGC_MIRROR", raising=False)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The directory a file is fetched to."""
    directory = tmp_path / "out"
    directory.mkdir()
    return directory


@pytest.fixture
def partials(tmp_path: Path) -> Path:
    """Where unfinished downloads go; not made yet."""
    return tmp_path / "data" / ".partial" / "x"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a folder `shapes` of 158 labelled graphs, as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FSGC_DATASETS", raising=False)
    write_folder(tmp_path / "shapes")
    return tmp_path
