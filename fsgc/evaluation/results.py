"""The result of an experiment: a record of everything, a row per episode, the scores."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fsgc.episodes.batches import Episodes
from fsgc.evaluation.outcomes import OUTCOMES, Outcomes
from fsgc.evaluation.panels import named_intervals
from fsgc.evaluation.predict import predict_scores
from fsgc.evaluation.statistics import Summary, episode_table
from fsgc.files import replacing
from fsgc.provenance import circumstances
from fsgc.training.checkpoint import TrainedModel
from fsgc.zarr_io import write_arrays

SCORES_KIND = "fsgc.scores"
RECORD = "record.json"
HEADLINE = ("accuracy", "accuracy_ci95", "macro_f1")  # what `dvc metrics` and `dvc exp show` compare


def evaluate(
    model: TrainedModel, episodes: Episodes, out: Path, made_by: Mapping[str, Any], record_name: str = RECORD
) -> dict[str, Any]:
    """Run a trained method over all stored test episodes and write what came out below `out`.

    Files: `record.json` (everything that is known of the result), `outcomes.bin` (which queries were answered
    correctly, see `fsgc.evaluation.outcomes`), `episodes.parquet` (a row per episode), `scores.zarr` (`[E, N·Q, N]`).

    Args:
        model: the trained method.
        episodes: the stored episodes.
        out: the directory to write to.
        made_by: what else to record: settings, preset, recipes.
        record_name: another name for `record.json`.

    Returns:
        The record.
    """
    start = time.perf_counter()
    values = predict_scores(model.method, episodes, "test")
    seconds = time.perf_counter() - start
    table = episode_table(values, episodes.way)
    accuracy, f1 = (Summary.of(table[name].to_numpy()) for name in ("accuracy", "macro_f1"))
    identity = {
        "model": model.origin.model,
        "dataset": episodes.split.dataset,
        "way": episodes.way,
        "shots": episodes.shots,
        "queries": episodes.store.queries("test"),
        "seed": model.origin.seed,
        "episodes": len(table),
        "test_episodes": episodes.test_fingerprint(),
    }
    outcomes = Outcomes.of(values, episodes)
    record = {
        **identity,
        "accuracy": accuracy.mean,
        "accuracy_std": accuracy.std,
        "accuracy_ci95": accuracy.ci95,
        "intervals": named_intervals(outcomes),
        "macro_f1": f1.mean,
        "transductive": model.method.transductive,
        "features": list(episodes.feature_names),
        **made_by,
        **circumstances(),
        "test_seconds": seconds,
        "train": asdict(model.report),
    }
    parquet = io.BytesIO()
    table.write_parquet(parquet)  # to a file, polars would raise an error of its own where the disk is full
    with replacing(out / "episodes.parquet") as partial:
        partial.write_bytes(parquet.getvalue())
    write_arrays(out / "scores.zarr", {"scores": values}, {"kind": SCORES_KIND, **identity})
    outcomes.save(out / OUTCOMES)
    write_json(out / record_name, record)
    return record


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def headline(record: Mapping[str, Any]) -> dict[str, Any]:
    """The few values that experiments are compared by; nothing that differs between two runs of the same."""
    return {name: record[name] for name in HEADLINE} | {"best_epoch": record["train"]["best_epoch"]}
