"""Average ranks of methods over datasets, Friedman's test and Nemenyi's critical difference (Demšar, JMLR 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fsgc.statistics.intervals import Floats
from fsgc.statistics.paired import SIGNIFICANCE

ColumnKey = tuple[str, int]  # dataset and number of shots


@dataclass(frozen=True)
class Ranking:
    """Methods ranked over the datasets that all of them have.

    Attributes:
        models: best first.
        ranks: the average rank of each over `datasets`, 1 the best.
        columns: dataset and shots of the columns that went in.
        friedman_p: of the test that all methods are alike.
        critical_difference: average ranks further apart differ at the 5 % level (Nemenyi).
        cliques: first and last place of each longest run of methods that do not differ.
    """

    models: tuple[str, ...]
    ranks: tuple[float, ...]
    columns: tuple[ColumnKey, ...]
    friedman_p: float
    critical_difference: float
    cliques: tuple[tuple[int, int], ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """What was ranked over, one rank each."""
        return tuple(dict.fromkeys(dataset for dataset, _ in self.columns))


def rank_columns(accuracy: Floats) -> Floats:
    """Ranks within each row of `[columns, models]`, 1 for the highest; equal ones share the mean of their ranks."""
    from scipy import stats

    return np.asarray(stats.rankdata(-accuracy, axis=1), dtype=np.float64)


def average_shots(accuracy: Floats, columns: Sequence[ColumnKey]) -> tuple[Floats, tuple[str, ...]]:
    """Average the accuracies `[columns, models]` over the shots of each dataset: `[datasets, models]` and the datasets.

    The columns of one dataset share their graphs and often their models: Friedman's test and the critical difference
    count independent rows, and two such columns are little more than one.
    """
    datasets, row = np.unique([dataset for dataset, _ in columns], return_inverse=True)
    total = np.zeros((len(datasets), accuracy.shape[1]))
    np.add.at(total, row, accuracy)
    # Equal averages of different sums may differ in the last bit; rounding makes them equal numbers, that is ties.
    return np.round(total / np.bincount(row)[:, None], 12), tuple(str(dataset) for dataset in datasets)


def friedman(accuracy: Floats) -> float:
    """The p-value of Friedman's test for values (or their ranks) `[n, k]`; of two methods, the exact sign test's."""
    from scipy import stats

    k = accuracy.shape[1]
    if (accuracy == accuracy[:, :1]).all():
        return 1.0  # every method ties with every other everywhere
    if k == 2:
        wins, losses = ((sign * (accuracy[:, 0] - accuracy[:, 1]) > 0).sum() for sign in (1, -1))
        return float(stats.binomtest(int(wins), int(wins + losses)).pvalue)
    return float(stats.friedmanchisquare(*accuracy.T).pvalue)


def nemenyi(models: int, rows: int) -> float:
    """The critical difference of average ranks, `q √(k(k+1) / 6n)`; `q` is the studentised range's quantile over √2."""
    from scipy import stats

    q = float(stats.studentized_range.ppf(1 - SIGNIFICANCE, models, math.inf)) / math.sqrt(2)
    return q * math.sqrt(models * (models + 1) / (6 * rows))


def cliques(ranks: Sequence[float], critical_difference: float) -> tuple[tuple[int, int], ...]:
    """The longest runs of ascending `ranks` within the critical difference, as first and last place."""
    ends = [
        max(j for j in range(i, len(ranks)) if ranks[j] - ranks[i] <= critical_difference) for i in range(len(ranks))
    ]
    return tuple((i, end) for i, end in enumerate(ends) if end > i and (i == 0 or ends[i - 1] < end))


def largest_complete(accuracy: Mapping[ColumnKey, Mapping[str, float]]) -> tuple[list[str], list[ColumnKey]] | None:
    """Methods and columns without a gap between them; `None` with fewer than two methods or datasets.

    A partial table has gaps: of the sets of columns that two methods share, each with all methods that have them, the
    one with most accuracies is taken.
    """
    models_here = sorted({model for column in accuracy.values() for model in column})
    columns_of = {model: frozenset(key for key, column in accuracy.items() if model in column) for model in models_here}
    best: tuple[list[str], list[ColumnKey]] | None = None
    for shared in sorted({one & other for one in columns_of.values() for other in columns_of.values()}, key=sorted):
        models = [model for model, columns in columns_of.items() if shared <= columns]
        datasets = {dataset for dataset, _ in shared}
        cells = len(shared) * len(models)
        if len(datasets) > 1 and len(models) > 1 and (best is None or cells > len(best[0]) * len(best[1])):
            best = models, sorted(shared)
    return best


def rank_methods(accuracy: Mapping[ColumnKey, Mapping[str, float]]) -> Ranking | None:
    """Rank methods over datasets, given the accuracy of each by column; `None` where there is too little to rank.

    The accuracies with 5 and 10 shots on a dataset are averaged before ranking, see `average_shots`.
    """
    chosen = largest_complete(accuracy)
    if chosen is None:
        return None
    models, columns = chosen
    values = np.array([[accuracy[column][model] for model in models] for column in columns])
    by_dataset, datasets = average_shots(values, columns)
    means = rank_columns(by_dataset).mean(axis=0)
    order = np.argsort(means, kind="stable")
    averages = tuple(float(rank) for rank in means[order])
    difference = nemenyi(len(models), len(datasets))
    return Ranking(
        models=tuple(models[i] for i in order),
        ranks=averages,
        columns=tuple(columns),
        friedman_p=friedman(by_dataset),
        critical_difference=difference,
        cliques=cliques(averages, difference),
    )
