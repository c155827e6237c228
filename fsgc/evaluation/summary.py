"""A result in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def result_line(metrics: Mapping[str, Any]) -> str:
    """The result of an evaluation in a sentence; the wider interval first, where it is known."""
    episodes = f"± {100 * metrics['accuracy_ci95']:.2f}"
    interval = f"{episodes} (95 % interval over other episodes)"
    if "graphs" in metrics.get("intervals", {}):
        low, high = metrics["intervals"]["graphs"]
        interval = f"± {50 * (high - low):.2f} (95 % interval over other novel graphs; {episodes} over other episodes)"
    return (
        f"{metrics['model']} on {metrics['dataset']}, {metrics['shots']}-shot: "
        f"accuracy {100 * metrics['accuracy']:.2f} {interval}, standard deviation between episodes "
        f"{100 * metrics['accuracy_std']:.2f}, {metrics['episodes']} episodes in {metrics['test_seconds']:.1f} s"
    )
