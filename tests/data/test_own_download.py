"""A file from an address, and servers that mean harm."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from fsgc.data import own_download
from fsgc.data.own_download import download_file
from fsgc.errors import ChecksumError, DownloadError, SettingsError
from tests.data.raw_files import CONTENT
from tests.http_server import Handler, Server, body, forever, status

SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_file_is_verified(server: Server, tmp_path: Path) -> None:
    download_file(server.url("/a", body(CONTENT)), SHA256.upper(), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENT
    with pytest.raises(ChecksumError, match=f"/a has the SHA-256 {SHA256}, expected 0000"):
        download_file(server.url("/a", body(CONTENT)), "0" * 64, tmp_path / "b")
    with pytest.raises(SettingsError, match="needs --sha256, its checksum"):
        download_file(server.url("/a", body(CONTENT)), "0" * 63, tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_is_not_there_or_breaks_off(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="/a could not be obtained: the server answered 404 Not Found"):
        download_file(server.url("/a", status(404)), SHA256, tmp_path / "a")
    with pytest.raises(DownloadError, match=r"/b could not be obtained: .*IncompleteRead"):
        download_file(server.url("/b", body(CONTENT, 1000)), SHA256, tmp_path / "a")
    with pytest.raises(DownloadError, match="could not be obtained: "):
        download_file("http://127.0.0.1:1/a", SHA256, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_more_than_a_disk_should_take(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_download, "MAX_DOWNLOAD", 1 << 20)
    with pytest.raises(DownloadError, match="could not be obtained: it sends more than 0 GiB"):
        download_file(server.url("/a", forever), SHA256, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_what_a_server_says_cannot_command_the_terminal(server: Server, tmp_path: Path) -> None:
    def escape(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 404 \x1b[2J\x1b]0;owned\x07\x9b31m" + 5000 * b"!" + b"\r\n\r\n")
        handler.close_connection = True

    with pytest.raises(DownloadError) as caught:
        download_file(server.url("/a", escape), SHA256, tmp_path / "a")
    message = str(caught.value)
    assert r"the server answered 404 \x1b[2J\x1b]0;owned\x07\x9b31m!!!" in message
    assert message.isprintable()
    assert len(message) < 1000


@pytest.mark.parametrize(
    "headers", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"], ids=["headers", "body"]
)
def test_a_drip_ends_at_the_deadline(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: bytes
) -> None:
    """A byte now and then keeps every timeout of a connection from striking."""
    done = threading.Event()

    def drip(handler: Handler) -> None:
        handler.wfile.write(headers)
        for _ in range(2000):
            if done.wait(0.02):
                return
            handler.wfile.write(b"x")

    monkeypatch.setattr(own_download, "SECONDS", 0.5)
    try:
        with pytest.raises(DownloadError, match="it took more than 0 minutes; download it by other means, and add"):
            download_file(server.url("/slow", drip), SHA256, tmp_path / "a")
    finally:
        done.set()
    assert list(tmp_path.iterdir()) == []
