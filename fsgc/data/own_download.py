"""One file from an address that a user gave: verified, and bounded in size and time."""

from __future__ import annotations

import re
import time
from pathlib import Path

from fsgc.data.answer import Answer, SlowError, WebError
from fsgc.errors import ChecksumError, DownloadError, SettingsError
from fsgc.files import sha256_of, writing

MAX_DOWNLOAD = 8 << 30
SECONDS = 3600.0  # that a download may take in all
_TIMEOUT = (10.0, 60.0)  # seconds to wait for a connection, and for the next bytes
_HEADERS = {"Accept-Encoding": "identity"}
_LONGEST_MESSAGE = 500


def download_file(address: str, sha256: str, path: Path) -> None:
    """Download to `path`; what a server says is shown without control characters.

    Args:
        address: of the file.
        sha256: what it must have.
        path: where to write it; what fails is not left there.

    Raises:
        SettingsError: `sha256` is none.
        DownloadError: the file could not be obtained, a `ChecksumError` if it is another one.
    """
    if not re.fullmatch("[0-9a-f]{64}", sha256.lower()):
        raise SettingsError("what comes from an address needs --sha256, its checksum: 64 hexadecimal digits")
    try:
        _receive(address, path)
        _verify(address, path, sha256.lower())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _receive(address: str, path: Path) -> None:
    reason = ""
    try:
        deadline = time.monotonic() + SECONDS
        with Answer(address, _HEADERS, _TIMEOUT, deadline) as answer, writing(path), path.open("wb") as out:
            if answer.response.ok:
                for chunk in answer:
                    if out.tell() + len(chunk) > MAX_DOWNLOAD:
                        reason = f"it sends more than {MAX_DOWNLOAD >> 30} GiB"
                        break
                    out.write(chunk)
            else:
                reason = f"the server answered {answer.response.status_code} {answer.response.reason}"
    except SlowError:
        reason = f"it took more than {SECONDS / 60:.0f} minutes; download it by other means, and add the file"
    except WebError as error:
        reason = str(error)
    if reason:
        raise DownloadError(f"{address} could not be obtained: {_printable(reason)}")


def _verify(address: str, path: Path, sha256: str) -> None:
    if (found := sha256_of(path)) != sha256:
        raise ChecksumError(f"{address} has the SHA-256 {found}, expected {sha256}")


def _printable(reason: str) -> str:
    """A reason in which a server may have had its say: no control characters, and no more than a few lines."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in reason)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"
