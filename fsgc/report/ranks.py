"""Average ranks of the methods there are results of."""

from __future__ import annotations

from fsgc.report.results import Results
from fsgc.statistics.ranks import Ranking, rank_methods


def ranking(results: Results) -> Ranking | None:
    """Rank the methods over the datasets that have all of them; `None` with fewer than two methods or datasets."""
    accuracy = {
        column: {result.variant: result.mean for result in results.column(*column)} for column in results.columns
    }
    return rank_methods(accuracy)
