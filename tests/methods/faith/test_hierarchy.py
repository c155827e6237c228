from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fsgc.methods.contract import TaskShape
from fsgc.methods.faith.hierarchy import Layout, Samples, task_scores, weighted_mean
from fsgc.methods.faith.method import Faith, FaithSettings
from tests.oracles.faith import PlainFaith

LAYOUT = Layout(tasks=3, way=2, shots=3, queries=4, other_queries=5)
SMALL = FaithSettings(support_tasks=2, gin_width=4, convs=2, width=6, threshold=0.3)
pytestmark = pytest.mark.usefixtures("double")


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def make(inductive: bool) -> tuple[Faith, PlainFaith]:
    torch.manual_seed(0)
    method = Faith(TaskShape(5, 2, 4), SMALL, inductive).eval()
    return method, PlainFaith(method).eval()


def by_class(rows: Tensor) -> list[list[Tensor]]:
    """Rows of one episode as the plain loop takes them: `[K+Q, d]` for every class of every task."""
    supports = rows[: LAYOUT.supports].view(3, 2, 3, -1)
    own = rows[LAYOUT.supports : LAYOUT.own].view(2, 4, -1)
    others = rows[LAYOUT.own :].view(2, 2, 5, -1)
    queries = [own, *others]
    return [[torch.cat([supports[t, c], queries[t][c]]) for c in range(2)] for t in range(3)]


def test_weighted_means_by_hand() -> None:
    x, scores = draw(2, 3, 4), draw(2, 3)
    for rows, values, mine in zip(x, scores, weighted_mean(x, scores), strict=True):
        shares = [math.exp(v) / sum(math.exp(w) for w in values.tolist()) for v in values.tolist()]
        torch.testing.assert_close(mine, shares[0] * rows[0] + shares[1] * rows[1] + shares[2] * rows[2])


def test_rows_are_lined_up_as_the_layout_says() -> None:
    episode, others = torch.arange(14).view(1, 2, 7), 100 + torch.arange(32).view(1, 2, 2, 8)
    rows = LAYOUT.line_up(episode, others)[0]
    assert len(rows) == LAYOUT.rows
    for t, task in enumerate(by_class(rows.unsqueeze(1))):
        for c, graphs in enumerate(task):
            expected = episode[0, c] if t == 0 else others[0, t - 1, c]
            assert torch.equal(graphs.flatten(), expected)


def test_edges_between_the_supports_of_a_class_and_no_others() -> None:
    edges = LAYOUT.class_edges(torch.device("cpu"))
    for i in range(LAYOUT.rows):
        for j in range(LAYOUT.rows):
            assert edges[i, j] == (i < LAYOUT.supports and j < LAYOUT.supports and i // 3 == j // 3)


def test_the_released_edges_are_blocks_of_rows_ordered_by_task_and_class() -> None:
    edges = LAYOUT.released_edges(torch.device("cpu"))
    rows = torch.arange(LAYOUT.rows).unsqueeze(1)
    order = torch.cat([graphs for task in by_class(rows) for graphs in task]).flatten()
    expected = torch.zeros(LAYOUT.rows, LAYOUT.rows)
    for block in range(LAYOUT.tasks * LAYOUT.way):
        expected[block * 3 : (block + 1) * 3, block * 3 : (block + 1) * 3] = 1
    assert torch.equal(edges[order][:, order].to(expected), expected)


@pytest.mark.parametrize("inductive", [False, True])
def test_every_level_is_that_of_a_plain_loop(inductive: bool) -> None:
    method, plain = make(inductive)
    hierarchy = method.hierarchy
    z, place = draw(60, 8), torch.stack([torch.randperm(60)[: LAYOUT.rows] for _ in range(2)])
    edges = LAYOUT.class_edges(z.device)
    samples = hierarchy.samples(z, place, LAYOUT, edges, LAYOUT.rows)
    fewer = hierarchy.samples(z, place, LAYOUT, edges, LAYOUT.own)
    torch.testing.assert_close(fewer.features, samples.features[:, : LAYOUT.own])
    prototypes = hierarchy.prototypes(samples, LAYOUT)
    inputs = hierarchy.task_inputs(prototypes)
    vectors = hierarchy.task_vectors(inputs)
    for episode in range(2):
        rows = by_class(z[place[episode]])
        features, scores = plain.sample_level(rows, LAYOUT.shots)
        mine = by_class(samples.features[episode])
        for task in range(3):
            for c in range(2):
                torch.testing.assert_close(mine[task][c], features[task][c])
        supports = torch.cat([score[:3] for task in scores for score in task])
        torch.testing.assert_close(samples.scores[episode], supports)
        theirs = plain.prototypes(features, scores, LAYOUT.shots)
        torch.testing.assert_close(prototypes[episode], torch.stack([torch.stack(task) for task in theirs]))
        expected = plain.task_inputs(theirs)
        torch.testing.assert_close(inputs[episode], torch.stack(expected))
        torch.testing.assert_close(vectors[episode], torch.stack(plain.task_vectors(expected)))


def test_scores_number_by_number() -> None:
    queries, prototypes, tasks = draw(2, 3, 4, 6), draw(2, 3, 2, 6), draw(2, 3, 6)
    scores = task_scores(queries, prototypes, tasks)
    for b in range(2):
        for t in range(3):
            for m in range(4):
                for n in range(2):
                    total = sum(
                        float(torch.sigmoid(tasks[b, t, d]) * (prototypes[b, t, n, d] - queries[b, t, m, d]) ** 2)
                        for d in range(6)
                    )
                    assert float(scores[b, t, m, n]) == pytest.approx(-total)


def test_dropout_is_around_the_task_level() -> None:
    method, _ = make(inductive=False)
    prototypes = draw(1, 3, 2, 6)
    assert torch.equal(method.hierarchy.task_inputs(prototypes), method.hierarchy.task_inputs(prototypes))
    method.train()
    assert bool((method.hierarchy.task_inputs(prototypes) == 0).any())
    assert bool((method.hierarchy.task_vectors(draw(1, 3, 6)) == 0).any())
    samples = Samples(draw(1, LAYOUT.rows, 6), draw(1, LAYOUT.supports))
    assert torch.equal(method.hierarchy.prototypes(samples, LAYOUT), method.hierarchy.prototypes(samples, LAYOUT))
