from __future__ import annotations

from fsgc.evaluation.summary import result_line

METRICS = {
    "model": "pn",
    "dataset": "enzymes",
    "shots": 5,
    "accuracy": 0.5487,
    "accuracy_ci95": 0.0027,
    "accuracy_std": 0.0974,
    "episodes": 5000,
    "test_seconds": 1.26,
}


def test_the_interval_over_graphs_comes_first_where_it_is_known() -> None:
    line = result_line({**METRICS, "intervals": {"episodes": [0.546, 0.5514], "graphs": [0.4987, 0.5987]}})
    assert line == (
        "pn on enzymes, 5-shot: accuracy 54.87 ± 5.00 (95 % interval over other novel graphs; ± 0.27 over other "
        "episodes), standard deviation between episodes 9.74, 5000 episodes in 1.3 s"
    )


def test_a_result_without_it_says_what_its_interval_covers() -> None:
    assert "54.87 ± 0.27 (95 % interval over other episodes), standard" in result_line(METRICS)
