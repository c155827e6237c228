from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from benchmarks.populations import Bools, Population, Trained, true_accuracy
from fsgc.statistics.draw import Draw
from fsgc.statistics.intervals import Floats
from fsgc.statistics.jackknife import class_covariance, graph_covariance
from fsgc.statistics.panel import Panel, Seeds, pooled_seed_variance, seed_variance
from fsgc.statistics.variance import Variance, interval_of

METHOD, WORSE = Trained(noise=0.2), Trained(noise=0.2, blur=2.0)


def _population(seed: int, classes: int = 2, way: int = 2) -> tuple[np.random.Generator, Population]:
    rng = np.random.default_rng(seed)
    return rng, Population.make(rng, classes, way, shots=5, distance=2.0)


@pytest.fixture(scope="module")
def example() -> tuple[dict[str, Bools], Draw]:
    rng, population = _population(0, classes=3)
    points, draw = population.sample(rng, 40), population.draw(40, 200, "example")
    return {"a": METHOD.outcomes(rng, points, draw, 3), "b": WORSE.outcomes(rng, points, draw, 4)}, draw


def _covariance(one: Floats, other: Floats, draw: Draw) -> float:
    """Of two accuracies over graphs, from the variances of their sum and difference."""
    plus, minus = (float(graph_covariance((one + sign * other)[None], draw).matrix[0, 0]) for sign in (1, -1))
    return (plus - minus) / 4


def test_intervals_from_pairs_of_seeds_by_hand(example: tuple[dict[str, Bools], Draw]) -> None:
    outcomes, draw = example
    runs = [run.astype(float) for run in outcomes["a"]]
    means = np.array([run.mean() for run in runs])
    found = Panel(outcomes, draw).intervals("a")
    assert found.default.mean == pytest.approx(means.mean())
    graphs = float(np.mean([_covariance(one, other, draw) for one, other in combinations(runs, 2)]))
    seeds = stats.t.ppf(0.975, 2) * stats.sem(means)
    # The degrees of freedom of the graph part lie between those of one class and those of all, and the episodes'.
    for freedom, compare in ((39, np.less_equal), (math.inf, np.greater_equal)):
        half = math.hypot(seeds, stats.t.ppf(0.975, freedom) * math.sqrt(graphs))
        assert compare(found.default.half, half + 1e-12 if freedom == 39 else half - 1e-12)
    average = np.mean(runs, axis=0)[None]
    assert found.graphs == interval_of(found.graphs.mean, [graph_covariance(average, draw).variance(np.ones((1, 1)))])
    assert found.episodes.half == pytest.approx(stats.norm.ppf(0.975) * stats.sem(average[0].mean(axis=1)))
    assert found.seeds is not None
    assert found.seeds.half == pytest.approx(seeds)
    over_classes = class_covariance(average, draw)
    assert over_classes is not None
    assert found.classes == interval_of(found.classes.mean, [over_classes.variance(np.ones((1, 1)))])  # type: ignore[union-attr]
    assert found.seeds_from is Seeds.OWN


def test_a_difference_from_pairs_of_runs_by_hand(example: tuple[dict[str, Bools], Draw]) -> None:
    outcomes, draw = example
    a, b = ([run.astype(float) for run in outcomes[name]] for name in "ab")
    within = [np.mean([_covariance(x, y, draw) for x, y in combinations(runs, 2)]) for runs in (a, b)]
    across = np.mean([_covariance(x, y, draw) for x, y in product(a, b)])
    graphs = float(within[0] + within[1] - 2 * across)
    one, other = (np.array([run.mean() for run in runs]) for runs in (a, b))
    welch = stats.ttest_ind(one, other, equal_var=False)
    seeds = stats.t.ppf(0.975, welch.df) * math.hypot(stats.sem(one), stats.sem(other))
    found = Panel(outcomes, draw).compare("a", "b")
    assert found.interval.mean == pytest.approx(one.mean() - other.mean())
    ends = [math.hypot(seeds, stats.t.ppf(0.975, f) * math.sqrt(graphs)) for f in (math.inf, 39)]
    assert ends[0] - 1e-12 <= found.interval.half <= ends[1] + 1e-12
    assert found.p > welch.pvalue, "seeds alone are more certain than seeds and graphs"


def test_turning_a_pair_turns_its_sign_and_others_do_not_matter(example: tuple[dict[str, Bools], Draw]) -> None:
    outcomes, draw = example
    one, other = Panel(outcomes, draw).compare("a", "b"), Panel(outcomes, draw).compare("b", "a")
    assert (one.interval.low, one.p) == pytest.approx((-other.interval.high, other.p))
    more = Panel({"c": outcomes["a"][:1], **outcomes}, draw).compare("a", "b")
    assert (more.interval.low, more.interval.high, more.p) == pytest.approx(
        (one.interval.low, one.interval.high, one.p)
    )


