from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.data.fetch import fetch
from fsgc.errors import ChecksumError, DownloadError, SettingsError
from tests.data.raw_files import CONTENT, QUICK, assert_fetched, raw_file
from tests.http_server import Server, body, ranged

pytestmark = pytest.mark.usefixtures("no_mirror")


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_address_comes_first(
    server: Server, out: Path, partials: Path, monkeypatch: pytest.MonkeyPatch, slash: str
) -> None:
    monkeypatch.setenv("FSGC_MIRROR", server.url("/base" + slash))
    server.url("/base/some%20where/a.txt", ranged(CONTENT))
    fetch(raw_file(server.url("/public")), out, partials, QUICK)
    assert_fetched(out, partials)
    assert len(server.ranges) == 1


def test_a_mirror_directory_comes_first(
    tmp_path: Path, out: Path, partials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "mirror" / "some where" / "a.txt"
    source.parent.mkdir(parents=True)
    source.write_bytes(CONTENT)
    monkeypatch.setenv("FSGC_MIRROR", str(tmp_path / "mirror"))
    fetch(raw_file(), out, partials, QUICK)
    assert (out / "a.txt").read_bytes() == source.read_bytes() == CONTENT
    assert not partials.exists()


def test_a_mirror_without_the_file_or_with_another(
    server: Server, tmp_path: Path, out: Path, partials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSGC_MIRROR", str(tmp_path))
    source = tmp_path / "some where" / "a.txt"
    with pytest.raises(DownloadError, match="No such file") as missing:
        fetch(raw_file(server.url("/gone")), out, partials, QUICK)
    assert f"  {source}: " in str(missing.value)
    assert "/gone: the server answered 404" in str(missing.value)
    source.parent.mkdir()
    source.write_bytes(bytes(len(CONTENT)))
    with pytest.raises(ChecksumError, match="expected SHA-256"):
        fetch(raw_file(server.url("/gone")), out, partials, QUICK)
    assert source.exists()
    fetch(raw_file(server.url("/a", body(CONTENT))), out, partials, QUICK)
    assert_fetched(out, partials)


@pytest.mark.parametrize("value", ["/no/such/directory", "ftp://example.org/data"])
def test_a_mirror_that_is_neither(out: Path, partials: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FSGC_MIRROR", value)
    with pytest.raises(SettingsError, match=f"FSGC_MIRROR is '{value}'"):
        fetch(raw_file("http://127.0.0.1:9/a"), out, partials, QUICK)


def test_the_password_of_a_mirror_is_not_shown(
    server: Server, out: Path, partials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSGC_MIRROR", server.url("/base").replace("//", "//me:secret@"))
    with pytest.raises(DownloadError, match=r"http://127\.0\.0\.1:\d+/base/some%20where/a\.txt: ") as caught:
        fetch(raw_file(), out, partials, QUICK)
    assert "secret" not in str(caught.value)
