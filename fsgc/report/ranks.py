"""Average ranks of methods over datasets, Friedman's test and Nemenyi's critical difference (Demšar, JMLR 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsgc.report.results import Results
from fsgc.report.statistics import Floats

LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """Methods ranked over the columns that all of them have.

    Attributes:
        models: best first.
        ranks: the average rank of each, 1 the best.
        columns: dataset and shots of the columns ranked over.
        friedman_p: of the test that all methods are alike.
        critical_difference: average ranks further apart differ at the 5 % level (Nemenyi).
        cliques: first and last place of each longest run of methods that do not differ.
    """

    models: tuple[str, ...]
    ranks: tuple[float, ...]
    columns: tuple[tuple[str, int], ...]
    friedman_p: float
    critical_difference: float
    cliques: tuple[tuple[int, int], ...]


def rank_columns(accuracy: Floats) -> npt.NDArray[np.float64]:
    """Ranks within each row of `[columns, models]`, 1 for the highest; equal ones share the mean of their ranks."""
    above = (accuracy[:, None, :] > accuracy[:, :, None]).sum(axis=2)
    equal = (accuracy[:, None, :] == accuracy[:, :, None]).sum(axis=2)
    return np.asarray(above + (equal + 1) / 2, dtype=np.float64)


def friedman(ranks: Floats) -> float:
    """The p-value of Friedman's test for ranks `[n, k]`, with the correction for ties."""
    from scipy import stats

    n, k = ranks.shape
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if spread == 0:
        return 1.0  # every method ties with every other everywhere
    statistic = n * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()) / spread
    return float(stats.chi2.sf(statistic, k - 1))


def nemenyi(models: int, columns: int) -> float:
    """The critical difference of average ranks, `q √(k(k+1) / 6n)`; `q` is the studentised range's quantile over √2."""
    from scipy import stats

    q = float(stats.studentized_range.ppf(1 - LEVEL, models, math.inf)) / math.sqrt(2)
    return q * math.sqrt(models * (models + 1) / (6 * columns))


def cliques(ranks: Sequence[float], critical_difference: float) -> tuple[tuple[int, int], ...]:
    """The longest runs of ascending `ranks` within the critical difference, as first and last place."""
    ends = [
        max(j for j in range(i, len(ranks)) if ranks[j] - ranks[i] <= critical_difference) for i in range(len(ranks))
    ]
    return tuple((i, end) for i, end in enumerate(ends) if end > i and (i == 0 or ends[i - 1] < end))


def ranking(results: Results) -> Ranking | None:
    """Rank the methods over the columns that have all of them; `None` with fewer than two methods or columns.

    A partial table has gaps: of all choices of methods with their shared columns, the one with most results is taken.
    """
    columns_of = {
        model: frozenset((dataset, shots) for dataset, shots, name in results.found if name == model)
        for model in results.models
    }
    best: tuple[list[str], list[tuple[str, int]]] | None = None
    for shared in sorted({one & other for one in columns_of.values() for other in columns_of.values()}, key=sorted):
        models = [model for model, columns in columns_of.items() if shared <= columns]
        size = len(shared) * len(models)
        if len(shared) > 1 and len(models) > 1 and (best is None or size > len(best[0]) * len(best[1])):
            best = models, sorted(shared)
    if best is None:
        return None
    models, columns = best
    accuracy = np.array([[results.found[*column, model].summary.mean for model in models] for column in columns])
    ranks = rank_columns(accuracy)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    averages = tuple(float(rank) for rank in ranks.mean(axis=0)[order])
    difference = nemenyi(len(models), len(columns))
    return Ranking(
        models=tuple(models[i] for i in order),
        ranks=averages,
        columns=tuple(columns),
        friedman_p=friedman(ranks),
        critical_difference=difference,
        cliques=cliques(averages, difference),
    )
