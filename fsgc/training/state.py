"""The state of a training that is under way: written in one step, checked when read, cleared if it is of no use."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning.plugins.io import CheckpointIO

from fsgc.errors import StoreError
from fsgc.files import remove, replacing
from fsgc.integrity import read_sealed, sealed, unsealed, write_sealed

RUN_FILE = "run.json"
BEST, LAST = "best.ckpt", "last.ckpt"
_log = logging.getLogger(__name__)


class SealedCheckpoints(CheckpointIO):
    """How Lightning writes checkpoints here: beside their place, with a digest, then renamed.

    Lightning's own way goes through the system's temporary directory; on another file system the last step of that is
    a copy, and a process killed in its middle leaves half a checkpoint.

    Args:
        identity: names the run; part of every digest, so that a checkpoint of another run does not pass.
    """

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:  # noqa: ARG002
        """Write a checkpoint, whole or not at all."""
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        with replacing(Path(path)) as partial:
            partial.write_bytes(sealed(buffer.getvalue(), self._role(Path(path))))

    def load_checkpoint(
        self,
        path: str | Path,
        map_location: Any = "cpu",
        weights_only: bool | None = True,  # noqa: ARG002  (never anything else)
    ) -> dict[str, Any]:
        """Read a checkpoint; `StoreError` if it is not what was written."""
        path = Path(path)
        try:
            data = unsealed(path.read_bytes(), self._role(path), path, "delete it and train again")
            content: dict[str, Any] = torch.load(io.BytesIO(data), map_location=map_location, weights_only=True)
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror})") from error
        return content

    def remove_checkpoint(self, path: str | Path) -> None:
        """Delete a checkpoint."""
        remove(Path(path))

    def _role(self, path: Path) -> str:
        return f"{path.name} {self.identity}"


@dataclass(frozen=True)
class TrainingState:
    """A directory with what a training needs to be resumed.

    Attributes:
        directory: holds the checkpoints of the best and of the last epoch, and a file that names the run.
        identity: names the run by its code, settings and data; another one's state is of no use.
        monitor: the validation metric that the best epoch is chosen by.
    """

    directory: Path
    identity: str
    monitor: str

    @property
    def files(self) -> SealedCheckpoints:
        """Reads and writes the checkpoints."""
        return SealedCheckpoints(self.identity)

    def open(self) -> dict[str, Any] | None:
        """The checkpoint of the last epoch, if there is one of this very run, whole and with all that belongs to it.

        Any other state is cleared: silently that of another run, with a line one that is damaged or incomplete.
        """
        try:
            if read_sealed(self.directory / RUN_FILE) == {"identity": self.identity}:
                if not any((self.directory / name).exists() for name in (BEST, LAST)):
                    return None
                # Killed in its first epoch, a run has written the best epoch and not yet the last.
                return self._last() if (self.directory / LAST).exists() else None
        except FileNotFoundError:
            if any((self.directory / name).exists() for name in (BEST, LAST)):
                self._say(f"{RUN_FILE} is missing")
        except StoreError as error:
            self._say(str(error))
        self._clear()
        return None

    def best(self) -> dict[str, Any]:
        """The checkpoint of the best epoch of a training that has ended."""
        return self._checked_best(self.files.load_checkpoint(self.directory / LAST))

    def _last(self) -> dict[str, Any]:
        last = self.files.load_checkpoint(self.directory / LAST)
        self._checked_best(last)
        return last

    def _checked_best(self, last: dict[str, Any]) -> dict[str, Any]:
        """The best checkpoint, which must be of the epoch that the curves of `last` say is best, or of a later one.

        A run killed between the two writes has a best epoch that is one ahead of its last; it will be trained again.
        """
        best = self.files.load_checkpoint(self.directory / BEST)
        values = [row[f"val_{self.monitor}"] for row in last["callbacks"]["Curves"]["rows"]]
        sign = 1 if self.monitor == "loss" else -1
        expected = int(np.argmin(np.nan_to_num(sign * np.array(values), nan=np.inf)))
        if best["epoch"] not in (expected, last["epoch"] + 1):
            raise StoreError(
                f"{self.directory / BEST} is of epoch {best['epoch'] + 1}, the best one was {expected + 1}; "
                f"delete {self.directory} and train again"
            )
        return best

    def _say(self, reason: str) -> None:
        _log.warning("the training starts anew, since the state of an earlier run is of no use: %s", reason)

    def _clear(self) -> None:
        remove(self.directory)
        with replacing(self.directory / RUN_FILE) as partial:
            write_sealed(partial, {"identity": self.identity})
