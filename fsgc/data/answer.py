"""A server's answer, read by a thread of its own: no server can hold up the caller beyond its deadline.

The timeouts of a connection bound the wait for the next bytes only; a server that sends one now and then, in the
headers or in the body, would keep a reader for ever.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from types import TracebackType

import requests

_CHUNK = 1 << 16
_AHEAD = 4  # chunks read before they are asked for


class WebError(Exception):
    """The connection or the answer is broken; its cause tells how. Libraries raise many types for that."""


class SlowError(Exception):
    """The answer did not come in time."""


class _Abandoned(Exception):  # noqa: N818  (no error: the caller has left)
    pass


class Answer:
    """The answer to a GET request, to be iterated over in chunks within `with`.

    Args:
        address: what to ask for.
        headers: of the request.
        timeout: seconds to wait for a connection, and for the next bytes.
        deadline: when all of it must have come, by `time.monotonic`.

    Raises:
        WebError: something is wrong with the connection or with what the server says.
        SlowError: the deadline has passed.
    """

    def __init__(self, address: str, headers: Mapping[str, str], timeout: tuple[float, float], deadline: float) -> None:
        self._deadline = deadline
        self._left = threading.Event()
        self._items: queue.Queue[requests.Response | bytes | Exception | None] = queue.Queue(_AHEAD)
        arguments = (address, dict(headers), timeout)
        threading.Thread(target=self._read, args=arguments, daemon=True, name=f"GET {address}").start()

    def __enter__(self) -> Answer:
        item = self._next()
        assert isinstance(item, requests.Response)
        self.response = item
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._left.set()

    def __iter__(self) -> Iterator[bytes]:
        while isinstance(chunk := self._next(), bytes):
            yield chunk

    def _next(self) -> requests.Response | bytes | None:
        try:
            item = self._items.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            self._left.set()
            raise SlowError("the server is too slow; what it has sent so far is kept, to be resumed") from None
        if isinstance(item, Exception):
            raise WebError(str(item)) from item
        return item

    def _read(self, address: str, headers: dict[str, str], timeout: tuple[float, float]) -> None:
        """What the thread does: put the response, its chunks and None into the queue, or what went wrong."""
        try:
            with requests.get(address, headers=headers, stream=True, timeout=timeout) as response:
                self._put(response)
                for chunk in response.iter_content(_CHUNK):
                    self._put(chunk)
            self._put(None)
        except _Abandoned:
            return
        except Exception as error:  # malformed headers make requests, urllib3 and http.client raise nearly anything
            try:
                self._put(error)
            except _Abandoned:
                return

    def _put(self, item: requests.Response | bytes | Exception | None) -> None:
        while not self._left.is_set():
            try:
                self._items.put(item, timeout=0.05)
            except queue.Full:
                continue
            return
        raise _Abandoned
