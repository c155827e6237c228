"""The errors fsgc raises on purpose.

Every message is a sentence for the person at the keyboard: what is wrong, where, and what to do. The command line
prints it without a traceback; everything that is not an `FsgcError` is a bug.
"""

from __future__ import annotations

from pathlib import Path


class FsgcError(Exception):
    """Base of all errors that fsgc raises on purpose."""


class SettingsError(FsgcError):
    """A setting is unknown, of the wrong type or out of range.

    Args:
        message: a sentence that names the key, the value and what is allowed.
        key: the key alone, with which the message begins; empty where it is about something else.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class CatalogError(FsgcError):
    """An entry of the dataset catalog is missing or malformed."""


class DownloadError(FsgcError):
    """A raw file could not be obtained; the message lists every address tried."""


class ChecksumError(DownloadError):
    """A raw file has other bytes than the catalog expects."""


class StoreError(FsgcError):
    """A stored file (graphs, split, episodes) is missing, incomplete or inconsistent."""


class DataFormatError(FsgcError):
    """A raw file is malformed.

    Args:
        message: what is wrong.
        file: the file it was found in.
        line: the line, counted from 1.
        graph: the graph, counted from 0, where no line says more.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        graph: int | None = None,
    ) -> None:
        where = [str(file)] if file is not None else []
        if line is not None:
            where.append(f"line {line}")
        if graph is not None:
            where.append(f"graph {graph}")
        super().__init__(f"{', '.join(where)}: {message}" if where else message)
        self.file = file
        self.line = line
        self.graph = graph
