"""Test episodes of GSM*, fine-tuned side by side, against a plain loop over episodes with PyG's GATConv and Adam."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GINConv, global_mean_pool

import fsgc
from benchmarks.fresh import training_of
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.gsm.method import GraphSpectralMeasures, GsmSettings

OURS, PLAIN = 32, 2
"""Episodes that are timed."""


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


def _compare(key: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    settings = training_of(key, "gsm").method
    shape = TaskShape.of(episodes)
    method, plain = GraphSpectralMeasures(shape, settings), PlainGsm(shape.num_features, shape.way, settings)
    method.attach(episodes)
    method.eval()
    batch, few = (next(episodes.batches("test", count)) for count in (OURS, PLAIN))
    cache: dict[int, Data] = {}
    brief = replace(settings, fine_tune_steps=2)
    plain.settings = method.settings = brief  # both have met the data before the clock starts
    _test_plain(plain, episodes, cache, few, embed_once=False)
    method.predict(batch)
    plain.settings = method.settings = settings
    with torch.no_grad():
        ours = seconds(lambda: method.predict(batch), 1) / OURS
    for embed_once in (False, True):
        theirs = seconds(lambda: _test_plain(plain, episodes, cache, few, embed_once), 1) / PLAIN  # noqa: B023
        form = "frozen part once" if embed_once else "whole model a step"
        report(f"{key} gsm: test, ms an episode; plain: {form}", 1000 * ours, 1000 * theirs, "ms")


def main() -> None:
    """Compare on the generated TRIANGLES and, where the raw files are at hand, on the real one and on COIL-DEL."""
    warnings.filterwarnings("ignore", category=UserWarning)
    for key in ["triangles", "coil_del"] if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]:
        _compare(key)


if __name__ == "__main__":
    main()
