"""The training curves of cells, read from beside their models or from what was kept of them."""

from __future__ import annotations

from fsgc.report.cells import Cell
from fsgc.report.kept import Entry, Kept, Section

CURVES = Section("curves", Entry[dict[str, list[float]]])
ON_PAGE = ("loss", "val_loss", "accuracy", "val_accuracy")
STEPS = "steps"  # how many steps the step controller of AS-MAML allows


def kept_curves(cell: Cell, kept: Kept) -> dict[str, list[float]]:
    """The curves that are shown, one value per epoch; empty where nothing was trained or none is known."""
    return kept.get(CURVES, cell, _shown) or {}


def _shown(cell: Cell) -> dict[str, list[float]] | None:
    curves = cell.curves()
    return {name: curves[name] for name in (*ON_PAGE, STEPS) if name in curves} or None
