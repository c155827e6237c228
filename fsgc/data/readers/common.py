"""Checks that several readers share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.errors import DataFormatError

_INT32 = np.iinfo(np.int32)


def check_int32(
    values: npt.NDArray[np.integer[Any]], what: str, file: Path, lines: npt.NDArray[np.integer[Any]]
) -> None:
    """Refuse numbers that the stores cannot hold; `lines` gives the line of each."""
    unfit = np.flatnonzero((values < _INT32.min) | (values > _INT32.max))
    if len(unfit):
        raise DataFormatError(f"{what} {values[unfit[0]]} is too large", file=file, line=int(lines[unfit[0]]))
