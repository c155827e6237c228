"""Bringing the columns of a view to a common scale, with statistics of known graphs only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsgc.arrays import Floats, Ints
from fsgc.errors import SettingsError

SCALINGS = ("standard", "log", "norm", "plain")
CLIP = 5.0


@dataclass(frozen=True, eq=False)
class Scaling:
    """A map of rows `[G, d]` to rows of total variance 1 over the known graphs.

    Attributes:
        kind: `standard`, deviation 1 in every column, clipped at ±5; `log`, the same after `sign(x) log(1 + |x|)`;
            `norm`, rows of length 1; `plain`, as they are.
        shift: `[d]`, what is taken away from every column.
        scale: `[d]`, what it is then multiplied with.
        total: what all is multiplied with at last.
    """

    kind: str
    shift: Floats
    scale: Floats
    total: float

    @classmethod
    def fit(cls, kind: str, x: Floats, known: Ints) -> Scaling:
        """From the rows `known` of `x`."""
        if kind not in SCALINGS:
            raise SettingsError(f"scaling must be one of {', '.join(SCALINGS)}, got {kind!r}")
        rows = _curve(kind, x[known])
        shift, scale = rows.mean(axis=0), np.ones(x.shape[1])
        if kind in ("standard", "log"):
            deviation = rows.std(axis=0)
            # A column that is constant but for rounding says nothing.
            says = deviation > 1e-9 * (1 + np.abs(shift))
            scale = np.where(says, 1 / np.where(says, deviation, 1), 0)
        unfinished = cls(kind, shift, scale, 1.0)
        variance = float(unfinished.apply(x[known]).var(axis=0).sum())
        return cls(kind, shift, scale, 1 / math.sqrt(variance) if variance > 0 else 0.0)

    def apply(self, x: Floats) -> Floats:
        """Rows `[G, d]` of any graphs."""
        moved = (_curve(self.kind, x) - self.shift) * self.scale
        if self.kind in ("standard", "log"):
            moved = np.clip(moved, -CLIP, CLIP)
        return np.asarray(self.total * moved)


def _curve(kind: str, x: Floats) -> Floats:
    if kind == "log":
        return np.asarray(np.sign(x) * np.log1p(np.abs(x)))
    if kind == "norm":
        length = np.sqrt((x**2).sum(axis=1, keepdims=True))
        return np.asarray(x / np.where(length > 0, length, 1))
    return x
