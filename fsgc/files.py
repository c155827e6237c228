"""Writing files and directories so that a reader sees either all of them or nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MARK = ".partial-"
_ASIDE = "-old"


def _is_alive(pid: int) -> bool:
    """Whether a process may still write; a zombie, dead but not yet waited for by its parent, may not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # no Linux: a zombie passes for alive
        return True
    return not status.rpartition(")")[2].lstrip().startswith(("Z", "X"))


def remove(path: Path) -> None:
    """Delete a file or a directory tree; a missing one is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sweep(target: Path) -> None:
    """Clear up after killed writers of `target`; the process id in the name tells dead from living.

    One killed between the two renames of `replacing` has stepped the old target aside: it is put back.
    """
    for leftover in target.parent.glob(f".{target.name}{_MARK}*"):
        pid = leftover.name.rpartition(_MARK)[2].split("-")[0]
        if not pid.isdigit() or _is_alive(int(pid)):
            continue
        if leftover.name.endswith(_ASIDE) and not target.exists():
            leftover.rename(target)
        else:
            remove(leftover)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path to write to; on success it becomes `target`, on an error nothing changes.

    Works for files and for directories. The temporary sits beside the target, so the final step is a rename on one
    file system. What a killed process left there is swept away by the next writer of the same target.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    partial = target.parent / f".{target.name}{_MARK}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        yield partial
        if target.is_dir() and not target.is_symlink():
            # A directory cannot be renamed over a non-empty one: step the old one aside first.
            aside = partial.with_name(partial.name + _ASIDE)
            target.rename(aside)
            partial.rename(target)
            remove(aside)
        else:
            partial.replace(target)
    except BaseException:
        remove(partial)
        raise


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
