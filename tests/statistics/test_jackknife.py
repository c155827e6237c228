from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from benchmarks.populations import Population, nearest_prototype
from fsgc.statistics.draw import Draw, Ints
from fsgc.statistics.intervals import Floats
from fsgc.statistics.jackknife import class_covariance, episode_covariance, graph_covariance, graph_effects
from fsgc.statistics.variance import interval_of

SIZES = (4, 5, 4)
WAY, SHOTS, QUERIES = 2, 1, 2
POOLS = [[0, 1, 2, 3], [4, 5, 6, 7, 8], [9, 10, 11, 12]]
ONE = np.ones((1, 1))


def _all_episodes(pools: list[list[int]]) -> list[list[tuple[int, ...]]]:
    """Every episode that can be drawn: every pair of classes, every support and every set of queries of each."""
    episodes = []
    for classes in combinations(pools, WAY):
        of_class = [
            [(s, *q) for s in pool for q in combinations([g for g in pool if g != s], QUERIES)] for pool in classes
        ]
        episodes += [list(rows) for rows in product(*of_class)]
    return episodes


def _outcome(table: Floats, episode: list[tuple[int, ...]]) -> list[float]:
    """Outcomes that depend on the supports and the query alone, looked up in a random table."""
    first, second = (row[0] for row in episode)
    return [float(table[first, second, q] > 0) for row in episode for q in row[1:]]


def _table() -> Floats:
    rng = np.random.default_rng(5)
    graphs = sum(SIZES)
    main = rng.normal(size=(3, graphs))
    noise = rng.normal(size=(graphs, graphs, graphs))
    return np.asarray(main[0][:, None, None] + main[1][None, :, None] + 2 * main[2][None, None, :] + noise)


def _complete() -> tuple[Floats, Draw]:
    episodes, table = _all_episodes(POOLS), _table()
    correct = np.array([_outcome(table, episode) for episode in episodes])
    return correct, Draw(np.array(episodes), SHOTS, np.array(SIZES))


def _accuracy(pools: list[list[int]]) -> float:
    table = _table()
    by_classes = [
        np.mean([_outcome(table, episode) for episode in _all_episodes(list(two))]) for two in combinations(pools, WAY)
    ]
    return float(np.mean(by_classes))


def _drawn_evenly(correct: Floats, draw: Draw) -> tuple[Floats, Draw]:
    """Classes of other sizes have other numbers of episodes; repeat them until every pair of classes has as many."""
    pair = draw.classes @ np.array([1, 10])
    values, counts = np.unique(pair, return_counts=True)
    times = np.lcm.reduce(counts) // counts
    again = np.repeat(np.arange(len(pair)), times[np.searchsorted(values, pair)])
    return correct[again], Draw(draw.graphs[again], draw.shots, draw.sizes)


def test_on_all_episodes_an_effect_is_the_accuracy_without_the_graph_less_that_with_it() -> None:
    correct, draw = _drawn_evenly(*_complete())
    effects, _ = graph_effects(correct[None], draw)
    whole = _accuracy(POOLS)
    assert correct.mean() == pytest.approx(whole)
    for graph in range(sum(SIZES)):
        without = [[g for g in pool if g != graph] for pool in POOLS]
        assert effects[0, graph] == pytest.approx(_accuracy(without) - whole, abs=1e-12)


def test_on_all_episodes_a_class_effect_is_the_accuracy_without_the_class_less_that_with_it() -> None:
    correct, draw = _drawn_evenly(*_complete())
    covariance = class_covariance(correct[None], draw)
    assert covariance is not None
    whole = _accuracy(POOLS)
    effects = np.array([_accuracy([p for p in POOLS if p is not pool]) - whole for pool in POOLS])
    residual = (correct.mean(axis=1) - whole) * 3 / len(correct)
    expected = 2 / 3 * ((effects**2).sum() - WAY / 3 * (residual**2).sum())
    assert covariance.strata[0, 0, 0] == pytest.approx(expected, abs=1e-12)


def test_the_noise_of_drawn_episodes_is_what_their_effects_have_too_much() -> None:
    """Few episodes, drawn with replacement from all of them: on average the corrected sum is that of all episodes."""
    correct, draw = _drawn_evenly(*_complete())
    exact = float((graph_effects(correct[None], draw)[0] ** 2).sum())
    rng = np.random.default_rng(0)
    raw, corrected = [], []
    for _ in range(600):
        rows = rng.integers(0, len(correct), size=150)
        effects, noise = graph_effects(correct[rows][None], Draw(draw.graphs[rows], SHOTS, draw.sizes))
        raw.append(float((effects**2).sum()))
        corrected.append(raw[-1] - float(noise.sum()))
    error = stats.sem(corrected)
    assert abs(np.mean(corrected) - exact) < 4 * error
    assert np.mean(raw) - exact > 8 * error


