"""Entries of the catalog for content made up in a test."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fsgc.data.catalog import Member, RawFile
from fsgc.data.fetch import Patience

CONTENT = random.Random(0).randbytes(300_000)
QUICK = Patience(attempts=3, pause=0.0, timeout=(5.0, 5.0))


def raw_file(*urls: str) -> RawFile:
    """The entry of `CONTENT`."""
    return plain_file("a.txt", "some where/a.txt", CONTENT, *urls)


def assert_fetched(out: Path, partials: Path) -> None:
    """`out` holds `CONTENT` and nothing else; no unfinished download is left."""
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {"a.txt": CONTENT}
    assert list(partials.iterdir()) == []


def member(name: str, content: bytes) -> Member:
    return Member(name, len(content), hashlib.sha256(content).hexdigest())


def plain_file(name: str, mirror: str, content: bytes, *urls: str) -> RawFile:
    return RawFile(name, mirror, urls, len(content), hashlib.sha256(content).hexdigest())


def zip_bytes(contents: Mapping[str, bytes]) -> bytes:
    """An archive as TU's: its members in a folder, with a slash too many, and one that nobody asked for."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(f"X//{name}", content)
        archive.writestr("X//README.txt", b"not asked for")
    return stream.getvalue()


def zip_file(name: str, mirror: str, contents: Mapping[str, bytes], *urls: str) -> RawFile:
    """The entry of an archive that holds `contents`."""
    members = tuple(member(inside, content) for inside, content in contents.items())
    return RawFile(name, mirror, urls, len(zip_bytes(contents)) + 1000, members=members)
