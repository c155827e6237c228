"""Test episodes of GSM*, fine-tuned side by side, against a plain loop over episodes with PyG's GATConv and Adam.

Times are those of the processor, by one thread, so that other processes disturb them little.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GINConv, global_mean_pool

import fsgc
from benchmarks.device import DEVICE, DataOnDevice, on_device
from benchmarks.fresh import fresh_method
from benchmarks.timing import report, seconds, seconds_in_turn
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.gsm import fine_tuning
from fsgc.methods.gsm.fine_tuning import episodes_at_once
from fsgc.methods.gsm.method import GraphSpectralMeasures, GsmSettings
from fsgc.methods.gsm.receptive_field import groups
from fsgc.methods.gsm.tuning_kernel import is_compiled_for
from fsgc.nn.heads import adam_step

OURS, PLAIN = 32, 2
"""Episodes that are timed."""
TESTED = 5000
"""Episodes of a test."""
TIMES = 20
"""Repeats of something that takes microseconds."""


def _each(work: Callable[[], object]) -> float:
    """Seconds of something short."""

    def often() -> None:
        for _ in range(TIMES):
            work()

    return seconds(often, 9) / TIMES


class PlainGsm(nn.Module):
    """GIN, super-class head, attention and class head, as one would write them on PyG."""

    def __init__(self, num_features: int, way: int, settings: GsmSettings) -> None:
        super().__init__()
        width, convs = settings.width, settings.gin_layers - 1
        self.settings = settings
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for in_width in [num_features] + [width] * (convs - 1):
            layers = nn.Linear(in_width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)
            self.convs.append(GINConv(nn.Sequential(*layers)))
            self.norms.append(nn.BatchNorm1d(width))
        self.super_head = nn.Linear(convs * width + num_features, settings.super_classes)
        self.gats = nn.ModuleList(
            GATConv(
                in_width,
                width,
                heads=settings.heads,
                concat=False,
                negative_slope=settings.slope,
                dropout=settings.dropout,
            )
            for in_width in (convs * width, width)
        )
        self.head = nn.Sequential(
            nn.Linear(width, settings.head_width),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.head_width, way),
        )

    def embed(self, graphs: list[Data]) -> tuple[Tensor, Tensor]:
        """Levels `[g, L·d]` and super-classes `[g]`."""
        batch = Batch.from_data_list(graphs)
        h = batch.x
        levels = [global_mean_pool(h, batch.batch)]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = F.relu(norm(conv(h, batch.edge_index)))
            levels.append(global_mean_pool(h, batch.batch))
        return torch.cat(levels[1:], 1), self.super_head(torch.cat(levels, 1)).argmax(1)

    def links(self, z: Tensor, super_class: Tensor) -> Tensor:
        """The super-graph's edges, super-class after super-class."""
        last, edges = z[:, -self.settings.width :], []
        for one in torch.unique(super_class):
            members = (super_class == one).nonzero().flatten()
            count = min(self.settings.neighbours, len(members))
            near = torch.cdist(last[members], last[members]).topk(count, largest=False).indices
            edges.append(torch.stack([members[near].flatten(), members.repeat_interleave(count)]))
        return torch.cat(edges, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Logits of all graphs of the super-graph."""
        for gat in self.gats:
            x = gat(x, edges)
            x = F.normalize(x, dim=1) if self.settings.normalise_attention else x
        return self.head(x)

    def test(self, graphs: list[Data], labels: Tensor, embed_once: bool) -> Tensor:
        """Embed, link, fine-tune from the same start, score the queries; the supports come first.

        The released code calls the whole model in every step, the frozen part included; with `embed_once` that is done
        once before the steps.
        """
        start = {name: value.clone() for name, value in self.state_dict().items()}
        self.eval()
        tuned = [*self.gats.parameters(), *self.head.parameters()]
        optimiser = torch.optim.Adam(tuned, lr=self.settings.fine_tune_lr)
        self.gats.train()
        self.head.train()
        x, edges = self.frozen(graphs)
        for _ in range(self.settings.fine_tune_steps):
            x, edges = (x, edges) if embed_once else self.frozen(graphs)
            optimiser.zero_grad()
            F.cross_entropy(self(x, edges)[: len(labels)], labels).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        self.eval()
        with torch.no_grad():
            scores = self(x, edges)[len(labels) :]
        self.load_state_dict(start)
        return scores

    @torch.no_grad()
    def frozen(self, graphs: list[Data]) -> tuple[Tensor, Tensor]:
        """What fine-tuning leaves alone: normalised levels and links."""
        z, super_class = self.embed(graphs)
        return F.normalize(z, dim=1), self.links(z, super_class)


def _test_plain(
    plain: PlainGsm, episodes: Episodes, cache: dict[int, Data], batch: EpisodeBatch, embed_once: bool
) -> None:
    labels = batch.support_labels
    for graphs in batch.graphs:
        order = torch.cat([graphs[:, : batch.shots].flatten(), graphs[:, batch.shots :].flatten()]).tolist()
        for graph in order:
            if graph not in cache:
                cache[graph] = episodes.graphs.to_data(graph, episodes.features)
        plain.test([cache[graph] for graph in order], labels, embed_once)


def _method(key: str, shots: int) -> tuple[Episodes, GraphSpectralMeasures]:
    episodes = fsgc.load_episodes(key, shots=shots)
    method = fresh_method(episodes, "gsm")
    assert isinstance(method, GraphSpectralMeasures)
    return episodes, method.eval()


def _compare(key: str) -> None:
    episodes, method = _method(key, 5)
    settings, shape = method.settings, TaskShape.of(episodes)
    plain = PlainGsm(shape.num_features, shape.way, settings).to(DEVICE)
    batch, few = on_device([next(episodes.batches("test", count)) for count in (OURS, PLAIN)])
    cache = DataOnDevice()
    brief = replace(settings, fine_tune_steps=2)
    plain.settings = method.settings = brief  # both have met the data before the clock starts
    _test_plain(plain, episodes, cache, few, embed_once=False)
    method.predict(batch)
    plain.settings = method.settings = settings
    ours = seconds(lambda: method.predict(batch), 2) / OURS
    for embed_once in (False, True):
        theirs = seconds(lambda: _test_plain(plain, episodes, cache, few, embed_once), 1) / PLAIN  # noqa: B023
        form = "frozen part once" if embed_once else "whole model a step"
        report(f"{key} gsm: test, ms an episode; plain: {form}", 1000 * ours, 1000 * theirs, "ms")
    _against_the_roofline(key, 5, method, batch, ours)
    _compiled_and_pure(key, method, batch)


def _compiled_and_pure(key: str, method: GraphSpectralMeasures, batch: EpisodeBatch) -> None:
    """Steps as compiled code, where it is there, and as PyTorch's products."""
    few = EpisodeBatch(batch.graphs[:8], batch.shots)

    def pure() -> None:
        with patch.object(fine_tuning, "is_compiled_for", return_value=False):
            method.predict(few)

    if is_compiled_for(torch.empty(0, device=DEVICE)):
        compiled, plain = seconds_in_turn(2, lambda: method.predict(few), pure)
        report(f"{key} gsm: test, ms an episode; plain: not compiled", 1000 * compiled / 8, 1000 * plain / 8, "ms")


def _against_the_roofline(
    key: str, shots: int, method: GraphSpectralMeasures, batch: EpisodeBatch, ours: float
) -> None:
    """What no order of the same steps can do without: products with the weights, and Adam on each of them.

    The first layer takes two products with its weights a step, the second three, as their shapes want it; Adam's fused
    kernel reads weight, gradient and two averages and writes three of them. Both are timed alone and in a warm cache.
    """
    settings = method.settings
    _, _, links = method.super_graph(batch)
    supports, count = batch.support[0].numel(), episodes_at_once(method.device)
    shapes = [(len(g.episodes), g.first.source.shape[1], g.order.shape[1]) for g in groups(links, supports, count)]
    n1, n2 = (sum(shape[0] * shape[i] for shape in shapes) / len(batch.graphs) for i in (1, 2))
    inputs, outputs = (settings.gin_layers - 1) * settings.width, settings.heads * settings.width
    products, work = 0.0, 0
    for rows, width, times in ((round(n2), inputs, 2), (supports, settings.width, 3)):
        x, weight = (torch.randn(count, height, width, device=DEVICE) for height in (rows, outputs))
        products += times * _each(partial(torch.bmm, x, weight.mT, out=x.new_empty(count, rows, outputs))) / count
        work += times * 2 * rows * width * outputs
    head = settings.head_width * (settings.width + 1 + method.way) + method.way
    weights = head + sum(p.numel() for p in method.attention.parameters())
    own, grad, average, square = ([torch.rand(count * weights, device=DEVICE)] for _ in range(4))
    adam = (
        _each(partial(adam_step, own, grad, average, square, [torch.zeros((), device=DEVICE)], settings.fine_tune_lr))
        / count
    )
    least = settings.fine_tune_steps * (products + adam)
    print(
        f"{key} {shots}-shot: {1000 * ours:.1f} ms an episode, {TESTED * ours / 60:.1f} min for {TESTED}; roofline "
        f"{1000 * least:.1f} ms: a step has products of {work / 1e6:.1f} MFLOP, {1e6 * products:.0f} µs "
        f"({work / products / 1e9:.0f} GFLOP/s), and Adam on {weights} weights, {1e6 * adam:.0f} µs "
        f"({28 * weights / adam / 1e9:.0f} GB/s); ours is {ours / least:.2f} times that; supports depend on {n2:.0f} "
        f"graphs, {n1:.0f} of them at one link",
        flush=True,
    )


def _ten_shot(key: str) -> None:
    episodes, method = _method(key, 10)
    (batch,) = on_device([next(episodes.batches("test", OURS))])
    ours = seconds(lambda: method.predict(batch), 1) / OURS
    _against_the_roofline(key, 10, method, batch, ours)


def _where_the_time_goes(key: str) -> None:
    episodes, method = _method(key, 5)
    (batch,) = on_device([next(episodes.batches("test", OURS))])
    method.predict(EpisodeBatch(batch.graphs[:1], batch.shots))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        method.predict(batch)
    rows = sorted(profile.key_averages(), key=lambda row: -row.self_cpu_time_total)[:10]
    total = sum(row.self_cpu_time_total for row in profile.key_averages())
    shares = ", ".join(f"{row.key.removeprefix('aten::')} {row.self_cpu_time_total / total:.0%}" for row in rows)
    print(f"{key} gsm: where a test goes: {shares}")


def main() -> None:
    """Compare on the generated TRIANGLES or, where the raw files are at hand, on the real one, ENZYMES and COIL-DEL."""
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_num_threads(1)
    datasets = ["triangles", "enzymes", "coil_del"] if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]
    for key in datasets:
        _compare(key)
    for key in datasets:
        _ten_shot(key)
    _where_the_time_goes(datasets[0])


if __name__ == "__main__":
    main()
