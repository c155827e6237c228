"""Fine-tuning of transfer heads, against the usual loop: one episode after the other on plain PyG."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

import fsgc
from benchmarks.plain_classifier import PlainClassifier, collate, copy_weights
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.transfer import Transfer, TransferSettings
from fsgc.nn.heads import fine_tune, fresh_head
from fsgc.nn.in_chunks import embed_graphs
from fsgc.settings import load_params
from fsgc.training.run import make_method

PLAIN_EPISODES = 16
PARAMS = Path(__file__).parents[1] / "params.yaml"


def plain_head(z: Tensor, labels: Tensor, way: int, settings: TransferSettings) -> nn.Module:
    """A head fine-tuned on the embedded supports of one episode, `[N·K, d]`."""
    width = settings.width
    head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, way)).to(z.dtype)
    start = fresh_head(width, width, way, torch.Generator().manual_seed(settings.head_seed))
    with torch.no_grad():
        for parameter, weight in zip(head.parameters(), start, strict=True):
            parameter.copy_(weight)
    optimiser = torch.optim.Adam(head.parameters(), lr=settings.head_lr)
    for _ in range(settings.head_steps):
        optimiser.zero_grad()
        F.cross_entropy(head(z), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return head


def plain_scores(
    plain: PlainClassifier,
    episodes: Episodes,
    cache: dict[int, Data],
    episode: EpisodeBatch,
    settings: TransferSettings,
) -> Tensor:
    """The logits of the queries of one episode, `[N·Q, N]`."""
    way = episode.graphs.shape[1]
    with torch.no_grad():
        support = plain.embed(collate(episodes, cache, episode.support))
        query = plain.embed(collate(episodes, cache, episode.query))
    head = plain_head(support, torch.arange(way).repeat_interleave(episode.shots), way, settings)
    with torch.no_grad():
        return head(query)


def _compare(key: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    method = make_method(Experiment.from_params(load_params(PARAMS), "gin", key), episodes, seed=0)
    assert isinstance(method, Transfer)
    method.eval()
    plain = PlainClassifier(episodes.num_features, method.settings, len(episodes.split.base)).eval()
    copy_weights(method, plain)
    test = next(episodes.batches("test", len(episodes.store.test)))
    few = [EpisodeBatch(graphs[None], test.shots) for graphs in test.graphs[:PLAIN_EPISODES]]
    cache: dict[int, Data] = {}

    def loop() -> None:
        for episode in few:
            plain_scores(plain, episodes, cache, episode, method.settings)

    loop()  # both have met the data before the clock starts
    method.predict(EpisodeBatch(test.graphs[:64], test.shots))
    ours = seconds(lambda: method.predict(test), 2) / len(test.graphs)
    theirs = seconds(loop, 3) / PLAIN_EPISODES
    report(f"{key} gin: test, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")

    way, settings = episodes.way, method.settings
    labels = torch.arange(way).repeat_interleave(test.shots)
    with torch.no_grad():
        z = embed_graphs(method.embedder, method.graphs, test.support[:1024]).view(-1, len(labels), settings.width)
    start = fresh_head(settings.width, settings.width, way, torch.Generator().manual_seed(0))
    ours = seconds(lambda: fine_tune(start, z, labels, settings.head_steps, settings.head_lr), 3) / len(z)
    theirs = seconds(lambda: [plain_head(one, labels, way, settings) for one in z[:PLAIN_EPISODES]], 3) / PLAIN_EPISODES
    report(f"{key} gin: of that the head's steps alone, ms an episode", 1000 * ours, 1000 * theirs, "ms")


def main() -> None:
    """Compare on the generated TRIANGLES or, with the raw files at hand, on TRIANGLES and COIL-DEL."""
    warnings.filterwarnings("ignore", category=UserWarning)
    start = time.perf_counter()
    for key in ["triangles", "coil_del"] if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]:
        _compare(key)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
