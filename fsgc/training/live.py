"""Rows of values through DVCLive: what `dvc plots` draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fsgc.errors import FsgcError
from fsgc.files import writing


class TrainingError(FsgcError):
    """Training cannot go on."""


class LiveRows:
    """A directory of curves, written a row at a time; what was there before is replaced.

    Args:
        directory: where DVCLive writes.
    """

    def __init__(self, directory: Path) -> None:
        from dvclive.live import Live  # loads much of DVC, which a search or a resolved name does not need
        from scmrepo.exceptions import SCMError

        self.directory = directory
        try:
            with writing(directory):
                self._live = Live(str(directory), save_dvc_exp=False, dvcyaml=None, report=None)
        except SCMError as error:
            raise TrainingError(
                f"DVCLive cannot write the curves: {error}. A git repository needs a commit; make one, then train again"
            ) from error

    def write(self, row: Mapping[str, float]) -> None:
        """Add a row."""
        with writing(self.directory):
            for name, value in row.items():
                self._live.log_metric(name, value)
            self._live.next_step()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Write what is left to write."""
        with writing(self.directory):
            self._live.end()  # type: ignore[no-untyped-call]
