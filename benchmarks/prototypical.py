"""PN and PN+TAE+MU, trained and tested, against the same networks on plain PyG (`tests.oracles`)."""

from __future__ import annotations

import os
import resource
import time
import warnings

import torch
from torch_geometric.data import Data

import fsgc
from benchmarks.device import DEVICE, DataOnDevice, on_device
from benchmarks.fresh import fresh_method
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.prototypical.method import PrototypicalNetwork
from tests.oracles.embedder import copy_weights
from tests.oracles.prototypical import PlainPN, nested

STEPS, EPISODES_A_STEP, PLAIN_TEST = 12, 32, 64


def _train_ours(method: LearnedMethod, batches: list[EpisodeBatch]) -> None:
    optimiser = torch.optim.Adam(method.parameters(), lr=1e-4)
    for batch in batches:
        optimiser.zero_grad()
        method.loss(batch).total.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _train_plain(plain: PlainPN, episodes: Episodes, cache: dict[int, Data], batches: list[EpisodeBatch]) -> None:
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-4)
    for batch in batches:
        optimiser.zero_grad()
        loss, _ = plain(nested(episodes, cache, batch.support), nested(episodes, cache, batch.query))
        loss.backward()
        optimiser.step()


@torch.inference_mode()
def _test_plain(plain: PlainPN, episodes: Episodes, cache: dict[int, Data]) -> None:
    for batch in on_device(list(episodes.batches("test", 32))[: PLAIN_TEST // 32]):
        plain(nested(episodes, cache, batch.support), nested(episodes, cache, batch.query))


@torch.inference_mode()
def _test_ours(method: LearnedMethod, episodes: Episodes) -> None:
    for batch in episodes.batches("test", method.episodes_at_once):
        method.predict(batch.to(DEVICE))


def _compare(key: str, name: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    method = fresh_method(episodes, name)
    assert isinstance(method, PrototypicalNetwork)
    plain = PlainPN(episodes.num_features, method.settings, "tae" in name, "mu" in name).to(DEVICE)
    copy_weights(method, plain)
    batches = on_device(list(episodes.batches("train", EPISODES_A_STEP))[:STEPS])
    cache = DataOnDevice()
    _train_plain(plain, episodes, cache, batches[:1])  # both have met the data before the clock starts
    _train_ours(method, batches[:1])
    ours = seconds(lambda: _train_ours(method, batches), 3) / STEPS / EPISODES_A_STEP
    theirs = seconds(lambda: _train_plain(plain, episodes, cache, batches[:4]), 1) / 4 / EPISODES_A_STEP
    report(f"{key} {name}: training, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")
    method.eval()
    plain.eval()
    tested = len(episodes.store.test)
    ours = seconds(lambda: _test_ours(method, episodes), 2) / tested
    theirs = seconds(lambda: _test_plain(plain, episodes, cache), 1) / PLAIN_TEST
    report(f"{key} {name}: test, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")


def _where_the_time_goes(key: str, name: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    method = fresh_method(episodes, name)
    assert isinstance(method, LearnedMethod)
    batches = on_device(list(episodes.batches("train", EPISODES_A_STEP))[:STEPS])
    _train_ours(method, batches[:2])
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        _train_ours(method, batches)
    rows = sorted(profile.key_averages(), key=lambda row: -row.self_cpu_time_total)[:8]
    total = sum(row.self_cpu_time_total for row in profile.key_averages())
    shares = ", ".join(f"{row.key.removeprefix('aten::')} {row.self_cpu_time_total / total:.0%}" for row in rows)
    print(f"{key} {name}: where a training step goes: {shares}")
    assert isinstance(method, PrototypicalNetwork)
    nodes = int(episodes.graphs.num_nodes[batches[0].graphs.flatten().cpu().numpy()].sum())
    _roofline(nodes, method.settings.width, f"{key} {name}, {nodes} nodes a step")


def _roofline(nodes: int, width: int, what: str) -> None:
    """What the machine can do: a matrix product of the step's shape, and a copy of the step's rows."""
    x, weight = (torch.randn(rows, width, device=DEVICE) for rows in (nodes, width))
    gemm = seconds(lambda: x @ weight, 20)
    copy = seconds(lambda: x.clone(), 20)
    print(
        f"roofline of {what}: product [{nodes}, {width}] x [{width}, {width}] {1000 * gemm:.2f} ms "
        f"({2 * nodes * width**2 / gemm / 1e9:.0f} GFLOP/s), copy {1000 * copy:.2f} ms "
        f"({8 * nodes * width / copy / 1e9:.1f} GB/s)"
    )


def main() -> None:
    """Compare on the generated TRIANGLES and, where the raw files are at hand, on ENZYMES and COIL-DEL."""
    warnings.filterwarnings("ignore", category=UserWarning)
    datasets = ["triangles", "coil_del", "enzymes"] if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]
    start = time.perf_counter()
    for key in datasets:
        for name in ("pn", "pn_tae_mu"):
            _compare(key, name)
    for name in ("pn", "pn_tae_mu"):
        _where_the_time_goes(datasets[0], name)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of all of this {peak:.2f} GiB; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
