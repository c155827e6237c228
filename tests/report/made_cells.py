"""Cells as the pipeline leaves them, with made-up outcomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.evaluation.outcomes import EpisodeStream, Outcomes
from fsgc.statistics.draw import Draw
from fsgc.statistics.intervals import Floats
from fsgc.tables.grid import CellKey

WAY, QUERIES, EPISODES = 2, 5, 600
CLASSES, GRAPHS = (3, 7, 8), 40  # the novel classes, and how many graphs each has
Correct = npt.NDArray[np.bool_]


def outcomes(seed: int, mean: float, episodes: int = EPISODES, shots: int = 5) -> Correct:
    """Which of the N·Q = 10 queries of each episode are answered correctly, about `mean` of them.

    Graphs differ in how hard they are, by some 0.1, and alike for every seed.
    """
    ease = np.random.default_rng(1000).normal(scale=0.15, size=len(CLASSES) * GRAPHS)
    chance = np.clip(mean + ease[draw(shots, episodes).query.reshape(episodes, -1)], 0, 1)
    return np.random.default_rng(seed).random(chance.shape) < chance


def accuracies(seed: int, mean: float, episodes: int = 200) -> Floats:
    """Accuracies of episodes with N·Q = 10 queries, drawn around `mean`."""
    return np.random.default_rng(seed).binomial(WAY * QUERIES, mean, size=episodes) / (WAY * QUERIES)


def stream(shots: int, episodes: int = EPISODES) -> EpisodeStream:
    """The episodes, the same for all cells with as many shots."""
    return EpisodeStream(("made", shots), (GRAPHS,) * len(CLASSES), episodes, WAY, shots, QUERIES)


def draw(shots: int, episodes: int = EPISODES) -> Draw:
    """Which graphs meet in them."""
    return stream(shots, episodes).draw()


def confusion(correct: Correct, of: Draw) -> npt.NDArray[np.int64]:
    """Counts of true by predicted class; a wrong answer is the other class of the episode."""
    matrix = np.zeros((len(CLASSES), len(CLASSES)), dtype=np.int64)
    for episode, right in zip(of.classes, correct.reshape(-1, WAY, QUERIES), strict=True):
        for place, (true, answers) in enumerate(zip(episode, right, strict=True)):
            matrix[true, true] += answers.sum()
            matrix[true, episode[1 - place]] += (~answers).sum()
    return matrix


def write_cell(root: Path, key: CellKey, correct: Correct, curves: bool = True, **metrics: Any) -> Path:
    """Write a finished cell; `metrics` override or add to what its `metrics.json` says."""
    path = root / key.name
    path.mkdir(parents=True)
    content = {
        "model": key.model,
        "dataset": key.dataset,
        "way": WAY,
        "shots": key.shots,
        "queries": QUERIES,
        "seed": key.seed,
        "episodes": len(correct),
        "test_episodes": "",
        "accuracy": float(correct.mean()),
        "macro_f1": float(correct.mean()),
        "transductive": False,
        "features": ["degree_onehot"],
        "preset": "paper",
        "settings": {"method": {"width": 64, "lr": 0.001}, "train": {"max_epochs": 3}},
        "recipes": {"train": "0123456789abcdef", "evaluate": "fedcba9876543210"},
        "commit": "0a1b2c3d4e5f",
        "versions": {"python": "3.11.2", "torch": "2.0"},
        "threads": 1,
        "test_seconds": 1.5,
        "train": {"seconds": 60.0, "epochs": 3, "best_epoch": 2, "best": 0.4, "parameters": 1234, "peak_memory": 5e8},
        **metrics,
    }
    (path / "metrics.json").write_text(json.dumps(content))
    of = stream(key.shots, len(correct))
    Outcomes(correct, of, "", CLASSES, confusion(correct, of.draw())).save(path / "outcomes.bin")
    if curves:
        directory = root.parent / "models" / key.name / "curves" / "plots" / "metrics"
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
    """Write the note of a cell that failed."""
    path = root.parent / "failed" / f"{key.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"reason": reason, "command": "python -m pipeline.train"}))
    return path


def write_example(root: Path) -> None:
    """Some of everything: seeds, a clear winner, a tie, a failed, a missing and a damaged cell, a new model."""
    for seed in range(3):
        write_cell(root, CellKey("triangles", 5, "pn", seed), outcomes(seed, 0.8))
    write_cell(root, CellKey("triangles", 5, "pn_tae_mu", 0), outcomes(3, 0.9))
    write_cell(root, CellKey("triangles", 5, "wl", 0), outcomes(4, 0.6), curves=False, train=None)
    write_cell(root, CellKey("triangles", 10, "pn", 0), outcomes(5, 0.85, shots=10), transductive=True)
    write_cell(root, CellKey("triangles", 10, "pn_tae_mu", 0), outcomes(6, 0.855, shots=10))
    write_cell(root, CellKey("enzymes", 5, "pn", 0), outcomes(7, 0.6))
    write_cell(root, CellKey("enzymes", 5, "pn_tae_mu", 0), outcomes(8, 0.6))
    write_cell(root, CellKey("enzymes", 5, "my_method", 0), outcomes(9, 0.7))
    write_cell(root, CellKey("triangles_gen", 5, "pn", 0), outcomes(10, 0.75))
    write_failed(root, CellKey("reddit", 5, "maml", 0), "the loss is not finite <in epoch 3> & so on")
    (root / "coil_del-5shot-pn-seed0").mkdir()
    write_cell(root, CellKey("coil_del", 5, "wl", 0), outcomes(11, 0.5), accuracy="high")
