"""Telling damage from data: SHA-256 digests inside the files they protect.

A digest here guards against disks, interrupted copies and wrong files, not against an adversary, who could write a
new one. It sits in the file itself, so that a file and its digest are replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsgc.errors import StoreError

REMEDY = (
    "delete it and make it again with 'dvc repro' or 'fsgc build'; should DVC bring back a damaged copy, "
    "'dvc repro --force' computes it anew"
)
_KEY = "sha256"
_SEAL = b"\nfsgc-sha256 "
_SEAL_LENGTH = len(_SEAL) + 64 + 1


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content as JSON gives it back: lists for tuples, strings for keys."""
    result: dict[str, Any] = json.loads(json.dumps(content))
    return result


def digest_of(content: Mapping[str, Any]) -> str:
    """The SHA-256 of plain JSON content, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON content together with its digest."""
    content = plain(content)
    text = json.dumps({**content, _KEY: digest_of(content)})
    path.write_text(text + "\n", encoding="utf-8")


def read_sealed(path: Path, remedy: str = REMEDY) -> dict[str, Any]:
    """Read JSON content and check it against its digest.

    Raises:
        FileNotFoundError: there is no such file.
        StoreError: it cannot be read, or is not what was written.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}); {remedy}") from error
    if not isinstance(content, dict) or _KEY not in content:
        raise StoreError(f"{path} has no digest: it is damaged, or was written by an older version; {remedy}")
    if content.pop(_KEY) != digest_of(content):
        raise StoreError(f"{path} is damaged: its content and its SHA-256 do not agree; {remedy}")
    return content


def sealed(data: bytes, role: str) -> bytes:
    """`data` followed by its digest, which `role` is part of: the same bytes in another role do not pass.

    Readers of zip archives, such as `torch.load`, skip what follows the archive.
    """
    return data + _SEAL + _digest(data, role) + b"\n"


def unsealed(data: bytes, role: str, path: Path, remedy: str) -> bytes:
    """What `sealed` was given; `StoreError` if these are other bytes, or bytes of another role."""
    body, seal = data[:-_SEAL_LENGTH], data[-_SEAL_LENGTH:]
    if seal != _SEAL + _digest(body, role) + b"\n":
        raise StoreError(f"{path} is damaged: its content and its SHA-256 do not agree; {remedy}")
    return body


def _digest(data: bytes, role: str) -> bytes:
    digest = hashlib.sha256(role.encode() + b"\0")
    digest.update(data)
    return digest.hexdigest().encode()
