"""`Method.classify`: the same as an episode where classes have equally many supports, right where they have not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.kernel.compute import gram_of
from fsgc.methods.kernel.method import KernelMethod
from fsgc.methods.kernel.settings import KernelSettings
from fsgc.methods.prototypical.method import PrototypicalNetwork
from fsgc.methods.registry import METHODS, method_entry
from fsgc.nn.heads import MLPHead, fresh_head
from fsgc.preparation import prepared_for
from fsgc.training.checkpoint import restore
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings


def _fresh(name: str, episodes: Episodes, **settings: object) -> Method:
    kind = method_entry(name).method().settings_type
    return make_method(Training(name, kind(**settings), TrainSettings()), TaskShape.of(episodes), 0)


@pytest.mark.parametrize("name", METHODS)
def test_with_equal_supports_it_is_an_episode(
    name: str, shape_episodes: Episodes, model_file: Callable[[str], Path]
) -> None:
    episodes = shape_episodes
    method = restore(model_file(name)).method
    (batch,) = episodes.batches("test", 1000)
    one = EpisodeBatch(batch.graphs[:1], batch.shots)
    method.attach(prepared_for(name, episodes))
    with torch.no_grad():
        expected = method.predict(one)[0]
        method.attach_graphs(episodes.graphs, episodes.features)
        labels = torch.arange(episodes.way).repeat_interleave(episodes.shots)
        found = method.classify(one.support.flatten(), labels, one.query.flatten())
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("norm", ["graph", "episode"])
@pytest.mark.parametrize("name", ["pn", "pn_tae"])
def test_prototypes_of_unequal_supports(name: str, norm: str, shape_episodes: Episodes) -> None:
    episodes = shape_episodes
    method = _fresh(name, episodes, norm=norm, gamma0=0.3)
    assert isinstance(method, PrototypicalNetwork)
    method.eval()
    method.attach(episodes)
    support, labels, query = torch.arange(7), torch.tensor([1, 0, 1, 2, 1, 1, 0]), torch.arange(30, 41)
    with torch.no_grad():
        z = method.vectors(support, labels, torch.cat([support, query])).double()
        found = method.classify(support, labels, query).double()
    for row, one in enumerate(z[7:]):
        for c in range(3):
            members = [z[i] for i in range(7) if labels[i] == c]
            mean = sum(members) / len(members)
            expected = -float(method.scale.detach()) * float(((one - mean) ** 2).sum())
            assert float(found[row, c]) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_query_does_not_matter_to_another(shape_episodes: Episodes, model_file: Callable[[str], Path]) -> None:
    episodes = shape_episodes
    for name in ("pn_tae_mu", "gin", "wl"):
        method = restore(model_file(name)).method
        method.attach_graphs(episodes.graphs, episodes.features)
        support, labels, query = torch.arange(5), torch.tensor([0, 1, 2, 2, 0]), torch.arange(40, 52)
        with torch.no_grad():
            together = method.classify(support, labels, query)
            alone = torch.cat([method.classify(support, labels, query[i : i + 1]) for i in range(len(query))])
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


def test_a_head_on_unequal_supports_is_plain_fine_tuning(
    shape_episodes: Episodes, model_file: Callable[[str], Path]
) -> None:
    episodes = shape_episodes
    found = restore(model_file("gin"))
    method, settings = found.method, found.settings
    method.attach_graphs(episodes.graphs, episodes.features)
    support, labels, query = torch.arange(6), torch.tensor([0, 1, 1, 1, 2, 0]), torch.arange(50, 58)
    z = method.vectors(support, labels, torch.cat([support, query]))
    assert z is not None
    start = fresh_head(settings.width, settings.width, 3, torch.Generator().manual_seed(settings.head_seed))
    head = MLPHead(settings.width, settings.width, 3)
    parameters = (head.hidden.weight, head.hidden.bias, head.out.weight, head.out.bias)
    for parameter, value in zip(parameters, start, strict=True):
        parameter.data.copy_(value)
    adam = torch.optim.Adam(head.parameters(), lr=settings.head_lr)
    for _ in range(settings.head_steps):
        adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(head(z[:6]), labels)
        torch.autograd.backward(loss)
        adam.step()
    torch.testing.assert_close(method.classify(support, labels, query), head(z[6:]).detach(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_machine_on_unequal_supports_is_that_of_sklearn(classes: int, shape_episodes: Episodes) -> None:
    episodes = shape_episodes
    method = _fresh("wl", episodes)
    assert isinstance(method, KernelMethod)
    method.attach_graphs(episodes.graphs, episodes.features)
    y = np.array([0, 0, 0, 1, 1, 0, 1, 0, 2, 1])[: 8 if classes == 2 else 10]
    support, query = np.arange(0, 10 * len(y), 10), np.arange(5, 100, 7)
    values = gram_of(episodes.graphs, np.concatenate([support, query]), "wl", KernelSettings())
    machine = SVC(kernel="precomputed").fit(values[: len(y), : len(y)], y)
    found = method.classify(*(torch.from_numpy(part) for part in (support, y, query)))
    assert found.argmax(1).tolist() == machine.predict(values[len(y) :, : len(y)]).tolist()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=12), st.integers(1, 9))
def test_an_episode_of_labelled_graphs(labels: list[int], queries: int) -> None:
    labels = [0, 1, 2, 3, *labels]
    support, query = torch.arange(100, 100 + len(labels)), torch.arange(queries)
    batch = EpisodeBatch.of_labelled(support, torch.tensor(labels), query)
    assert batch.query.flatten().tolist()[:queries] == query.tolist()
    assert set(batch.query.flatten().tolist()) == set(query.tolist())
    for c in range(4):
        members = [100 + i for i, label in enumerate(labels) if label == c]
        found = batch.support[0, c].tolist()
        assert sorted(set(found)) == members
        times = [found.count(member) for member in members]
        assert max(times) - min(times) <= 1