def _random(seed: int = 0) -> tuple[list[Floats], Draw]:
    rng = np.random.default_rng(seed)
    population = Population.make(rng, classes=4, way=3, shots=5, distance=2)
    draw = population.draw(30, 200, "random", seed)
    points = population.sample(rng, 30)
    seen = (nearest_prototype(points @ rng.normal(size=(8, 6)), draw) for _ in range(2))
    return [one.astype(np.float64) for one in seen], draw


def test_the_variance_of_a_difference_is_that_of_the_differences() -> None:
    (one, other), draw = _random()
    contrast = np.array([[1.0, -1.0], [-1.0, 1.0]])
    both, difference = np.stack([one, other]), (one - other)[None]
    for function in (graph_covariance, class_covariance):
        of_both, alone = function(both, draw), function(difference, draw)
        assert of_both is not None
        assert alone is not None
        assert of_both.variance(contrast).value == pytest.approx(alone.variance(ONE).value, rel=1e-9)
    assert episode_covariance(both).variance(contrast).value == pytest.approx(
        stats.sem((one - other).mean(axis=1)) ** 2, rel=1e-9
    )


def test_numbers_of_graphs_and_the_order_of_episodes_do_not_matter() -> None:
    (one, _), draw = _random()
    rng = np.random.default_rng(1)
    renumbered = np.concatenate([30 * c + rng.permutation(30) for c in range(4)])
    rows = rng.permutation(len(one))
    other = Draw(renumbered[draw.graphs[rows]], draw.shots, draw.sizes)
    found, expected = graph_covariance(one[rows][None], other), graph_covariance(one[None], draw)
    np.testing.assert_allclose(found.strata, expected.strata, rtol=1e-9)


def test_classes_are_a_source_only_where_there_are_more_than_an_episode_has() -> None:
    rng = np.random.default_rng(0)
    population = Population.make(rng, classes=3, way=3, shots=5, distance=2)
    draw = population.draw(30, 50, "few")
    assert class_covariance(nearest_prototype(population.sample(rng, 30), draw)[None], draw) is None


def test_classes_of_one_graph_more_than_supports_have_a_finite_variance() -> None:
    graphs: Ints = np.array([[[0, 1, 2], [3, 4, 5]], [[1, 2, 0], [5, 3, 4]]])
    draw = Draw(graphs, 2, np.array([3, 3]))
    assert np.isfinite(graph_covariance(np.array([[[1.0, 0.0], [0.0, 0.0]]]), draw).matrix).all()


def test_one_episode_has_finite_variances() -> None:
    (one, _), draw = _random()
    alone = Draw(draw.graphs[:1], draw.shots, draw.sizes)
    for covariance in (graph_covariance(one[None, :1], alone), class_covariance(one[None, :1], alone)):
        assert covariance is not None
        assert np.isfinite(covariance.matrix).all()
    assert episode_covariance(one[None, :1]).matrix.tolist() == [[0.0]]


@pytest.mark.parametrize(("classes", "way", "distance"), [(2, 2, 1.0), (5, 3, 3.0)])
def test_intervals_over_graphs_cover_the_accuracy_of_the_population(classes: int, way: int, distance: float) -> None:
    """Repeated samples of graphs from one population; `python -m benchmarks.coverage` is a longer run."""
    rng = np.random.default_rng(classes)
    population = Population.make(rng, classes, way, shots=5, distance=distance)
    fresh = population.draw(2000, 2500, "fresh")
    truth = np.mean([nearest_prototype(population.sample(rng, 2000), fresh).mean() for _ in range(8)])
    rounds = 250
    covered, means, variances = 0, [], []
    for number in range(rounds):
        draw = population.draw(50, 400, "round", number)
        correct = nearest_prototype(population.sample(rng, 50), draw)[None]
        variance = graph_covariance(correct, draw).variance(ONE)
        interval = interval_of(float(correct.mean()), [variance])
        covered += interval.low <= truth <= interval.high
        means.append(interval.mean)
        variances.append(variance.value)
    low, high = stats.binom.ppf([0.001, 0.999], rounds, 0.95)
    assert low <= covered <= high
    # The variance of 250 means is known to 9 %; the jackknife is about an eighth too large near chance.
    ratio = np.mean(variances) / np.var(means, ddof=1)
    assert 1 - 3 * 0.09 < ratio < 1.12 + 3 * 0.09
