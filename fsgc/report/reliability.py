"""Whether probabilities can be believed: reliability curves of all results, from scores or from what was kept of them.

Scores are large and in DVC's cache only. What a curve needs of them, a few numbers per bin, is kept in a CSV file that
is in git, `docs/results/reliability.csv`, written where scores are at hand and read where they are not: seed by seed,
so that those of a new seed join those kept of the others. Kept bins whose accuracy is not that of the cells are of
other cells, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from fsgc.errors import StoreError
from fsgc.evaluation.results import SCORES_KIND
from fsgc.files import replacing
from fsgc.report.accuracy import method_title
from fsgc.report.cells import Cell
from fsgc.report.paper import Paper
from fsgc.report.provenance import dataset_title
from fsgc.report.results import Result, ResultKey, Results
from fsgc.report.table import MISSING, Heading, Row, Table, Value
from fsgc.statistics.calibration import BINS, Reliability, confidences, pooled, reliability
from fsgc.zarr_io import read_arrays

FILE = Path("docs") / "results" / "reliability.csv"
SCORES = "scores.zarr"
SCHEMA = {
    "dataset": pl.String,
    "shots": pl.Int64,
    "model": pl.String,
    "seeds": pl.String,
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


Seeds = tuple[int, ...]
Parts = Mapping[Seeds, Reliability]
"""The curves of a result by the seeds they are of; no seed is in two of them."""


@dataclass(frozen=True, eq=False)
class Reliabilities:
    """The curves there are.

    Attributes:
        curves: over all seeds of a result together, or those of which something is known.
        parts: what they are put together from.
    """

    curves: Mapping[ResultKey, Reliability]
    parts: Mapping[ResultKey, Parts] = field(default_factory=dict)

    @classmethod
    def of(
        cls, results: Results, kept: Path | None = None, scores: Literal["anew", "missing", "never"] = "missing"
    ) -> Reliabilities:
        """From the kept file and from scores.

        Args:
            results: whose curves are wanted.
            kept: the file; it need not be there.
            scores: whether to read scores wherever they are, which takes a while, only where nothing is kept, or never.
        """
        stored = _read(kept) if kept is not None and kept.exists() else {}
        parts = {key: _parts(result, stored.get(key, {}), scores) for key, result in results.found.items()}
        return cls({key: pooled(list(some.values())) for key, some in parts.items() if some}, parts)

    def save(self, path: Path) -> None:
        """Keep what is needed to draw them again."""
        rows = [
            (*key, " ".join(map(str, seeds)), place, *values)
            for key, some in sorted(self.parts.items())
            for seeds, curve in sorted(some.items())
            for place, values in enumerate(
                zip(curve.confidence.tolist(), curve.accuracy.tolist(), curve.count.tolist(), strict=True)
            )
        ]
        with replacing(path) as partial:
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_csv(partial, float_precision=9)


def _parts(result: Result, stored: Parts, scores: Literal["anew", "missing", "never"]) -> Parts:
    """What is known of the seeds of a result: kept curves, unless the scores of all their seeds are read."""
    cells = {cell.key.seed: cell for cell in result.cells}
    kept = {seeds: curve for seeds, curve in stored.items() if _fits(curve, seeds, cells)}
    wanted = set(cells) if scores == "anew" else set(cells).difference(*kept) if scores == "missing" else set[int]()
    read = {seed: curve for seed in sorted(wanted) if (curve := _from_scores(cells[seed])) is not None}
    parts = {seeds: curve for seeds, curve in kept.items() if not read.keys() >= set(seeds)}
    known = set[int]().union(*parts)
    return parts | {(seed,): curve for seed, curve in read.items() if seed not in known}


def _fits(curve: Reliability, seeds: Seeds, cells: Mapping[int, Cell]) -> bool:
    """Whether a curve is of the predictions of these cells, as far as their accuracy tells."""
    if not set(seeds) <= set(cells):
        return False
    mean = np.mean([cells[seed].metrics.accuracy for seed in seeds])
    return bool(abs(curve.accuracy @ curve.count / curve.count.sum() - mean) < 1e-6)


def _from_scores(cell: Cell) -> Reliability | None:
    """None if the scores are not here, or are of other predictions than the cell's."""
    path = cell.path / SCORES
    if not path.exists():
        return None
    curve = reliability(*confidences(read_arrays(path, SCORES_KIND, ("scores",))[0]["scores"]))
    return curve if _fits(curve, (cell.key.seed,), {cell.key.seed: cell}) else None


def _read(path: Path) -> dict[ResultKey, dict[Seeds, Reliability]]:
    found: dict[ResultKey, dict[Seeds, Reliability]] = {}
    try:
        table = pl.read_csv(path, schema=SCHEMA)
        for (dataset, shots, model, seeds), part in table.group_by((*KEY, "seeds"), maintain_order=True):
            curve = Reliability(*(part[name].to_numpy() for name in ("confidence", "accuracy", "count")))
            key = (str(dataset), int(str(shots)), str(model))
            found.setdefault(key, {})[tuple(map(int, str(seeds).split()))] = curve
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"{path} is damaged ({reason}); delete it and write it again with 'fsgc tables docs'"
        ) from error
    for key, some in found.items():
        if len(set[int]().union(*some)) < sum(map(len, some)):
            raise StoreError(
                f"{path} is damaged (a seed of {key[2]} on {key[0]} is there twice); delete it and write it again with "
                "'fsgc tables docs'"
            )
    return found


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
            "accuracy": float(curve.accuracy @ curve.count / curve.count.sum()),
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
    partly = sum(sum(map(len, some)) < len(results.found[key].cells) for key, some in found.parts.items() if some)
    notes = [f"Of {absent} other results neither the scores nor their bins are kept."] if absent else []
    if partly:
        notes.append(f"Over some of their seeds only, since nothing is kept of the others: {partly} results.")
    return notes
