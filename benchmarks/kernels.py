"""Kernels from one Gram matrix against GraKeL refitted in every episode, as the authors do, on generated TRIANGLES."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.svm import SVC

from benchmarks.timing import report, seconds
from fsgc.data.catalog import dataset
from fsgc.data.triangles import generate_triangles
from fsgc.episodes.batches import EpisodeBatch
from fsgc.episodes.sampling import sample_episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.kernel.compute import compute_gram
from fsgc.methods.kernel.method import KernelMethod, SvcSettings
from fsgc.methods.kernel.settings import KernelSettings
from tests.methods.kernel.oracle import grakel_graphs, kernel_of

EPISODES, SHOTS, QUERIES = 5000, 5, 15
# A refit of all 5000 episodes takes minutes to hours: some are timed, and the time is scaled.
SAMPLE = {"wl": 10, "sp": 10, "graphlet": 2}


def refit(kernel: str, graphs: list[list[Any]], episodes: EpisodeBatch) -> None:
    """What the authors' code does with each of the episodes."""
    way = episodes.graphs.shape[1]
    for support, query in zip(episodes.support.flatten(1).tolist(), episodes.query.flatten(1).tolist(), strict=True):
        fitted = kernel_of(kernel)
        between = fitted.fit_transform([graphs[g] for g in support])
        machine = SVC(kernel="precomputed").fit(between, np.repeat(np.arange(way), SHOTS))
        machine.predict(fitted.transform([graphs[g] for g in query]))


def main() -> None:
    """Time all three kernels, Gram matrix included."""
    entry, graphs = dataset("triangles_gen"), generate_triangles()
    pools = [np.flatnonzero(graphs.y == c) for c in entry.novel]
    drawn = sample_episodes(pools, EPISODES, entry.way, SHOTS + QUERIES, ("bench", 0))
    episodes = EpisodeBatch(torch.from_numpy(drawn.astype(np.int64)), SHOTS)
    given = grakel_graphs(graphs, graphs.degree)
    for kernel, sample in SAMPLE.items():
        method = KernelMethod(TaskShape(1, entry.way, len(entry.base)), SvcSettings(), kernel=kernel)

        def ours(kernel: str = kernel, method: KernelMethod = method) -> None:
            method.attach_gram(compute_gram(graphs, entry.novel, kernel, KernelSettings()))
            method.predict(episodes)

        some = EpisodeBatch(episodes.graphs[:sample], SHOTS)
        plain = seconds(lambda kernel=kernel, some=some: refit(kernel, given, some), 2)  # type: ignore[misc]
        what = f"{EPISODES} episodes by {kernel}, against refits ({sample} timed, scaled)"
        report(what, seconds(ours, 2), plain * EPISODES / sample)


if __name__ == "__main__":
    main()
