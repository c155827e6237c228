from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fsgc.data.splits import Split
from fsgc.report.figures.plots import (
    accuracy_against_shots,
    class_distribution,
    critical_difference,
    episode_distributions,
    training_curves,
)
from fsgc.report.figures.style import COLOURS, look, png_bytes, save_figure, svg_bytes
from fsgc.statistics.ranks import Ranking
from tests.report.made_cells import accuracies

RANKING = Ranking(("b", "a", "c"), (1.2, 1.9, 2.9), (("enzymes", 5), ("reddit", 5)), 0.1, 1.0, ((0, 1), (1, 2)))


def _curves() -> Figure:
    return training_curves(
        {"one": {"A": {"val_accuracy": [0.5, 0.7]}}, "two": {"B": {"val_accuracy": [0.2]}}}, ["A", "B"]
    )


def _steps() -> Figure:
    return training_curves({"one": {"A": {"steps": [7, 9.5, 12]}}}, ["A"], "steps")


def _shots() -> Figure:
    return accuracy_against_shots({"one": {"A": [(5, 0.5, 0.01), (10, 0.6, 0.02)], "B": [(10, 0.4, 0.03)]}}, ["A", "B"])


def _episodes() -> Figure:
    columns = {"one": {"A": accuracies(0, 0.6), "B": accuracies(1, 0.7)}, "two": {"B": accuracies(2, 0.7)}}
    return episode_distributions(columns, ["A", "B"])


def _classes() -> Figure:
    y = np.repeat([1, 2, 3, 4, 5, 6], [5, 100, 7, 6, 4, 3])
    split = Split("enzymes", 0, (1, 3), (5,), (2, 4, 6), np.zeros(0, dtype=np.int64), len(y))
    return class_distribution({"ENZYMES": (y, split)})


def _ranks() -> Figure:
    return critical_difference(RANKING, {"a": "Method A", "b": "Method B"})


MAKERS = {
    "curves": _curves,
    "steps": _steps,
    "shots": _shots,
    "episodes": _episodes,
    "classes": _classes,
    "ranks": _ranks,
}


@pytest.mark.parametrize("name", list(MAKERS))
def test_equal_figures_have_equal_bytes(name: str, tmp_path: Path) -> None:
    one, other = (MAKERS[name]() for _ in range(2))
    png, svg = png_bytes(one), svg_bytes(one)
    assert svg_bytes(other) == svg, "whatever was saved before"
    assert png_bytes(other) == png
    written = save_figure(one, tmp_path / "a.b" / name)
    assert [path.name for path in written] == [f"{name}.png", f"{name}.svg"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    root = ET.parse(written[1]).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not any("date" in element.tag for element in root.iter())


def test_curves_show_the_values_in_per_cent() -> None:
    first, second = _curves().axes
    assert np.asarray(first.lines[0].get_xydata()) == pytest.approx(np.array([[1, 50], [2, 70]]))
    assert np.asarray(second.lines[0].get_xydata()) == pytest.approx(np.array([[1, 20]]))
    assert first.lines[0].get_color() != second.lines[0].get_color(), "a method looks the same in every panel"


def test_steps_are_shown_as_they_are() -> None:
    (axis,) = _steps().axes
    assert np.asarray(axis.lines[0].get_ydata()) == pytest.approx(np.array([7, 9.5, 12]))
    assert axis.get_ylabel() == "mean steps"


def test_shots_have_their_intervals() -> None:
    (axis,) = _shots().axes
    a, b = axis.containers
    low_high = [segment.tolist() for segment in a.lines[2][0].get_segments()]  # type: ignore[attr-defined]
    assert np.array(low_high) == pytest.approx(np.array([[[5, 49], [5, 51]], [[10, 58], [10, 62]]]))
    assert (a.get_label(), b.get_label()) == ("A", "B")


def test_boxes_are_quartiles_at_the_height_of_their_method() -> None:
    first, second = _episodes().axes
    a, b = (patch.get_path().get_extents() for patch in first.patches)
    assert (a.x0, a.x1) == pytest.approx(tuple(np.quantile(100 * accuracies(0, 0.6), [0.25, 0.75])))
    assert (b.x0, b.x1) == pytest.approx(tuple(np.quantile(100 * accuracies(1, 0.7), [0.25, 0.75])))
    (alone,) = (patch.get_path().get_extents() for patch in second.patches)
    assert (alone.y0, alone.y1) == (b.y0, b.y1) == pytest.approx((0.7, 1.3))
    assert [label.get_text() for label in first.get_yticklabels()] == ["A", "B"]


def test_classes_are_ordered_by_size_and_told_apart_by_what_they_serve() -> None:
    (axis,) = _classes().axes
    bars = {round(b.get_x() + b.get_width() / 2): b for b in axis.patches if isinstance(b, Rectangle)}
    assert [bars[place].get_height() for place in range(6)] == [100, 7, 6, 5, 4, 3]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["2", "3", "4", "1", "5", "6"]
    hatches = [bars[place].get_hatch() or "" for place in range(6)]
    assert hatches == ["xxx", "", "xxx", "", "///", "xxx"]
    assert axis.get_yscale() == "log", "100 against 3"


def test_the_ranks_are_where_they_belong() -> None:
    (axis,) = _ranks().axes
    texts = [text.get_text().strip() for text in axis.texts]
    for expected in ("Method B  1.20", "Method A  1.90", "2.90  c", "critical difference 1.00"):
        assert expected in texts
    bars = [line.get_xdata() for line in axis.lines if line.get_color() == COLOURS[1]]
    assert np.array(bars) == pytest.approx(np.array([[1.17, 1.93], [1.87, 2.93]]))


def test_every_method_looks_different() -> None:
    looks = [tuple(look(place).values()) for place in range(20)]
    assert len(set(looks)) == 20


def test_colours_differ_in_brightness_or_hue_for_all_kinds_of_sight() -> None:
    """Simulated dichromacy (Viénot, Brettel, Mollon 1999): every two colours stay apart."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    protan = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    deutan = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    colours = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS]) ** 2.2
    for sight in (np.eye(3), protan, deutan):
        seen = np.clip(colours @ (np.linalg.inv(to_lms) @ sight @ to_lms).T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)
        assert apart[~np.eye(len(seen), dtype=bool)].min() > 0.12
