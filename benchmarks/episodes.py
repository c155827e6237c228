"""Drawing episodes against a `random.sample` loop, and opening a stored set of them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import report, seconds
from fsgc.data.catalog import dataset
from fsgc.episodes.sampling import sample_episodes

EPISODES, WAY, PER_CLASS = 100_000, 5, 25  # 5-way, 10-shot, 15 queries
GRAPHS_PER_CLASS = 39  # of COIL-DEL

FIRST_BATCH = """
import time; times = [time.perf_counter()]
import fsgc
from fsgc.episodes.store import EpisodeStore
load_episodes = fsgc.load_episodes; times.append(time.perf_counter())
episodes = load_episodes("triangles_gen", shots=5)
batch = next(episodes.batches("test", batch_size=32)); times.append(time.perf_counter())
next(episodes.pyg_batches("test", batch_size=32)); times.append(time.perf_counter())
store = EpisodeStore.open(episodes.store.path); store.test[:32]; times.append(time.perf_counter())
imports, index, pyg, reopen = (1000 * (b - a) for a, b in zip(times, times[1:]))
print(f"imports {imports:.0f} ms, then {index:.1f} ms to the first batch of indices, {pyg:.1f} ms more to the first "
      f"PyG batch; opened again, {reopen:.1f} ms to the first 32 of 5000 test episodes")
"""


def main() -> None:
    """Time both on classes as large as those of COIL-DEL's base split."""
    base = dataset("coil_del").base
    pools = [np.arange(i * GRAPHS_PER_CLASS, (i + 1) * GRAPHS_PER_CLASS) for i in range(len(base))]
    members = {c: pool.tolist() for c, pool in zip(base, pools, strict=True)}
    rng = random.Random(0)

    def plain() -> list[list[list[int]]]:
        return [[rng.sample(members[c], PER_CLASS) for c in rng.sample(base, WAY)] for _ in range(EPISODES)]

    def ours() -> None:
        sample_episodes(pools, EPISODES, WAY, PER_CLASS, ("bench", 0))

    report("100,000 COIL-DEL 5-way 10-shot episodes, against random.sample", seconds(ours, 5), seconds(plain, 1))
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "FSGC_DATA": str(Path(scratch) / "data")}
        build = [sys.executable, "-m", "fsgc", "build", "triangles_gen"]
        subprocess.run(build, env=environment, check=True, capture_output=True)
        print("stored triangles_gen 5-shot episodes: ", end="", flush=True)
        subprocess.run([sys.executable, "-c", FIRST_BATCH], env=environment, check=True)


if __name__ == "__main__":
    main()
