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
from benchmarks.device import DEVICE, DataOnDevice, on_device
from benchmarks.fresh import fresh_method, training_of
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.maml.method import Maml
from tests.oracles.classifier import PlainClassifier, maml_scores
from tests.oracles.embedder import copy_weights

STEPS, PLAIN_EPISODES, REPEATS = 2, 4, 4
PRODUCTS = ("aten::bmm", "aten::baddbmm", "aten::baddbmm_")


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
    plain = PlainClassifier(episodes.num_features, method.settings, episodes.way).to(DEVICE)
    copy_weights(method.network, plain)
    loop = training_of(key, "maml").train
    batches = on_device(list(episodes.batches("train", loop.batch_size))[:STEPS])
    count = STEPS * loop.batch_size
    few = EpisodeBatch(batches[0].graphs[:PLAIN_EPISODES], batches[0].shots)
    cache = DataOnDevice()
    _train_plain(plain, episodes, cache, few, method)  # both have met the data before the clock starts
    _train_ours(method, batches[:1])
    ours = seconds(lambda: _train_ours(method, batches), REPEATS) / count
    theirs = seconds(lambda: _train_plain(plain, episodes, cache, few, method), REPEATS) / PLAIN_EPISODES
    report(f"{key} maml: training, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")
    kernel, method._kernel = method._kernel, None
    if kernel is not None:
        pure = seconds(lambda: _train_ours(method, batches), REPEATS) / count
        print(f"{key} maml: without compiled code {1000 * pure:.2f} ms an episode, {pure / ours:.1f} times as long")
    _where_the_time_goes(key, method, batches)
    method._kernel = kernel
    _roofline(key, episodes, method, batches[0], ours * loop.batch_size)
    method.eval()
    plain.eval()
    tested = seconds(lambda: method.predict(batches[0]), REPEATS) / loop.batch_size
    theirs = seconds(lambda: _test_plain(plain, episodes, cache, few, method), REPEATS) / PLAIN_EPISODES
    report(f"{key} maml: test, ms an episode ({1 / tested:.0f} episodes/s)", 1000 * tested, 1000 * theirs, "ms")
    epoch = ours * loop.episodes_per_epoch + tested * len(episodes.store.val)
    least, most = (epochs * epoch / 60 for epochs in (loop.patience + 1, loop.max_epochs))
    print(f"{key} maml: an epoch with its validation {epoch:.1f} s, a training {least:.1f} to {most:.1f} minutes")


def _where_the_time_goes(key: str, method: Maml, batches: list[EpisodeBatch]) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        _train_ours(method, batches)
    every = profile.key_averages()
    total = sum(row.self_cpu_time_total for row in every)
    rows = sorted(every, key=lambda row: -row.self_cpu_time_total)[:8]
    shares = ", ".join(f"{row.key.removeprefix('aten::')} {row.self_cpu_time_total / total:.0%}" for row in rows)
    products = sum(row.self_cpu_time_total for row in every if row.key in PRODUCTS) / total
    print(f"{key} maml: where a training step without compiled code goes: products {products:.0%} of it; {shares}")


def _roofline(key: str, episodes: Episodes, method: Maml, batch: EpisodeBatch, step: float) -> None:
    """What the products of node rows alone would take, without padding, and a copy of the rows.

    Forward, a convolution needs two products `[n, d] · [d, d]`, the last one only one; backward it is twice as many, in
    a Hessian product six times as many.
    """
    settings, nodes = method.settings, torch.from_numpy(episodes.graphs.num_nodes)
    support, query = (int(nodes[graphs.cpu()].sum()) for graphs in (batch.support, batch.query))
    forward, count = 2 * settings.num_convs - 1, len(batch.graphs)
    width = settings.width
    x, weight = (torch.randn(count, rows, width, device=DEVICE) for rows in (support // count, width))
    product, copy = seconds(lambda: torch.bmm(x, weight), 50), seconds(lambda: x.clone(), 50)
    needed = product * forward * (9 * settings.inner_steps + 3 * query / support)
    print(
        f"{key} maml: roofline of a step of {count} episodes, {support} support and {query} query nodes: the products "
        f"it needs {1000 * needed:.0f} ms, the step {1000 * step:.0f} ms ({step / needed:.1f} times); one product "
        f"{1e6 * product:.0f} µs ({2 * x.numel() * width / product / 1e9:.0f} GFLOP/s), one copy of the rows "
        f"{1e6 * copy:.0f} µs"
    )


def main() -> None:
    """Compare on the generated TRIANGLES or, with the raw files at hand, on five datasets."""
    warnings.filterwarnings("ignore", category=UserWarning)
    start = time.perf_counter()
    with_files = ["triangles", "letter_high", "enzymes", "coil_del", "reddit"]
    for key in with_files if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]:
        _compare(key)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of all of this {peak:.2f} GiB; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
