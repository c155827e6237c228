"""A local web server that answers as a test tells it to: whole, in part, slowly or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Route = Callable[["Handler"], None]
_PIECE = 1 << 14


class Server(ThreadingHTTPServer):
    """Answers a path by its routes, the last one again and again.

    Attributes:
        routes: path -> what to answer; a path without routes gets 404.
        asked: the path of every request.
        ranges: the Range header of every request.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.routes: dict[str, list[Route]] = {}
        self.asked: list[str] = []
        self.ranges: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def url(self, path: str, *routes: Route) -> str:
        """Answer `path` by `routes`; its address."""
        self.routes[path] = list(routes)
        return self.address + path

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients here hang up on purpose."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.ranges.append(self.headers["Range"])
        routes = self.server.routes.get(self.path) or [status(404)]
        (routes.pop(0) if len(routes) > 1 else routes[0])(self)

    def start(self, code: int, length: int | None, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the test's output clean."""


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs in a thread of this process."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def status(code: int, **headers: str) -> Route:
    return lambda handler: handler.start(code, 0, **headers)


def body(content: bytes, sent: int | None = None, length: bool = True) -> Route:
    """The whole content, whatever is asked for; cut off after `sent` bytes."""

    def route(handler: Handler) -> None:
        handler.start(200, len(content) if length else None)
        handler.wfile.write(content[:sent])

    return route


def ranged(content: bytes, pause: float = 0.0) -> Route:
    """The part of the content that is asked for, with a pause after every 16 KiB."""

    def route(handler: Handler) -> None:
        wanted, start, size = handler.headers["Range"], 0, len(content)
        if wanted is None:
            handler.start(200, size)
        else:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= size:
                return status(416, Content_Range=f"bytes */{size}")(handler)
            handler.start(206, size - start, Content_Range=f"bytes {start}-{size - 1}/{size}")
        for begin in range(start, size, _PIECE):
            handler.wfile.write(content[begin : begin + _PIECE])
            time.sleep(pause)
        return None

    return route


def forever(handler: Handler) -> None:
    handler.start(200, None)
    for _ in range(1000):  # 65 MB: for ever to a client that should stop at 0.3, no full disk if it does not
        handler.wfile.write(bytes(1 << 16))
