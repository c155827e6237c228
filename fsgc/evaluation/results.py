"""The result of an experiment: metrics, a row per episode, the scores."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fsgc.episodes.batches import Episodes
from fsgc.evaluation.outcomes import Outcomes
from fsgc.evaluation.predict import predict_scores
from fsgc.evaluation.statistics import Summary, episode_table
from fsgc.files import replacing
from fsgc.training.checkpoint import TrainedModel
from fsgc.zarr_io import write_arrays

SCORES_KIND = "fsgc.scores"
PACKAGES = ("fsgc", "numpy", "scikit-learn", "torch")


def evaluate(
    model: TrainedModel, episodes: Episodes, metrics: Path, rows: Path, scores: Path, outcomes: Path | None = None
) -> dict[str, Any]:
    """Run a trained method over all stored test episodes and write what came out.

    Args:
        model: the trained method.
        episodes: the stored episodes.
        metrics: `metrics.json` to write.
        rows: a parquet file to write, a row per episode.
        scores: a Zarr store to write, the scores `[E, N·Q, N]`.
        outcomes: a file to write, which queries were answered correctly; see `fsgc.evaluation.outcomes`.

    Returns:
        The metrics as written.
    """
    start = time.perf_counter()
    values = predict_scores(model.method, episodes, "test")
    seconds = time.perf_counter() - start
    table = episode_table(values, episodes.way)
    accuracy, f1 = (Summary.of(table[name].to_numpy()) for name in ("accuracy", "macro_f1"))
    identity = {
        "model": model.model,
        "dataset": episodes.split.dataset,
        "way": episodes.way,
        "shots": episodes.shots,
        "queries": episodes.store.queries("test"),
        "seed": model.seed,
        "episodes": len(table),
        "test_episodes": episodes.test_fingerprint(),
    }
    result = {
        **identity,
        "accuracy": accuracy.mean,
        "accuracy_std": accuracy.std,
        "accuracy_ci95": accuracy.ci95,
        "macro_f1": f1.mean,
        "transductive": model.method.transductive,
        "test_seconds": seconds,
        "versions": {name: version(name) for name in PACKAGES},
        "train": {
            "seconds": model.report.seconds,
            "epochs": model.report.epochs,
            "best_epoch": model.report.best_epoch,
            "best_validation": model.report.best,
            "parameters": model.report.parameters,
            "peak_memory": model.report.peak_memory,
        },
    }
    with replacing(rows) as partial:
        table.write_parquet(partial)
    if outcomes:
        Outcomes.of(values, episodes).save(outcomes)
    write_arrays(scores, {"scores": values}, {"kind": SCORES_KIND, **identity})
    with replacing(metrics) as partial:
        partial.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result
