"""MAML, trained and tested, against the usual loop: one episode after the other on plain PyG."""

from __future__ import annotations

import os
import resource
import time
import warnings

import torch
import torch.nn.functional as F
from torch_geometric.data import Data

import fsgc
from benchmarks.fresh import fresh_method
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.maml.method import Maml
from tests.oracles.classifier import PlainClassifier, maml_scores
from tests.oracles.embedder import copy_weights

STEPS, EPISODES_A_STEP, PLAIN_EPISODES = 3, 32, 8


def _train_plain(
    plain: PlainClassifier, episodes: Episodes, cache: dict[int, Data], batch: EpisodeBatch, method: Maml
) -> None:
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-3)
    optimiser.zero_grad()
    for graphs in batch.graphs:
        episode = EpisodeBatch(graphs[None], batch.shots)
        scores = maml_scores(plain, episodes, cache, episode, method.settings.inner_lr, method.settings.inner_steps)
        loss = F.cross_entropy(scores, episode.labels[0]) / len(batch.graphs)
        loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def _train_ours(method: Maml, batches: list[EpisodeBatch]) -> None:
    optimiser = method.configure_optimizers()
    for batch in batches:
        optimiser.zero_grad()
        method.loss(batch).total.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _test_plain(
    plain: PlainClassifier, episodes: Episodes, cache: dict[int, Data], batch: EpisodeBatch, method: Maml
) -> None:
    for graphs in batch.graphs:
        episode = EpisodeBatch(graphs[None], batch.shots)
        maml_scores(plain, episodes, cache, episode, method.settings.inner_lr, method.settings.test_steps)


def _compare(key: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    method = fresh_method(episodes, "maml")
    assert isinstance(method, Maml)
    plain = PlainClassifier(episodes.num_features, method.settings, episodes.way)
    copy_weights(method.network, plain)
    batches = list(episodes.batches("train", EPISODES_A_STEP))[:STEPS]
    few = EpisodeBatch(batches[0].graphs[:PLAIN_EPISODES], batches[0].shots)
    cache: dict[int, Data] = {}
    _train_plain(plain, episodes, cache, few, method)  # both have met the data before the clock starts
    _train_ours(method, batches[:1])
    ours = seconds(lambda: _train_ours(method, batches), 2) / STEPS / EPISODES_A_STEP
    theirs = seconds(lambda: _train_plain(plain, episodes, cache, few, method), 2) / PLAIN_EPISODES
    report(f"{key} maml: training, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")
    method.eval()
    plain.eval()
    ours = seconds(lambda: method.predict(batches[0]), 2) / EPISODES_A_STEP
    theirs = seconds(lambda: _test_plain(plain, episodes, cache, few, method), 2) / PLAIN_EPISODES
    report(f"{key} maml: test, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")


def main() -> None:
    """Compare on the generated TRIANGLES or, with the raw files at hand, on TRIANGLES, Letter-High and COIL-DEL."""
    warnings.filterwarnings("ignore", category=UserWarning)
    start = time.perf_counter()
    for key in ["triangles", "letter_high", "coil_del"] if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]:
        _compare(key)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of all of this {peak:.2f} GiB; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
