"""Fine-tuning of transfer heads, against the usual loop: one episode after the other on plain PyG."""

from __future__ import annotations

import os
import time
import warnings

import torch

import fsgc
from benchmarks.device import DEVICE, DataOnDevice, on_device
from benchmarks.fresh import fresh_method
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch
from fsgc.methods.transfer import Transfer
from fsgc.nn.heads import fine_tune, fresh_head
from fsgc.nn.in_chunks import embed_graphs
from tests.oracles.classifier import PlainClassifier, fine_tuned_head, transfer_scores
from tests.oracles.embedder import copy_weights

PLAIN_EPISODES = 16


def _compare(key: str) -> None:
    episodes = fsgc.load_episodes(key, shots=5)
    method = fresh_method(episodes, "gin")
    assert isinstance(method, Transfer)
    method.eval()
    plain = PlainClassifier(episodes.num_features, method.settings, len(episodes.split.base)).eval().to(DEVICE)
    copy_weights(method, plain)
    (test,) = on_device(list(episodes.batches("test", len(episodes.store.test))))
    few = [EpisodeBatch(graphs[None], test.shots) for graphs in test.graphs[:PLAIN_EPISODES]]
    cache = DataOnDevice()

    def loop() -> None:
        for episode in few:
            transfer_scores(plain, episodes, cache, episode, method.settings)

    loop()  # both have met the data before the clock starts
    method.predict(EpisodeBatch(test.graphs[:64], test.shots))
    ours = seconds(lambda: method.predict(test), 2) / len(test.graphs)
    theirs = seconds(loop, 3) / PLAIN_EPISODES
    report(f"{key} gin: test, ms an episode ({1 / ours:.0f} episodes/s)", 1000 * ours, 1000 * theirs, "ms")

    way, settings = episodes.way, method.settings
    labels = test.support_labels
    with torch.no_grad():
        z = embed_graphs(method.embedder, method.graphs, test.support[:1024]).view(-1, len(labels), settings.width)
    drawn = fresh_head(settings.width, settings.width, way, torch.Generator().manual_seed(0))
    start = type(drawn)(*(weight.to(DEVICE) for weight in drawn))
    ours = seconds(lambda: fine_tune(start, z, labels, settings.head_steps, settings.head_lr), 3) / len(z)
    theirs = (
        seconds(lambda: [fine_tuned_head(one, labels, way, settings) for one in z[:PLAIN_EPISODES]], 3) / PLAIN_EPISODES
    )
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
