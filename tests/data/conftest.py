"""What the tests of the download share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