def test_a_method_does_not_differ_from_itself(example: tuple[dict[str, Bools], Draw]) -> None:
    outcomes, draw = example
    found = Panel({"a": outcomes["a"], "same": outcomes["a"]}, draw).compare("a", "same")
    assert (found.interval.mean, found.p) == (0.0, 1.0)


def test_what_is_known_of_seeds(example: tuple[dict[str, Bools], Draw]) -> None:
    outcomes, draw = example
    one = outcomes["a"][:1]
    alone = Panel({"a": one, "k": outcomes["b"][:1]}, draw, deterministic=["k"])
    assert alone.intervals("a").seeds_from is Seeds.UNKNOWN
    assert alone.intervals("k").seeds_from is Seeds.NONE
    assert alone.compare("k", "a").seeds_from is Seeds.UNKNOWN
    for name in ("a", "k"):
        intervals = alone.intervals(name)
        assert intervals.default == intervals.graphs
        assert intervals.seeds is None
    pooled = Panel({"a": one, "b": outcomes["b"]}, draw)
    assert pooled.intervals("a").seeds_from is Seeds.POOLED
    assert pooled.compare("a", "b").seeds_from is Seeds.POOLED
    variance = seed_variance(pooled.seed_means["b"])
    assert variance is not None
    half = stats.t.ppf(0.975, 3) * math.sqrt(variance.value)
    assert pooled.intervals("a").default.half == pytest.approx(math.hypot(half, alone.intervals("a").graphs.half))
    given = Panel({"a": one}, draw, seeds=Variance(1e-4, 7)).intervals("a")
    half = stats.t.ppf(0.975, 7) * 0.01
    assert given.default.half == pytest.approx(math.hypot(half, given.graphs.half))


def test_seed_variances_are_pooled_by_their_degrees_of_freedom() -> None:
    groups = [np.array([0.5, 0.6, 0.55]), np.array([0.7, 0.72]), np.array([0.9])]
    found = pooled_seed_variance(groups)
    assert found is not None
    squares = sum(((group - group.mean()) ** 2).sum() for group in groups)
    assert (found.value, found.freedom) == pytest.approx((squares / 3, 3))
    assert pooled_seed_variance(groups[2:]) is None
    assert seed_variance(groups[2]) is None


def _at_most(count: int, rounds: int, share: float) -> bool:
    """Whether a count is no more than a share, by a one-sided test at 0.1 %."""
    return bool(count <= stats.binom.ppf(0.999, rounds, share))


def test_default_intervals_cover_and_a_method_is_rarely_separated_from_itself() -> None:
    """Repeated samples of graphs and trainings; `python -m benchmarks.coverage` is a longer run."""
    rng, population = _population(3)
    truth = true_accuracy(population, METHOD, rng, rounds=150)
    rounds, missed, over_episodes, same, worse = 150, 0, 0, 0, 0
    for number in range(rounds):
        points, draw = population.sample(rng, 60), population.draw(60, 200, "round", number)
        methods = {"a": METHOD, "b": METHOD, "c": WORSE}
        panel = Panel({name: method.outcomes(rng, points, draw, 3) for name, method in methods.items()}, draw)
        intervals = panel.intervals("a")
        missed += not intervals.default.low <= truth <= intervals.default.high
        over_episodes += not intervals.episodes.low <= truth <= intervals.episodes.high
        same += panel.compare("a", "b").is_separated
        worse += panel.compare("a", "c").is_separated
    assert _at_most(missed, rounds, 0.05)
    assert not _at_most(over_episodes, rounds, 0.3), "what the interval over episodes leaves out matters here"
    assert _at_most(same, rounds, 0.05)
    assert worse > 0.9 * rounds, "a real difference is found"


def test_ten_seeds_of_one_method_in_pairs() -> None:
    """Each seed as if it were a method, with the variance of a training from all ten."""
    rng, population = _population(4)
    rounds = 40
    pairs = list(combinations(range(10), 2))
    separated, by_episodes = 0, 0
    for number in range(rounds):
        points, draw = population.sample(rng, 60), population.draw(60, 200, "pairs", number)
        runs = METHOD.outcomes(rng, points, draw, 10)
        panel = Panel(
            {str(seed): run[None] for seed, run in enumerate(runs)}, draw, seeds=seed_variance(runs.mean(axis=(1, 2)))
        )
        separated += sum(panel.compare(str(i), str(j)).is_separated for i, j in pairs)
        by_episodes += sum(stats.ttest_rel(runs[i].mean(axis=1), runs[j].mean(axis=1)).pvalue < 0.05 for i, j in pairs)
    # The 45 pairs of a round come from ten seeds, so they are worth about nine independent ones.
    assert _at_most(round(separated / len(pairs) * 9), 9 * rounds, 0.05)
    assert by_episodes / (len(pairs) * rounds) > 0.3, "the paired test over episodes separates many of them"
