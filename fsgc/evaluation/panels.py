"""From stored outcomes to the statistics of a table's column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import Outcomes
from fsgc.statistics.panel import Panel
from fsgc.statistics.variance import Variance


def outcome_panel(
    outcomes: Mapping[str, Sequence[Outcomes]], deterministic: Collection[str] = (), seeds: Variance | None = None
) -> Panel:
    """The panel of methods on one dataset and number of shots; outcomes of different test episodes are refused.

    Args:
        outcomes: of each method one per seed; at least one method.
        deterministic: methods whose training involves no chance.
        seeds: the variance of one training, see `Panel`.
    """
    name, (first, *_) = next(iter(outcomes.items()))
    for other, runs in outcomes.items():
        if any((run.stream, run.test_episodes) != (first.stream, first.test_episodes) for run in runs):
            raise StoreError(
                f"{name} and {other} were tested on different episodes; evaluate the older one again to compare them"
            )
    correct = {method: np.stack([run.correct for run in runs]) for method, runs in outcomes.items()}
    return Panel(correct, first.draw(), deterministic, seeds)


def named_intervals(outcomes: Outcomes) -> dict[str, list[float]]:
    """The ends of the intervals of one trained model by name: episodes, graphs, and classes where there are many.

    What seeds do takes several models, see `outcome_panel`.
    """
    found = outcome_panel({"model": [outcomes]}).intervals("model")
    named = {"episodes": found.episodes, "graphs": found.graphs, "classes": found.classes}
    return {name: [interval.low, interval.high] for name, interval in named.items() if interval}
