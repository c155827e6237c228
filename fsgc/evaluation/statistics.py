"""Accuracy and macro F1 of every episode as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fsgc.statistics.confusion import accuracy_and_f1, confusion_matrices
from fsgc.statistics.intervals import Summary

__all__ = ["Summary", "confusion_matrices", "episode_table"]


def episode_table(scores: npt.NDArray[np.floating[Any]], way: int) -> pl.DataFrame:
    """One row per episode: accuracy (every class has as many queries, so macro is micro) and macro F1."""
    accuracy, macro_f1 = accuracy_and_f1(confusion_matrices(scores, way))
    number = np.arange(len(accuracy), dtype=np.int32)
    return pl.DataFrame({"episode": number, "accuracy": accuracy, "macro_f1": macro_f1})
