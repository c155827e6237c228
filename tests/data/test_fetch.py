from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fsgc.data.catalog import RawFile
from fsgc.data.fetch import fetch, partial_path
from fsgc.errors import ChecksumError, DownloadError
from tests.data.raw_files import CONTENT, QUICK, assert_fetched, raw_file, zip_bytes, zip_file
from tests.http_server import Handler, Route, Server, body, forever, ranged, status

pytestmark = pytest.mark.usefixtures("no_mirror")
HALF = len(CONTENT) // 2


def leave_partial(file: RawFile, partials: Path, content: bytes) -> Path:
    partial = partial_path(file, file.urls[0], partials)
    partial.parent.mkdir(parents=True)
    partial.write_bytes(content)
    return partial


def command(file: RawFile, out: Path, partials: Path) -> list[str]:
    """Fetches `file` in a process of its own."""
    imports = "from pathlib import PosixPath; from fsgc.data.catalog import RawFile; from fsgc.data.fetch import *"
    return [sys.executable, "-c", f"{imports}; fetch({file!r}, {out!r}, {partials!r})"]


@pytest.mark.parametrize(
    ("routes", "ranges"),
    [
        ([ranged(CONTENT)], [None]),
        ([body(CONTENT, length=False)], [None]),
        ([status(503), status(503), body(CONTENT)], [None] * 3),
        ([status(429, Retry_After="0"), body(CONTENT)], [None] * 2),
        ([body(CONTENT, 131072), ranged(CONTENT)], [None, "bytes=131072-"]),
        ([body(CONTENT, 131072, length=False), ranged(CONTENT)], [None, "bytes=131072-"]),
        ([body(CONTENT, 131072), body(CONTENT)], [None, "bytes=131072-"]),
        (
            [body(CONTENT, 131072), status(206, Content_Range="bytes 7-9/10"), body(CONTENT)],
            [None, "bytes=131072-", None],
        ),
    ],
    ids=["plain", "no length", "503 twice", "429", "cut", "cut, no length", "cut, no ranges", "wrong range"],
)
def test_fetch(server: Server, out: Path, partials: Path, routes: list[Route], ranges: list[str | None]) -> None:
    fetch(raw_file(server.url("/a", *routes)), out, partials, QUICK)
    assert_fetched(out, partials)
    assert server.ranges == ranges


@pytest.mark.parametrize(
    ("left", "routes", "ranges"),
    [
        (CONTENT[:HALF], [ranged(CONTENT)], [f"bytes={HALF}-"]),
        (CONTENT[:HALF], [body(CONTENT)], [f"bytes={HALF}-"]),
        (CONTENT[:HALF], [status(416), body(CONTENT)], [f"bytes={HALF}-", None]),
        (CONTENT, [status(404)], []),
        (CONTENT + b"!", [ranged(CONTENT)], [None]),
        (bytes(HALF), [ranged(CONTENT)], [f"bytes={HALF}-", None]),
        (bytes(len(CONTENT)), [ranged(CONTENT)], [None]),
    ],
    ids=["ranges", "no ranges", "416", "complete", "too long", "other edition", "other edition, complete"],
)
def test_a_partial_file_is_resumed(
    server: Server, out: Path, partials: Path, left: bytes, routes: list[Route], ranges: list[str | None]
) -> None:
    file = raw_file(server.url("/a", *routes))
    leave_partial(file, partials, left)
    fetch(file, out, partials, QUICK)
    assert_fetched(out, partials)
    assert server.ranges == ranges


