"""The outcome of every test query of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fsgc.errors import StoreError
from fsgc.statistics.draw import Draw

OUTCOMES = "outcomes.bin"


@dataclass(frozen=True, eq=False)
class Outcomes:
    correct: npt.NDArray[np.bool_]
    draw: Draw
    classes: tuple[int, ...]
    confusion: npt.NDArray[np.int64]


def read_outcomes(path: Path) -> Outcomes:
    try:
        with np.load(path, allow_pickle=False) as f:
            draw = Draw(f["graphs"], int(f["shots"]), f["sizes"])
            return Outcomes(f["correct"], draw, tuple(f["classes"].tolist()), f["confusion"])
    except Exception as error:
        raise StoreError(f"{path} is damaged: {error}") from error


def write_outcomes(path: Path, o: Outcomes) -> None:
    with path.open("wb") as file:
        np.savez_compressed(
            file,
            correct=o.correct,
            graphs=o.draw.graphs,
            shots=o.draw.shots,
            sizes=o.draw.sizes,
            classes=o.classes,
            confusion=o.confusion,
        )
