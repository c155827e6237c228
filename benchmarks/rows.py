"""Training of FAITH, SMF-GIN and SPNP: the first two against plain loops on PyG, SPNP against our PN."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import fsgc
from benchmarks.timing import report, seconds
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.experiment import Experiment
from fsgc.methods.contract import TaskShape
from fsgc.methods.faith.method import Faith
from fsgc.methods.faith.tasks import TaskNoise
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.smf_gin.method import SmfGin
from fsgc.training.plan import BatchPlan
from fsgc.training.run import make_method
from tests.oracles.faith import PlainFaith
from tests.oracles.gin import DataCache
from tests.oracles.smf_gin import PlainSmfGin

PARAMS = Path(__file__).parents[1] / "params.yaml"
EPISODES, PLAIN_EPISODES = 64, 8


def _make(episodes: Episodes, name: str) -> LearnedMethod:
    training = Experiment.load(PARAMS, model=name, dataset=episodes.split.dataset).training
    method = make_method(training, TaskShape.of(episodes), seed=0)
    assert isinstance(method, LearnedMethod)
    method.attach(episodes)
    return method


def _train(method: LearnedMethod, batches: list[Any]) -> None:
    optimiser = torch.optim.Adam(method.parameters(), lr=1e-4)
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
    plain, data = PlainSmfGin(method), DataCache(episodes)
    few = list(episodes.batches("train", 1))[:PLAIN_EPISODES]
    _train_plain_smf_gin(plain, data, few)  # both have met the data before the clock starts
    theirs = seconds(lambda: _train_plain_smf_gin(plain, data, few), 3) / PLAIN_EPISODES
    for size in (1, 32):
        batches = list(episodes.batches("train", size))[: EPISODES // size]
        _train(method, batches[:1])
        ours = seconds(lambda: _train(method, batches), 3) / EPISODES  # noqa: B023
        _say(episodes, name, size, ours, theirs)


def _faith(episodes: Episodes, name: str) -> None:
    method = _make(episodes, name)
    assert isinstance(method, Faith)
    plain, data = PlainFaith(method, pass_per_task=True), DataCache(episodes)
    few: list[TaskNoise] = list(method.train_batches(episodes, BatchPlan(1, PLAIN_EPISODES, 0), 0))
    _train_plain_faith(plain, method, data, few)
    theirs = seconds(lambda: _train_plain_faith(plain, method, data, few[:4]), 2) / 4
    for size in (1, 8):
        batches = list(method.train_batches(episodes, BatchPlan(size, 16, 0), 0))
        _train(method, batches[:1])
        ours = seconds(lambda: _train(method, batches), 2) / 16  # noqa: B023
        _say(episodes, name, size, ours, theirs)


def _say(episodes: Episodes, name: str, size: int, ours: float, theirs: float) -> None:
    what = f"{episodes.split.dataset} {name}: training, ms an episode, {size} a step"
    report(f"{what} ({1 / ours:.0f}/s)", 1000 * ours, 1000 * theirs, "ms")


def _spnp(episodes: Episodes) -> None:
    batches = list(episodes.batches("train", 32))[:6]
    methods = [_make(episodes, name) for name in ("spnp", "pn")]
    for method in methods:
        _train(method, batches[:1])
    spnp, pn = (seconds(lambda: _train(method, batches), 4) / len(batches) / 32 for method in methods)  # noqa: B023
    print(
        f"{episodes.split.dataset} spnp: training, ms an episode: {1000 * spnp:.3f}, PN {1000 * pn:.3f}; "
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
