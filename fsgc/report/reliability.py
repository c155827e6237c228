"""Whether probabilities can be believed: reliability curves of all results, from scores or from what was kept of them.

Scores are large and in DVC's cache only. What a curve needs of them, a few numbers per bin, is kept in a CSV file that
is in git, `docs/results/reliability.csv`, written where scores are at hand and read where they are not. Kept bins whose
accuracy is not that of the cells are of other cells, and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from fsgc.errors import StoreError
from fsgc.evaluation.results import SCORES_KIND
from fsgc.files import replacing
from fsgc.report.accuracy import method_title
from fsgc.report.paper import Paper
from fsgc.report.provenance import dataset_title
from fsgc.report.results import Result, ResultKey, Results
from fsgc.report.table import MISSING, Heading, Row, Table, Value
from fsgc.statistics.calibration import BINS, Reliability, confidences, reliability
from fsgc.zarr_io import read_arrays

FILE = Path("docs") / "results" / "reliability.csv"
SCORES = "scores.zarr"
SCHEMA = {
    "dataset": pl.String,
    "shots": pl.Int64,
    "model": pl.String,
    "bin": pl.Int64,
    "confidence": pl.Float64,
    "accuracy": pl.Float64,
    "count": pl.Int64,
}
KEY = ("dataset", "shots", "model")
DEFINITION = (
    "Expected calibration error in points: predictions on novel test episodes are sorted into "
    f"{BINS} bins of equal width by their probability (the softmax of the scores), and the distance between "
    "mean probability and share of right predictions of each bin is averaged over all predictions. 0 is perfect. "
    "Over: its mean probability is above the share of right predictions; under: it is below."
)
KERNELS = (
    "An SVM's scores are not logarithms of probabilities, so the softmax of WL, SP and Graphlet promises nothing. "
    "'fsgc predict --calibrate' scales scores by the labelled graphs, for any method."
)


@dataclass(frozen=True, eq=False)
class Reliabilities:
    """The curves there are, over all seeds of a result together."""

    curves: dict[ResultKey, Reliability]

    @classmethod
    def of(
        cls, results: Results, kept: Path | None = None, scores: Literal["anew", "missing", "never"] = "missing"
    ) -> Reliabilities:
        """From the kept file and from scores, of which all seeds of a result must be here.

        Args:
            results: whose curves are wanted.
            kept: the file; it need not be there.
            scores: whether to read scores wherever they are, which takes a while, only where nothing is kept, or never.
        """
        stored = _read(kept) if kept is not None and kept.exists() else {}
        stored = {
            key: curve for key, curve in stored.items() if key in results.found and _fits(curve, results.found[key])
        }
        curves = {}
        for key, result in results.found.items():
            wanted = scores == "anew" or (scores == "missing" and key not in stored)
            curve = (_from_scores(result) if wanted else None) or stored.get(key)
            if curve is not None and _fits(curve, result):
                curves[key] = curve
        return cls(curves)

    def save(self, path: Path) -> None:
        """Keep what is needed to draw them again."""
        rows = [
            (*key, place, *values)
            for key, curve in sorted(self.curves.items())
            for place, values in enumerate(
                zip(curve.confidence.tolist(), curve.accuracy.tolist(), curve.count.tolist(), strict=True)
            )
        ]
        with replacing(path) as partial:
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_csv(partial, float_precision=9)


def _fits(curve: Reliability, result: Result) -> bool:
    """Whether a curve is of the same predictions, as far as their accuracy tells."""
    return bool(abs(curve.accuracy @ curve.count / curve.count.sum() - result.mean) < 1e-6)


def _from_scores(result: Result) -> Reliability | None:
    """None unless the scores of all seeds are here."""
    paths = [cell.path / SCORES for cell in result.cells]
    if not all(path.exists() for path in paths):
        return None
    parts = [confidences(read_arrays(path, SCORES_KIND, ("scores",))[0]["scores"]) for path in paths]
    confidence, correct = (np.concatenate(part) for part in zip(*parts, strict=True))
    return reliability(confidence, correct)


def _read(path: Path) -> dict[ResultKey, Reliability]:
    try:
        table = pl.read_csv(path, schema=SCHEMA)
        return {
            (str(key[0]), int(str(key[1])), str(key[2])): Reliability(
                *(part[name].to_numpy() for name in ("confidence", "accuracy", "count"))
            )
            for key, part in table.group_by(KEY, maintain_order=True)
        }
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"{path} is damaged ({reason}); delete it and write it again with 'fsgc tables docs'"
        ) from error


def calibration_table(results: Results, paper: Paper, found: Reliabilities) -> Table | None:
    """The expected calibration error of each method on each dataset; None if there is none."""
    if not found.curves:
        return None
    columns = sorted({key[:2] for key in found.curves})
    order = [row.model for row in paper.rows]
    variants = sorted({key[2] for key in found.curves}, key=lambda v: (order.index(v) if v in order else len(order), v))
    rows = tuple(
        Row(method_title(v, paper), tuple(_error(found.curves.get((*column, v)), (*column, v)) for column in columns))
        for v in variants
    )
    records = [
        {
            **dict(zip(KEY, key, strict=True)),
            "expected_error": curve.expected_error,
            "largest_error": curve.largest_error,
            "mean_confidence": float(curve.confidence @ curve.count / curve.count.sum()),
            "accuracy": results.found[key].mean,
        }
        for key, curve in sorted(found.curves.items())
    ]
    headings = tuple(Heading(f"{shots}-shot", dataset_title(dataset)) for dataset, shots in columns)
    title = "Can probabilities be believed? Expected calibration error"
    notes = (DEFINITION, KERNELS, *_missing(results, found))
    return Table("calibration", title, "Model", headings, rows, pl.DataFrame(records), notes)


def _error(curve: Reliability | None, key: ResultKey) -> Value:
    if curve is None:
        return Value(MISSING, is_gap=True)
    error = 100 * curve.expected_error
    sign = "over" if (curve.confidence - curve.accuracy) @ curve.count > 0 else "under"
    dataset, shots, variant = key
    return Value(f"{error:.1f} {sign}", name=f"{dataset}-{shots}shot-{variant}", number=error)


def _missing(results: Results, found: Reliabilities) -> Sequence[str]:
    absent = len(results.found) - len(found.curves)
    return [f"Of {absent} other results neither the scores nor their bins are kept."] if absent else []
