"""Training of FAITH, SMF-GIN and SPNP: the first two against plain loops on PyG, SPNP against our PN.

Processor time, the least of several turns in which one side follows the other: what else the machine does counts less.
With an episode a step both sides multiply about the same matrices, and the ratio cannot exceed the plain loop's time
over that of these products alone. An estimate of that bound on TRIANGLES, from products timed by themselves and counted
by hand on a busy machine, is about 2 for FAITH and 5 for SMF-GIN.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

import fsgc
from benchmarks.device import DEVICE, on_device
from benchmarks.fresh import fresh_method
from benchmarks.timing import report, seconds_in_turn
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.faith.method import Faith
from fsgc.methods.faith.tasks import TaskNoise
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.smf_gin.adam import adam
from fsgc.methods.smf_gin.method import SmfGin
from fsgc.training.plan import BatchPlan
from tests.oracles.faith import PlainFaith
from tests.oracles.gin import DataCache
from tests.oracles.smf_gin import PlainSmfGin

EPISODES, PLAIN_EPISODES = 64, 8


def _make(episodes: Episodes, name: str) -> LearnedMethod:
    method = fresh_method(episodes, name)
    assert isinstance(method, LearnedMethod)
    return method


def _train(method: LearnedMethod, batches: list[Any], make: Callable[..., torch.optim.Adam] = adam) -> None:
    optimiser = make(method.parameters(), lr=1e-4)
    for batch in batches:
        optimiser.zero_grad()
        method.loss(batch).total.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _train_plain_smf_gin(plain: PlainSmfGin, data: DataCache, batches: list[EpisodeBatch]) -> None:
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-4)
    for batch in batches:
        optimiser.zero_grad()
        scores = plain.scores(data(batch.graphs), batch.graphs.shape[1], batch.shots)
        F.cross_entropy(scores, batch.labels[0]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _train_plain_faith(plain: PlainFaith, ours: Faith, data: DataCache, batches: list[TaskNoise]) -> None:
    """A step per episode; which tasks there are is decided by our draw on either side."""
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-4)
    shots, queries = ours._shots, ours._queries
    for noise in batches:
        optimiser.zero_grad()
        first = ours.losses.mean(0).log_softmax(0).unsqueeze(0)
        classes, episode = ours.pools.draw(first, noise.tasks(slice(0, 1)), shots + queries)
        with torch.no_grad():  # a look at the supports, by which the support tasks are chosen
            means = torch.stack([rows.mean(0) for rows in plain.embed([[data(g[:shots]) for g in episode[0, 0]]])[0]])
        like = plain.classifier(means).softmax(-1).sum(0, keepdim=True).log_softmax(-1)
        _, others = ours.pools.draw(like, noise.tasks(slice(1, None)), shots + queries)
        tasks = [[data(graphs) for graphs in task] for task in (episode[0, 0], *others[0])]
        weight = ours.settings.classifier_weight
        plain.loss(tasks, classes[0, 0].tolist(), shots, weight).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _smf_gin(episodes: Episodes, name: str) -> None:
    method = _make(episodes, name)
    assert isinstance(method, SmfGin)
    plain, data = PlainSmfGin(method).to(DEVICE), DataCache(episodes, DEVICE)
    few = on_device(list(episodes.batches("train", 1))[:PLAIN_EPISODES])
    many = [on_device(list(episodes.batches("train", size))[: EPISODES // size]) for size in (1, 32)]
    one, together, theirs = seconds_in_turn(
        3,
        lambda: _train(method, many[0]),
        lambda: _train(method, many[1]),
        lambda: _train_plain_smf_gin(plain, data, few),
    )
    for size, ours in ((1, one), (32, together)):
        _say(episodes, name, size, ours / EPISODES, theirs / PLAIN_EPISODES)


def _faith(episodes: Episodes, name: str) -> None:
    method = _make(episodes, name)
    assert isinstance(method, Faith)
    plain, data = PlainFaith(method, pass_per_task=True).to(DEVICE), DataCache(episodes, DEVICE)
    alone, batches = (
        [noise.to(DEVICE) for noise in method.train_batches(episodes, BatchPlan(*plan, 0), 0)]
        for plan in ((1, 4), (8, 8))
    )
    one, together, theirs = seconds_in_turn(
        2,
        lambda: _train(method, alone),
        lambda: _train(method, batches),
        lambda: _train_plain_faith(plain, method, data, alone[:2]),
    )
    _say(episodes, name, 1, one / 4, theirs / 2)
    _say(episodes, name, 8, together / 8, theirs / 2)


def _say(episodes: Episodes, name: str, size: int, ours: float, theirs: float) -> None:
    what = f"{episodes.split.dataset} {name}: training, ms an episode, {size} a step"
    report(f"{what} ({1 / ours:.0f}/s)", 1000 * ours, 1000 * theirs, "ms")


def _spnp(episodes: Episodes) -> None:
    batches = on_device(list(episodes.batches("train", 32))[:6])
    first, second = (_make(episodes, name) for name in ("spnp", "pn"))
    times = seconds_in_turn(4, *(partial(_train, method, batches, torch.optim.Adam) for method in (first, second)))
    spnp, pn = (1000 * value / len(batches) / 32 for value in times)
    print(
        f"{episodes.split.dataset} spnp: training, ms an episode: {spnp:.3f}, PN {pn:.3f}; "
        f"{spnp / pn:.2f} times the cost of PN",
        flush=True,
    )


def main() -> None:
    """Compare on the generated TRIANGLES and, where the raw files are at hand, on the real one and on COIL-DEL."""
    warnings.filterwarnings("ignore", category=UserWarning)
    for key in ["triangles", "coil_del"] if os.environ.get("FSGC_MIRROR") else ["triangles_gen"]:
        episodes = fsgc.load_episodes(key, shots=5)
        _spnp(episodes)
        for name in ("smf_gin", "smf_gin_local"):
            _smf_gin(episodes, name)
        for name in ("faith", "faith_inductive"):
            _faith(episodes, name)


if __name__ == "__main__":
    main()
