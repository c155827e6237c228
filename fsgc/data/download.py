"""Obtaining a whole dataset: its raw files and a manifest, in a directory that appears in one step.

The directory's bytes depend on the catalog alone, not on where the files came from or when, so that DVC sees
the same output whatever the source.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from fsgc.data.catalog import Dataset, Member
from fsgc.data.fetch import DEFAULT_PATIENCE, Patience, fetch
from fsgc.errors import DownloadError, StoreError
from fsgc.files import replacing, sha256_of, sweep

MANIFEST = "manifest.json"
_log = logging.getLogger(__name__)


def download(dataset: Dataset, target: Path, partial_dir: Path, patience: Patience = DEFAULT_PATIENCE) -> None:
    """Make `target` hold the raw files of `dataset` and their manifest; if it does already, do nothing.

    What is there is verified in full. A second process with the same `partial_dir` waits for the first.

    Args:
        dataset: the catalog's entry; one without files gets a manifest that lists none.
        target: the directory to make, usually `data/raw/<key>`; complete or untouched.
        partial_dir: where unfinished downloads wait to be resumed, usually `data/.partial/<key>`. It must lie
            outside `target`, which DVC deletes before it runs the stage.
        patience: how long to keep trying each address.

    Raises:
        SettingsError: `FSGC_MIRROR` is neither a directory nor an http(s) address.
        DownloadError: a file could not be obtained or stored; a `ChecksumError` if it has other bytes.
    """
    try:
        with _one_at_a_time(dataset, partial_dir):
            sweep(target.parent)
            if is_downloaded(dataset, target) and _is_intact(dataset, target):
                return
            with replacing(target) as directory:
                directory.mkdir()
                for file in dataset.files:
                    fetch(file, directory, partial_dir, patience)
                (directory / MANIFEST).write_text(_manifest(dataset), encoding="utf-8")
    except (OSError, StoreError) as error:
        raise DownloadError(f"{dataset.key}: cannot store the raw files in {target}: {error}") from error


def is_downloaded(dataset: Dataset, target: Path) -> bool:
    """Whether `target` holds the raw files of `dataset`.

    Cheap, since files are verified before they are stored: the manifest must be the one the catalog asks for
    and every file must have the size it gives. No file is read again; `download` does that.
    """
    try:
        return (target / MANIFEST).read_text(encoding="utf-8") == _manifest(dataset) and all(
            (target / file.name).stat().st_size == file.size for file in stored_files(dataset)
        )
    except (OSError, UnicodeDecodeError):
        return False


def stored_files(dataset: Dataset) -> tuple[Member, ...]:
    """The files in the raw directory, by name: plain files as they are, of zips the members."""
    stored = (
        member for file in dataset.files for member in file.members or (Member(file.name, file.size, file.sha256),)
    )
    return tuple(sorted(stored, key=lambda member: member.name))


def _is_intact(dataset: Dataset, target: Path) -> bool:
    return all(sha256_of(target / file.name) == file.sha256 for file in stored_files(dataset))


def _manifest(dataset: Dataset) -> str:
    content = {"dataset": dataset.key, "files": [asdict(file) for file in stored_files(dataset)]}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


@contextmanager
def _one_at_a_time(dataset: Dataset, partial_dir: Path) -> Iterator[None]:
    """Hold the lock of `partial_dir`; the system frees it when its holder ends, even if killed."""
    partial_dir.mkdir(parents=True, exist_ok=True)
    lock = FileLock(partial_dir / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _log.warning("%s: waiting for another process that downloads it", dataset.key)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