def test_a_killed_download_is_resumed_by_the_next_process(server: Server, out: Path, partials: Path) -> None:
    hang = threading.Event()

    def half_then_hang(handler: Handler) -> None:
        body(CONTENT, HALF)(handler)
        hang.wait(20)

    file = raw_file(server.url("/a", half_then_hang, ranged(CONTENT)))
    partial = partial_path(file, file.urls[0], partials)
    process = subprocess.Popen(command(file, out, partials))
    deadline = time.monotonic() + 20
    while not (partial.exists() and partial.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    hang.set()
    kept = partial.stat().st_size
    assert 0 < kept <= HALF
    assert list(out.iterdir()) == []
    fetch(file, out, partials, QUICK)
    assert server.ranges == [None, f"bytes={kept}-"]
    assert_fetched(out, partials)


def test_transient_failures_leave_the_partial_file(
    server: Server, out: Path, partials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    routes = body(CONTENT, 131072), status(503, Retry_After="7"), status(503, Retry_After="9999"), status(500)
    file = raw_file(server.url("/a", *routes))
    with pytest.raises(DownloadError, match=r"500 Internal Server Error \(gave up after 4 attempts"):
        fetch(file, out, partials)
    assert pauses == [1.0, 7.0, 30.0]
    assert partial_path(file, file.urls[0], partials).read_bytes() == CONTENT[:131072]
    assert list(out.iterdir()) == []


def test_404_is_not_tried_again(server: Server, out: Path, partials: Path) -> None:
    with pytest.raises(DownloadError, match="404 Not Found"):
        fetch(raw_file(server.url("/a", status(404))), out, partials, QUICK)
    assert len(server.ranges) == 1


@pytest.mark.parametrize("route", [forever, body(CONTENT + bytes(10_000_000))])
def test_what_is_too_long_is_cut_off(server: Server, out: Path, partials: Path, route: Route) -> None:
    with pytest.raises(ChecksumError, match="expected 300000 bytes, the server sends more"):
        fetch(raw_file(server.url("/a", route)), out, partials, QUICK)
    assert list(out.iterdir()) == list(partials.iterdir()) == []
    assert len(server.ranges) == 1


@pytest.mark.parametrize("wrong", [bytes(len(CONTENT)), CONTENT[:-1], b"<html>Please log in</html>"])
def test_wrong_bytes_are_not_kept(server: Server, out: Path, partials: Path, wrong: bytes) -> None:
    file = raw_file(server.url("/a", body(wrong)))
    with pytest.raises(ChecksumError) as caught:
        fetch(file, out, partials, QUICK)
    found = (file.sha256, hashlib.sha256(wrong).hexdigest()) if len(wrong) == file.size else ("300000", str(len(wrong)))
    assert all(value in str(caught.value) for value in found)
    assert list(out.iterdir()) == list(partials.iterdir()) == []


def test_the_next_address_is_tried(server: Server, out: Path, partials: Path, caplog: pytest.LogCaptureFixture) -> None:
    wrong, gone = server.url("/wrong", body(bytes(9))), server.url("/gone", status(410))
    flaky = server.url("/flaky", body(CONTENT, 131072))
    fetch(raw_file(wrong, gone, flaky, server.url("/a", ranged(CONTENT))), out, partials, QUICK)
    assert_fetched(out, partials)
    assert [wrong in caplog.text, gone in caplog.text, flaky in caplog.text] == [True] * 3
    assert [value for value in server.ranges if value] == ["bytes=131072-"] * 2  # of /flaky; sources do not mix


def test_the_error_lists_every_address(server: Server, out: Path, partials: Path) -> None:
    file = raw_file(server.url("/wrong", body(bytes(9))), server.url("/gone"))
    with pytest.raises(ChecksumError) as caught:
        fetch(file, out, partials, QUICK)
    assert str(caught.value).splitlines()[:3] == [
        "a.txt could not be obtained. Tried:",
        f"  {file.urls[0]}: a.txt: expected 300000 bytes, found 9",
        f"  {file.urls[1]}: the server answered 404 Not Found",
    ]


def test_off_line(out: Path, partials: Path) -> None:
    with Server() as closed:
        url = closed.url("/a")
    with pytest.raises(DownloadError) as caught:
        fetch(raw_file(url, "https://"), out, partials, QUICK)
    assert type(caught.value) is DownloadError
    message = str(caught.value)
    assert f"a.txt could not be obtained. Tried:\n  {url}: [Errno {errno.ECONNREFUSED}] Connection refused" in message
    assert "(gave up after 3 attempts)\n  https://: Invalid URL" in message
    assert "Set the environment variable FSGC_MIRROR to a directory or an http(s) address" in message
    assert "some where/a.txt" in message


@pytest.mark.parametrize("left", [0, HALF, None], ids=["nothing", "half", "all"])
def test_a_zip_leaves_its_members(server: Server, out: Path, partials: Path, left: int | None) -> None:
    content = zip_bytes({"a.txt": CONTENT})
    file = zip_file("x.zip", "tu/x.zip", {"a.txt": CONTENT}, server.url("/x", ranged(content)))
    if left != 0:
        leave_partial(file, partials, content[:left])
    fetch(file, out, partials, QUICK)
    assert_fetched(out, partials)
    assert server.ranges == [None if left == 0 else f"bytes={left or len(content)}-"]


@pytest.mark.parametrize("route", [forever, body(CONTENT)], ids=["too long", "not a zip"])
def test_a_zip_that_is_none(server: Server, out: Path, partials: Path, route: Route) -> None:
    with pytest.raises(ChecksumError, match=r"at most \d+ bytes, the server sends more|expected a zip archive"):
        fetch(zip_file("x.zip", "tu/x.zip", {"a.txt": CONTENT}, server.url("/x", route)), out, partials, QUICK)
    assert list(out.iterdir()) == list(partials.iterdir()) == []


def test_no_bar_where_standard_error_is_no_terminal(
    server: Server, out: Path, partials: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fetch(raw_file(server.url("/a", ranged(CONTENT))), out, partials, QUICK)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_a_terminal(server: Server, out: Path, partials: Path) -> None:
    file = raw_file(server.url("/a", ranged(CONTENT)))
    terminal, child = os.openpty()
    termios.tcsetwinsize(child, (24, 80))
    subprocess.run(command(file, out, partials), stderr=child, check=True)
    os.close(child)
    shown = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert "a.txt: 100%" in shown


def raw_answer(*lines: bytes, content: bytes = b"") -> Route:
    """Exactly these lines, whatever they say."""

    def route(handler: Handler) -> None:
        handler.wfile.write(b"\r\n".join([*lines, b"", content]))
        handler.close_connection = True

    return route


@pytest.mark.parametrize(
    "route",
    [
        raw_answer(b"HTTP/1.1 302 Found", b"Location: http://[::1"),
        raw_answer(b"HTTP/1.1 302 Found", b"Location: http://a:b:c/"),
        raw_answer(b"HTTP/1.1 302 Found", b"Location: http://\xff\xfe.invalid/"),
        raw_answer(b"HTTP/1.1 302 Found", b"Location: file:///etc/passwd"),
        raw_answer(b"HTTP/1.1 302 Found", b"Location: http://" + 300 * b"a" + b"/"),
        raw_answer(b"HTTP/1.1 200 OK", b"Content-Length: 5", b"Content-Length: 7", content=b"abcde"),
        raw_answer(b"HTTP/1.1 200 OK", b"Content-Length: " + 5000 * b"9", content=b"abcde"),
        raw_answer(b"HTTP/1.1 200 OK", "Content-Length: \u0663".encode(), content=b"abcde"),
        raw_answer(b"HTTP/1.1 200 OK", b"Content-Length: -5", content=b"abcde"),
        raw_answer(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", content=b"zz\r\n"),
        raw_answer(b"HTTP/1.1 2OO OK"),
        raw_answer(b"\x1b]0;owned\x07"),
        raw_answer(b"HTTP/1.1 200 OK", *(b"X-%d: y" % n for n in range(300))),
    ],
)
def test_after_a_malformed_answer_the_next_address_is_tried(
    server: Server, out: Path, partials: Path, route: Route
) -> None:
    fetch(raw_file(server.url("/bad", route), server.url("/good", body(CONTENT))), out, partials, QUICK)
    assert_fetched(out, partials)


def test_what_a_server_says_cannot_command_the_terminal(server: Server, out: Path, partials: Path) -> None:
    escape = raw_answer(b"HTTP/1.1 404 \x1b[2J\x1b]0;owned\x07\x9b31m" + 5000 * b"!")
    with pytest.raises(DownloadError) as caught:
        fetch(raw_file(server.url("/a", escape)), out, partials, QUICK)
    message = str(caught.value)
    assert r"the server answered 404 \x1b[2J\x1b]0;owned\x07\x9b31m!!!" in message
    assert all(character.isprintable() or character == "\n" for character in message)
    assert len(message) < 1500


@pytest.mark.parametrize(
    "headers", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"], ids=["headers", "body"]
)
def test_a_drip_ends_at_the_deadline(server: Server, out: Path, partials: Path, headers: bytes) -> None:
    """A byte now and then keeps every timeout of a connection from striking."""
    done = threading.Event()

    def drip(handler: Handler) -> None:
        handler.wfile.write(headers)
        while not done.wait(0.02):
            handler.wfile.write(b"x")

    patience = replace(QUICK, grace=0.3, slowest=1e9)
    try:
        fetch(raw_file(server.url("/slow", drip), server.url("/good", body(CONTENT))), out, partials, patience)
        with pytest.raises(DownloadError, match="the server is too slow"):
            fetch(raw_file(server.url("/slow", drip)), out, partials, patience)
    finally:
        done.set()
    assert (out / "a.txt").read_bytes() == CONTENT
