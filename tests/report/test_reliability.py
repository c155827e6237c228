from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from fsgc.errors import StoreError
from fsgc.evaluation.results import SCORES_KIND
from fsgc.files import remove
from fsgc.report.build import build_docs
from fsgc.report.cells import find_cells
from fsgc.report.figures.collect import draw_reliability
from fsgc.report.paper import load_paper
from fsgc.report.reliability import Reliabilities, calibration_table
from fsgc.report.results import Results
from fsgc.statistics.calibration import Reliability
from fsgc.tables.grid import CellKey
from fsgc.zarr_io import write_arrays
from tests.report.made_cells import EPISODES, QUERIES, WAY, outcomes, write_cell

KEY = ("triangles", 5, "pn")


def _scored(root: Path, key: CellKey, seed: int) -> np.ndarray:
    """A cell whose scores are right where its outcomes say so."""
    correct = outcomes(seed, 0.7)
    path = write_cell(root, key, correct)
    truth = np.repeat(np.arange(WAY), QUERIES)
    margin = np.random.default_rng(seed).exponential(size=correct.shape)
    scores = np.zeros((EPISODES, WAY * QUERIES, WAY), np.float32)
    scores[..., 1] = margin * np.where(correct == (truth == 1), 1, -1)
    write_arrays(path / "scores.zarr", {"scores": scores}, {"kind": SCORES_KIND})
    return scores


def test_curves_from_scores_of_all_seeds(cells_root: Path) -> None:
    scores = np.concatenate([_scored(cells_root, CellKey(*KEY, seed), seed) for seed in (0, 1)])
    results = Results(find_cells(cells_root))
    curve = Reliabilities.of(results).curves[KEY]
    probability = softmax(scores.astype(np.float64), axis=2)
    confidence = probability.max(axis=2).ravel()
    right = (probability.argmax(axis=2) == np.repeat(np.arange(WAY), QUERIES)).ravel()
    error = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence > low) & (confidence <= low + 1 / 15)
        if inside.any():
            error += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
    assert curve.expected_error == pytest.approx(error, abs=1e-6)
    table = calibration_table(results, load_paper(), Reliabilities.of(results))
    assert table is not None
    assert (
        table.rows[0].values[0].text == f"{100 * error:.1f} {'over' if confidence.mean() > right.mean() else 'under'}"
    )
    assert table.frame["mean_confidence"].item() == pytest.approx(confidence.mean(), abs=1e-6)


