"""Obtaining one raw file: from the mirror, else from its public addresses, resumed, bounded and verified.

A download goes to a partial file, which a later process resumes, and is stored from there only if its bytes
are what the catalog expects. The environment variable `FSGC_MIRROR`, a directory or an address, comes first.
"""

from __future__ import annotations

import glob
import hashlib
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlsplit

import requests
from tqdm import tqdm

from fsgc.data.answer import Answer, SlowError, WebError
from fsgc.data.archive import store
from fsgc.data.catalog import RawFile
from fsgc.errors import ChecksumError, DownloadError, SettingsError

MIRROR_VARIABLE = "FSGC_MIRROR"
_HASH = 10
_LONGEST_PAUSE = 30.0
_LONGEST_NUMBER = 16
_LONGEST_MESSAGE = 500
_TRANSIENT_ERRORS = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long to keep trying one address.

    Attributes:
        attempts: how often to ask before the next address is tried; only transient failures are asked again.
        pause: seconds to wait after the first failure; doubled after each further one.
        timeout: seconds to wait for a connection, and for the next bytes.
        grace: seconds that one address may take in all, and
        slowest: bytes a second that must come beyond these; what has come by then waits to be resumed.
    """

    attempts: int = 4
    pause: float = 1.0
    timeout: tuple[float, float] = (10.0, 30.0)
    grace: float = 180.0
    slowest: float = 10_000.0


DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True)
class Failure:
    """Why an address was passed over; `other_bytes` if it has something else than the file expected."""

    address: str
    reason: str
    other_bytes: bool


class _TransientError(Exception):
    """A failure worth another attempt, after at least `pause` seconds."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


def fetch(file: RawFile, directory: Path, partial_dir: Path, patience: Patience = DEFAULT_PATIENCE) -> None:
    """Store `file` in `directory` (a zip: its members) from the first address that has the expected bytes.

    Not for two processes with one `partial_dir` at a time: `fsgc.data.download.download` sees to that.

    Args:
        file: what to obtain.
        directory: an existing directory.
        partial_dir: where an unfinished download waits to be resumed; made when needed.
        patience: how long to keep trying each address.

    Raises:
        SettingsError: `FSGC_MIRROR` is neither a directory nor an http(s) address.
        DownloadError: no address has the file; a `ChecksumError` if one has other bytes than expected.
    """
    failures: list[Failure] = []
    for address in _addresses(file):
        try:
            if isinstance(address, Path):
                _from_directory(file, address, directory)
            else:
                _from_web(file, address, directory, partial_path(file, address, partial_dir), patience)
        except DownloadError as error:
            failures.append(Failure(_without_password(address), _printable(error), isinstance(error, ChecksumError)))
            continue
        for failure in failures:
            _log.warning("passed over %s: %s", failure.address, failure.reason)
        for leftover in partial_dir.glob(f"{glob.escape(file.name)}-{'?' * _HASH}.part"):  # of any address
            leftover.unlink()
        return
    raise _failure(file, failures)


def partial_path(file: RawFile, address: str, partial_dir: Path) -> Path:
    """The partial file of a download; named after its address too, so that bytes of two sources never mix."""
    return partial_dir / f"{file.name}-{hashlib.sha256(address.encode()).hexdigest()[:_HASH]}.part"


def _addresses(file: RawFile) -> tuple[Path | str, ...]:
    """Where to look, in order: the mirror if one is set, then the public addresses."""
    mirror = os.environ.get(MIRROR_VARIABLE, "")
    if not mirror:
        return file.urls
    if mirror.lower().startswith(("http://", "https://")):
        return (f"{mirror.rstrip('/')}/{quote(file.mirror)}", *file.urls)
    directory = Path(mirror).expanduser()
    if not directory.is_dir():
        raise SettingsError(
            f"{MIRROR_VARIABLE} is {mirror!r}, which is neither an existing directory nor an http(s):// "
            f"address; correct it, or unset it to use the public addresses"
        )
    return (directory / file.mirror, *file.urls)


def _from_directory(file: RawFile, path: Path, directory: Path) -> None:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise DownloadError(error.strerror or str(error)) from error
    with stream:
        store(file, stream, directory)


