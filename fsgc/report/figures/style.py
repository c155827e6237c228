"""How figures look and how they are saved: readable in print and by the colour-blind, the same bytes every time."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fsgc.files import replacing

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; yellow is left out, it vanishes
# on paper. Markers and dashes repeat the distinction for black-and-white prints.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
DASHES = ("-", "--", "-.", ":")
_SETTINGS: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine has it
    "font.size": 8,
    "grid.alpha": 0.3,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "savefig.dpi": 200,
    "svg.hashsalt": "fsgc",  # identifiers in the file come from this instead of from chance
}
_DECIMALS = re.compile(rb"(?<!scale\(0)(\.\d{2})\d+")  # but not in the scale of letters, which are drawn in large units
_INDENTATION = re.compile(rb"\n +")


@dataclass(frozen=True)
class NamedFigure:
    """A figure and the words that go with it.

    Attributes:
        key: names its files.
        title: its heading.
        caption: what it shows.
        drawing: the figure itself.
    """

    key: str
    title: str
    caption: str
    drawing: Figure

    def svg(self) -> bytes:
        """The figure as SVG."""
        return svg_bytes(self.drawing)


@dataclass(frozen=True)
class FigureSet:
    """The figures that could be drawn, and why others could not.

    Attributes:
        figures: drawn.
        gaps: a sentence for each that is missing, with what to do about it.
    """

    figures: tuple[NamedFigure, ...] = ()
    gaps: tuple[str, ...] = ()


@contextmanager
def house_style() -> Iterator[None]:
    """Make and save figures within this."""
    with rc_context(_SETTINGS):
        yield


def look(place: int) -> dict[str, Any]:
    """Colour, marker and dashes of the `place`-th method; 7 · 9 are distinct."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
    }


def panels(count: int, columns: int = 3, width: float = 2.6, height: float = 2.1) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels side by side and below one another, unused places empty."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(max(4.0, columns * width), rows * height))
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False).reshape(-1)
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes[:count])


def svg_bytes(figure: Figure) -> bytes:
    """The figure as SVG, to a hundredth of a point, not indented; equal figures give equal bytes."""
    rendered = _rendered(figure, "svg", {"Date": None, "Creator": None})
    return _INDENTATION.sub(b"\n", _DECIMALS.sub(rb"\1", rendered))


def png_bytes(figure: Figure) -> bytes:
    """The figure as PNG; equal figures give equal bytes."""
    return _rendered(figure, "png", {"Software": None})


def _rendered(figure: Figure, kind: str, metadata: dict[str, None]) -> bytes:
    buffer = io.BytesIO()
    with house_style():
        # Each saving would lay the figure out anew, starting from the last layout and at its own resolution: what came
        # out would depend on what was saved before. So it is laid out once.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write `<stem>.png` and `<stem>.svg`."""
    written = []
    for suffix, content in ((".png", png_bytes(figure)), (".svg", svg_bytes(figure))):
        path = stem.with_name(stem.name + suffix)
        with replacing(path) as partial:
            partial.write_bytes(content)
        written.append(path)
    return written