def test_what_was_kept_serves_where_scores_are_gone(cells_root: Path, tmp_path: Path) -> None:
    _scored(cells_root, CellKey(*KEY, 0), 0)
    results = Results(find_cells(cells_root))
    found, kept = Reliabilities.of(results), tmp_path / "reliability.csv"
    found.save(kept)
    remove(cells_root / CellKey(*KEY, 0).name / "scores.zarr")
    assert Reliabilities.of(results).curves == {}
    assert isinstance(draw_reliability(results, load_paper(), Reliabilities.of(results)), str)
    assert calibration_table(results, load_paper(), Reliabilities.of(results)) is None
    again = Reliabilities.of(results, kept)
    assert again.curves[KEY].expected_error == pytest.approx(found.curves[KEY].expected_error, abs=1e-7)
    again.save(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == kept.read_bytes()
    figure = draw_reliability(results, load_paper(), again)
    assert not isinstance(figure, str)
    assert b"TRIANGLES" in figure.svg() or "TRIANGLES" in figure.drawing.axes[0].get_title()
    (curve,) = (line for line in figure.drawing.axes[0].lines if line.get_label() == "PN")
    assert len(curve.get_xdata()) == (again.curves[KEY].count >= 0.01 * again.curves[KEY].count.sum()).sum()  # type: ignore[arg-type]


def test_a_new_seed_joins_those_that_were_kept(cells_root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "reliability.csv"
    for seed in (0, 1):
        _scored(cells_root, CellKey(*KEY, seed), seed)
    results = Results(find_cells(cells_root))
    both = Reliabilities.of(results).curves[KEY]
    scores = [cells_root / CellKey(*KEY, seed).name / "scores.zarr" for seed in (0, 1)]
    scores[1].rename(tmp_path / "aside")
    without = Reliabilities.of(results)
    assert without.curves[KEY].count.sum() * 2 == both.count.sum(), "nothing is known of seed 1"
    table = calibration_table(results, load_paper(), without)
    assert table is not None
    assert table.notes[-1].startswith("Over some of their seeds only")
    without.save(kept)
    remove(scores[0])
    (tmp_path / "aside").rename(scores[1])
    joined = Reliabilities.of(results, kept)
    assert list(joined.parts[KEY]) == [(0,), (1,)]
    np.testing.assert_array_equal(joined.curves[KEY].count, both.count)
    np.testing.assert_allclose(joined.curves[KEY].confidence, both.confidence, atol=1e-8)
    Reliabilities({}, {KEY: {(0, 1): both}}).save(kept)
    assert list(Reliabilities.of(results, kept, "anew").parts[KEY]) == [(0, 1)], "of seed 0 there are no scores"
    kept.write_text(kept.read_text() + "".join(f"triangles,5,pn,1,{place},0.5,0.5,9\n" for place in range(2)))
    with pytest.raises(StoreError, match="a seed of pn on triangles is there twice"):
        Reliabilities.of(results, kept)


def test_scores_are_read_where_nothing_is_kept_or_anew(cells_root: Path, tmp_path: Path) -> None:
    _scored(cells_root, CellKey(*KEY, 0), 0)
    results, kept = Results(find_cells(cells_root)), tmp_path / "reliability.csv"
    found = Reliabilities.of(results)
    curve = found.curves[KEY]
    other = Reliability(curve.confidence / 2, curve.accuracy, curve.count)
    Reliabilities({}, {KEY: {(0,): other}}).save(kept)
    mean = {
        name: Reliabilities.of(results, kept, name).curves[KEY].confidence[0] for name in ("anew", "missing", "never")
    }
    assert mean["anew"] == pytest.approx(curve.confidence[0])
    assert mean["missing"] == mean["never"] == pytest.approx(curve.confidence[0] / 2)
    assert Reliabilities.of(results, tmp_path / "none.csv", "never").curves == {}


def test_bins_of_other_cells_are_left_out(cells_root: Path, tmp_path: Path) -> None:
    _scored(cells_root, CellKey(*KEY, 0), 0)
    results, kept = Results(find_cells(cells_root)), tmp_path / "reliability.csv"
    Reliabilities.of(results).save(kept)
    remove(cells_root / CellKey(*KEY, 0).name)
    write_cell(cells_root, CellKey(*KEY, 0), outcomes(5, 0.8), curves=False)
    assert Reliabilities.of(Results(find_cells(cells_root)), kept).curves == {}


def test_a_damaged_file_is_named(cells_root: Path, tmp_path: Path) -> None:
    write_cell(cells_root, CellKey(*KEY, 0), outcomes(0, 0.7))
    (tmp_path / "kept.csv").write_text("dataset,shots\ntriangles,many\n")
    with pytest.raises(StoreError, match=r"kept.csv is damaged .*fsgc tables docs"):
        Reliabilities.of(Results(find_cells(cells_root)), tmp_path / "kept.csv")


def test_the_docs_keep_the_bins(cells_root: Path, tmp_path: Path) -> None:
    _scored(cells_root, CellKey(*KEY, 0), 0)
    written = build_docs(cells_root, tmp_path / "docs", None, embed=False)
    assert tmp_path / "docs" / "reliability.csv" in written
    assert pl.read_csv(tmp_path / "docs" / "reliability.csv")["count"].sum() == EPISODES * WAY * QUERIES
    page = (tmp_path / "docs" / "README.md").read_text()
    assert "## Can probabilities be believed? Expected calibration error" in page
    assert "figures/reliability.svg" in page
    assert 'id="figure-reliability"' in (tmp_path / "docs" / "report.html").read_text()
