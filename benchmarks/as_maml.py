"""AS-MAML, trained and tested, against the usual loop: one episode after the other on plain PyG (`tests.oracles`)."""

from __future__ import annotations

import os
import warnings

import torch
import torch.nn.functional as F

import fsgc
from benchmarks.device import DEVICE, on_device
from benchmarks.fresh import fresh_method
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.as_maml.method import AdaptiveStepMaml
from tests.oracles.as_maml import PlainEpisode

EPISODES_A_STEP, TESTED, PLAIN_EPISODES = 5, 32, 2


def _train_ours(method: AdaptiveStepMaml, batch: EpisodeBatch) -> float:
    """A training step; the mean number of an episode's steps."""
    optimiser = method.configure_optimizers()["optimizer"]
    optimiser.zero_grad()
    loss = method.loss(batch)
    loss.total.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return float(loss.parts["steps"])


def _train_plain(method: AdaptiveStepMaml, episodes: Episodes, batch: EpisodeBatch, steps: int) -> None:
    """The outer gradient, with accuracies on the queries after every step from the first that may be the last."""
    for graphs in batch.graphs:
        episode = PlainEpisode(method, episodes, graphs, batch.shots)
        weights, _, _ = episode.adapt(steps)
        F.cross_entropy(episode.scores(weights), episode.query_labels).backward()  # type: ignore[no-untyped-call]
        for _ in range(method.settings.min_steps, steps):
            with torch.no_grad():
                episode.scores(weights)


def _test_plain(method: AdaptiveStepMaml, episodes: Episodes, batch: EpisodeBatch) -> None:
    for graphs in batch.graphs:
        episode = PlainEpisode(method, episodes, graphs, batch.shots)
        episode.scores(episode.adapt(method.settings.test_steps, create_graph=False)[0])


def _compare(key: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    method = fresh_method(episodes, "as_maml")
    assert isinstance(method, AdaptiveStepMaml)
    (batch,) = on_device([next(episodes.batches("train", EPISODES_A_STEP))])
    few = EpisodeBatch(batch.graphs[:PLAIN_EPISODES], batch.shots)
    steps = round(_train_ours(method, batch))
    ours = seconds(lambda: _train_ours(method, batch), 4) / EPISODES_A_STEP
    theirs = seconds(lambda: _train_plain(method, episodes, few, steps), 2) / PLAIN_EPISODES
    report(f"{key} as_maml: training, ms an episode of {steps} steps", 1000 * ours, 1000 * theirs, "ms")
    (tested,) = on_device([next(episodes.batches("val", TESTED))])
    ours = seconds(lambda: method.predict(tested), 3) / len(tested.graphs)
    theirs = seconds(lambda: _test_plain(method, episodes, few), 2) / PLAIN_EPISODES
    report(f"{key} as_maml: test, ms an episode", 1000 * ours, 1000 * theirs, "ms")
    _roofline(key, method, episodes, tested, ours)


def _roofline(key: str, method: AdaptiveStepMaml, episodes: Episodes, batch: EpisodeBatch, ours: float) -> None:
    """What the products of a test episode take at the rate of the largest of them, and where the time goes."""
    settings, counts = method.settings, torch.from_numpy(episodes.graphs.num_nodes)
    once = [_products(method, counts[graphs.cpu()].flatten(1), episodes.way) for graphs in (batch.support, batch.query)]
    needed = 3 * settings.test_steps * once[0] + once[1]
    x, weight = (torch.randn(8, rows, settings.width, device=DEVICE) for rows in (256, settings.width))
    rate = 2 * x.numel() * settings.width / seconds(lambda: x @ weight, 30)
    print(
        f"roofline of {key}: {needed / 1e9:.2f} GFLOP a test episode, {1000 * needed / rate:.1f} ms at "
        f"{rate / 1e9:.0f} GFLOP/s; ours takes {ours * rate / needed:.1f} times that"
    )
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        method.predict(batch)
    rows = sorted(profile.key_averages(), key=lambda row: -row.self_cpu_time_total)[:8]
    total = sum(row.self_cpu_time_total for row in profile.key_averages())
    shares = ", ".join(f"{row.key.removeprefix('aten::')} {row.self_cpu_time_total / total:.0%}" for row in rows)
    print(f"{key}: where a test goes: {shares}", flush=True)


def _products(method: AdaptiveStepMaml, counts: torch.Tensor, way: int) -> float:
    """Floating-point operations of the products of one pass, of an average episode with graphs of so many nodes."""
    settings = method.settings
    nodes, wide, total = counts.double(), method.graphs.num_features, 0.0
    for _ in range(settings.levels):
        total += 2 * float(nodes.sum(1).mean()) * settings.width * (wide * (1 + settings.root_weight) + 2)
        nodes, wide = (nodes * settings.ratio).ceil(), settings.width
    d = settings.width
    return total + 2 * counts.shape[1] * (2 * d * d + d * (d // 2) + d // 2 * way)


def main() -> None:
    """Compare on the generated TRIANGLES or, with the raw files at hand, on four datasets."""
    warnings.filterwarnings("ignore", category=UserWarning)
    real = ["coil_del", "triangles", "enzymes", "letter_high"]
    for key in real if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]:
        _compare(key)


if __name__ == "__main__":
    main()
