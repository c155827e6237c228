"""Average ranks of the methods there are results of."""

from __future__ import annotations

from fsgc.report.scores import Results
from fsgc.statistics.ranks import Ranking, rank_methods

__all__ = ["Ranking", "ranking"]


def ranking(results: Results) -> Ranking | None:
    """Rank the methods over the datasets that have all of them; `None` with fewer than two methods or datasets."""
    accuracy = {
        column: {score.model: score.summary.mean for score in results.column(*column)} for column in results.columns
    }
    return rank_methods(accuracy)
