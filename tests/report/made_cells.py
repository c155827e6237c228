"""Cells as the pipeline leaves them, with made-up accuracies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fsgc.statistics.intervals import Floats
from fsgc.tables.grid import CellKey
from fsgc.zarr_io import write_arrays

WAY, QUERIES = 2, 5


def accuracies(seed: int, mean: float, episodes: int = 200) -> Floats:
    """Accuracies of episodes with N·Q = 10 queries, drawn around `mean`."""
    return np.random.default_rng(seed).binomial(WAY * QUERIES, mean, size=episodes) / (WAY * QUERIES)


def scores_of(accuracy: Floats) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Scores `[E, N·Q, N]` whose first queries are classified rightly, as many as the accuracies say."""
    right = np.arange(WAY * QUERIES) < np.round(accuracy * WAY * QUERIES)[:, None]
    truth = np.repeat(np.arange(WAY), QUERIES)
    predicted = np.where(right, truth, 1 - truth)
    return np.eye(WAY, dtype=np.float32)[predicted]


def write_cell(root: Path, key: CellKey, accuracy: Floats, curves: bool = True, **metrics: Any) -> Path:
    """Write a finished cell; `metrics` override or add to what its `metrics.json` says."""
    path = root / key.name
    path.mkdir(parents=True)
    std = float(accuracy.std(ddof=1))
    content = {
        "model": key.model,
        "dataset": key.dataset,
        "way": WAY,
        "shots": key.shots,
        "queries": QUERIES,
        "seed": key.seed,
        "episodes": len(accuracy),
        "accuracy": float(accuracy.mean()),
        "accuracy_std": std,
        "accuracy_ci95": 1.96 * std / len(accuracy) ** 0.5,
        "macro_f1": float(accuracy.mean()),
        "transductive": False,
        "test_seconds": 1.5,
        "train": {
            "seconds": 60.0,
            "epochs": 3,
            "best_epoch": 2,
            "best_validation": 0.4,
            "parameters": 1234,
            "peak_memory": 5e8,
        },
        **metrics,
    }
    (path / "metrics.json").write_text(json.dumps(content))
    rows = {"episode": np.arange(len(accuracy), dtype=np.int32), "accuracy": accuracy, "macro_f1": accuracy}
    pl.DataFrame(rows).write_parquet(path / "episodes.parquet")
    write_arrays(path / "scores.zarr", {"scores": scores_of(accuracy)}, {"kind": "fsgc.scores"})
    if curves:
        directory = path / "curves" / "plots" / "metrics"
        directory.mkdir(parents=True)
        for name, values in {
            "loss": (1.0, 0.5, 0.4),
            "val_loss": (1.1, 0.6, 0.7),
            "val_accuracy": (0.4, 0.5, 0.6),
        }.items():
            lines = [f"step\t{name}", *(f"{step}\t{value}" for step, value in enumerate(values))]
            (directory / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return path


def write_failed(root: Path, key: CellKey, reason: str) -> Path:
    """Write a cell that failed."""
    path = root / key.name
    path.mkdir(parents=True)
    (path / "failed.json").write_text(json.dumps({"reason": reason, "command": "python -m pipeline.train"}))
    return path


def write_example(root: Path) -> None:
    """Some of everything: several seeds, a clear winner, a tie, a failure, an unfinished cell, a new model."""
    write_cell(root, CellKey("triangles", 5, "pn", 0), accuracies(0, 0.8))
    write_cell(root, CellKey("triangles", 5, "pn", 1), accuracies(1, 0.8))
    write_cell(root, CellKey("triangles", 5, "pn_tae_mu", 0), accuracies(2, 0.9))
    write_cell(root, CellKey("triangles", 5, "wl", 0), accuracies(3, 0.6), curves=False)
    write_cell(root, CellKey("triangles", 10, "pn", 0), accuracies(4, 0.85), transductive=True)
    write_cell(root, CellKey("triangles", 10, "pn_tae_mu", 0), accuracies(5, 0.855))
    write_cell(root, CellKey("enzymes", 5, "pn", 0), accuracies(6, 0.6))
    write_cell(root, CellKey("enzymes", 5, "pn_tae_mu", 0), accuracies(7, 0.6))
    write_cell(root, CellKey("enzymes", 5, "my_method", 0), accuracies(8, 0.7))
    write_cell(root, CellKey("triangles_gen", 5, "pn", 0), accuracies(9, 0.75))
    write_failed(root, CellKey("reddit", 5, "maml", 0), "the loss is not finite <in epoch 3> & so on")
    (root / "coil_del-5shot-pn-seed0").mkdir()
