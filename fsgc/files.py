"""Writing files and directories so that a reader sees either all of them or nothing."""

from __future__ import annotations

import ctypes
import errno
import functools
import glob
import hashlib
import os
import platform
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from fsgc.errors import FsgcError, StoreError

T = TypeVar("T")
_MARK = ".partial-"
_ASIDE = "-old"
_RACES = (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)
_RETRIES = 200
_PAUSE = 0.01  # seconds; with `_RETRIES`, two seconds at most


def remove(path: Path) -> None:
    """Delete a file or a directory tree; a missing one is fine, and so is one that another process deletes, too."""
    for _ in range(_RETRIES):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):  # it changed in between
            continue
        return


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Say in a sentence what the system has against a write: a full disk, no permission, a name too long."""
    try:
        yield
    except OSError as error:
        hint = "; free some space and run this again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise StoreError(f"{target} cannot be written: {error.strerror or error}{hint}") from error


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path to write to; on success it becomes `target`, on an error nothing changes.

    Works for files and for directories. The temporary sits beside the target, so the final step is a rename on one
    file system. What killed processes left in the directory is swept away.

    Raises:
        StoreError: the system refuses to write: a full disk, no permission.
    """
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        partial = target.parent / f".{target.name}{_MARK}{os.getpid()}@{_host()}-{uuid.uuid4().hex[:8]}"
        try:
            yield partial
            _install(partial, target)
        except BaseException:
            remove(partial)
            raise


def _install(partial: Path, target: Path) -> None:
    """Make `partial` the target, in one step where the system can; other processes may do the same."""
    aside = partial.with_name(partial.name + _ASIDE)
    for attempt in range(_RETRIES):
        try:
            if not target.is_dir() or target.is_symlink():
                partial.replace(target)
            elif _exchange(partial, target):
                remove(partial)  # which is the old one now
            else:
                # A directory cannot be renamed over a non-empty one: step the old one aside first.
                remove(aside)  # from an attempt in which another process was faster; what it put there is newer
                target.rename(aside)
                partial.rename(target)
        except OSError as error:
            if error.errno not in _RACES or not partial.exists() or attempt + 1 == _RETRIES:
                if aside.exists() and not target.exists():
                    aside.rename(target)
                raise
        else:
            remove(aside)
            return


def _exchange(first: Path, second: Path) -> bool:
    """Let two paths change places in one step; False where the system or the file system cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(os.fsencode(first), os.fsencode(second)) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), str(second))


@functools.cache
def _renameat2() -> Callable[[bytes, bytes], int] | None:
    """Linux's exchange of two paths, where the C library has it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return lambda first, second: int(function(here, first, here, second, exchange))


def sweep(directory: Path) -> None:
    """Clear up after killed writers in a directory; the process id in the name tells dead from living.

    One killed between the two renames of a replacement has stepped the old target aside: it is put back.
    """
    for leftover in directory.glob(f".*{_MARK}*"):
        if _may_be_written(leftover):
            continue
        target = _target_of(leftover)
        if leftover.name.endswith(_ASIDE) and not target.exists():
            try:
                leftover.rename(target)
            except OSError as error:
                if error.errno not in _RACES:
                    raise
        else:
            remove(leftover)


def _target_of(leftover: Path) -> Path:
    return leftover.with_name(leftover.name.rpartition(_MARK)[0].removeprefix("."))


def _may_be_written(leftover: Path) -> bool:
    """Whether the writer of a left-over may be at work; one on another machine is taken to be for a day."""
    number, _, host = leftover.name.rpartition(_MARK)[2].partition("-")[0].partition("@")
    if not number.isdecimal():
        return True
    try:
        found = leftover.lstat()
        # What stood aside was written long before, perhaps before its process began: then the rename counts.
        changed = found.st_ctime if leftover.name.endswith(_ASIDE) else found.st_mtime
        if host and host != _host():
            return time.time() - changed < 86_400
        process = psutil.Process(int(number))
        # A zombie, dead but not yet waited for by its parent, writes no more; nor did one that began after the write.
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() < changed + 1)
    except (psutil.NoSuchProcess, OverflowError):
        return False
    except (FileNotFoundError, psutil.AccessDenied):  # what is gone was renamed or is being made anew by a living one
        return True


@functools.cache
def _host() -> str:
    """A short name of this machine, or container: process ids mean nothing beyond it."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def settled(path: Path, read: Callable[[], T]) -> T:
    """What `read` makes of `path`, taken again if it failed while another process replaced it.

    A reader that opens several files of a directory may find some of the old one and some of the new one. `read`
    must notice that (it checks digests) and raise an error of ours.
    """
    for _ in range(_RETRIES):
        before = _state(path)
        try:
            return read()
        except FsgcError:
            asides = list(path.parent.glob(f".{glob.escape(path.name)}{_MARK}*{_ASIDE}"))
            if before is None and asides:
                sweep(path.parent)  # its writer may be dead
            elif _state(path) == before:
                raise
            time.sleep(_PAUSE)
    return read()


def _state(path: Path) -> tuple[int, int, int] | None:
    """What changes when another process replaces a path."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
