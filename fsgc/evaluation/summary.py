"""A result in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def result_line(metrics: Mapping[str, Any]) -> str:
    """The result of an evaluation in a sentence."""
    return (
        f"{metrics['model']} on {metrics['dataset']}, {metrics['shots']}-shot: "
        f"accuracy {100 * metrics['accuracy']:.2f} ± {100 * metrics['accuracy_ci95']:.2f} "
        f"(95 % interval of the mean), standard deviation between episodes "
        f"{100 * metrics['accuracy_std']:.2f}, {metrics['episodes']} episodes in {metrics['test_seconds']:.1f} s"
    )
