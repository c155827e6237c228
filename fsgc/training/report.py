"""What a training took."""

from __future__ import annotations

from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class FitReport:
    """What training took.

    Attributes:
        epochs: epochs trained; 0 if there was nothing to train.
        best_epoch: the epoch the weights are from, counted from 1; 0 if there was nothing to train.
        best: the monitored validation metric there; None if there is none.
        seconds: of all epochs.
        peak_memory: bytes of main memory the process took at most.
        parameters: trainable numbers.
        recipe: what the model was made by.
        unit: what `epochs` counts, where it is something else: the choices of a search.
    """

    epochs: int
    best_epoch: int
    best: float | None
    seconds: float
    peak_memory: int
    parameters: int
    recipe: str = ""
    unit: str = "epoch"


def peak_memory() -> int:
    """Bytes of main memory this process has taken at most; what it takes now where the system does not tell."""
    used = psutil.Process().memory_info()
    return int(getattr(used, "peak_wset", 0) or _peak_on_posix() or used.rss)


def _peak_on_posix() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if psutil.MACOS else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