def _from_web(file: RawFile, address: str, directory: Path, partial: Path, patience: Patience) -> None:
    """Download to `partial`, then store; bytes that fail verification are not kept."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    while True:
        resumed = partial.exists()
        try:
            _transfer(file, address, partial, patience)
            with partial.open("rb") as stream:
                store(file, stream, directory)
        except DownloadError as error:
            if not isinstance(error, ChecksumError):
                if partial.exists() and partial.stat().st_size == 0:
                    partial.unlink()  # nothing came that could be resumed
                raise
            partial.unlink(missing_ok=True)
            # What an earlier process left may be of another edition of the file: once more, from the start.
            if not resumed:
                raise
        else:
            return


def _transfer(file: RawFile, address: str, partial: Path, patience: Patience) -> None:
    """Complete `partial`, in several attempts if need be."""
    reason, pause = "", 0.0
    deadline = time.monotonic() + patience.grace + file.size / patience.slowest
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(min(max(pause, patience.pause * 2 ** (attempt - 1)), _LONGEST_PAUSE))
        try:
            with partial.open("ab") as out:
                _attempt(file, address, out, patience, deadline)
        except _TransientError as error:
            reason, pause = str(error), error.pause
        except WebError as error:
            if not isinstance(error.__cause__, _TRANSIENT_ERRORS):
                raise DownloadError(_root_cause(error)) from error
            reason, pause = _root_cause(error), 0.0
        except SlowError as error:
            raise DownloadError(str(error)) from error
        else:
            return
    raise DownloadError(f"{reason} (gave up after {patience.attempts} attempts)")


def _attempt(file: RawFile, address: str, out: BinaryIO, patience: Patience, deadline: float) -> None:
    """Ask for what `out` lacks and append it."""
    start = out.tell()
    if start > file.size:
        start = out.truncate(0)
    if start == file.size and not file.members:
        return
    headers = {"Accept-Encoding": "identity"}  # so that sizes and ranges count the file's own bytes
    if start:
        headers["Range"] = f"bytes={start}-"
    with Answer(address, headers, patience.timeout, deadline) as answer:
        response = answer.response
        status, served = response.status_code, response.headers.get("Content-Range", "")
        if status == 416 and served == f"bytes */{start}":
            return  # nothing is missing; the exact size of a zip is not known beforehand
        if status == 416 or (status == 206 and not served.startswith(f"bytes {start}-")):
            out.truncate(0)
            raise _TransientError(f"the server answered {status}, range {served!r}, when asked for {start}-")
        _check_status(response)
        if status == 200:  # the whole file, asked for or not
            start = out.truncate(0)
        _receive(answer, file, out, start)


def _check_status(response: requests.Response) -> None:
    status = response.status_code
    if status in (200, 206):
        return
    reason = f"the server answered {status} {response.reason}"
    if status in (408, 429) or status >= 500:
        after = response.headers.get("Retry-After", "")
        raise _TransientError(reason, float(_number(after) or 0))
    raise DownloadError(reason)


def _receive(answer: Answer, file: RawFile, out: BinaryIO, start: int) -> None:
    """Append the body to `out`, which holds `start` bytes; never beyond the size in the catalog."""
    position, end = start, _announced_end(answer.response, file, start)
    # `disable=None`: no bar where standard error is not a terminal.
    with tqdm(total=end, initial=start, desc=file.name, unit="B", unit_scale=True, disable=None) as bar:
        for chunk in answer:
            position += len(chunk)
            if position > file.size:
                limit = "at most " if file.members else ""
                raise ChecksumError(f"{file.name}: expected {limit}{file.size} bytes, the server sends more")
            out.write(chunk)
            out.flush()  # a killed process loses only what is under way
            bar.update(len(chunk))
    if end is not None and position < end:
        raise _TransientError(f"the connection closed after {position} of {end} bytes")


def _announced_end(response: requests.Response, file: RawFile, start: int) -> int | None:
    """The size the file should have after this body; None where only the body itself tells its end."""
    if "Content-Encoding" in response.headers or "Transfer-Encoding" in response.headers:
        return None
    length = _number(response.headers.get("Content-Length", ""))
    if length is not None:
        return start + length
    return None if file.members else file.size


def _number(header: str) -> int | None:
    """A number that a server sent, if it is one and no larger than any file."""
    return int(header) if header.isascii() and header.isdecimal() and len(header) < _LONGEST_NUMBER else None


def _root_cause(error: BaseException) -> str:
    """What went wrong in the end, without the layers of libraries around it."""
    while inner := next((e for e in (error.__cause__, *error.args) if isinstance(e, BaseException)), None):
        error = inner
    return str(error) or type(error).__name__


def _printable(error: Exception) -> str:
    """A message in which a server may have had its say: no control characters, and no more than a few lines."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(error))
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _without_password(address: Path | str) -> str:
    if isinstance(address, Path) or "@" not in (parts := urlsplit(address)).netloc:
        return str(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _failure(file: RawFile, failures: list[Failure]) -> DownloadError:
    lines = [f"{file.name} could not be obtained. Tried:" if failures else f"{file.name} has no public address."]
    lines += [f"  {failure.address}: {failure.reason}" for failure in failures]
    if os.environ.get(MIRROR_VARIABLE):
        lines.append(f"The mirror set by {MIRROR_VARIABLE} should hold this file as {file.mirror}.")
    else:
        lines.append(
            f"Off-line, or is an address gone? Set the environment variable {MIRROR_VARIABLE} to a directory "
            f"or an http(s) address that holds this file as {file.mirror}."
        )
    kind = ChecksumError if any(failure.other_bytes for failure in failures) else DownloadError
    return kind("\n".join(lines))
