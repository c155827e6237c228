"""How often intervals cover and pairs are separated on made-up populations: `python -m benchmarks.coverage`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from benchmarks.populations import Population, Trained, true_accuracy
from fsgc.statistics.intervals import Interval
from fsgc.statistics.panel import Panel


@dataclass(frozen=True)
class Setting:
    """What is repeated.

    Attributes:
        classes: C.
        way: N.
        shots: K.
        graphs: of each class.
        distance: of the classes from one another.
        noise: between seeds.
        seeds: S of each method.
        episodes: E.
    """

    classes: int
    way: int
    shots: int
    graphs: int
    distance: float
    noise: float
    seeds: int
    episodes: int = 500


SETTINGS = (
    Setting(2, 2, 5, 100, 1.0, 0.3, 3),  # near chance, as ENZYMES
    Setting(2, 2, 5, 100, 3.0, 0.3, 3),
    Setting(3, 3, 5, 60, 2.0, 0.5, 5),
    Setting(3, 3, 10, 40, 2.0, 0.5, 10),
    Setting(20, 5, 5, 39, 3.0, 0.3, 3, episodes=1000),  # as COIL-DEL
)


def measure(setting: Setting, repetitions: int, seed: int = 0) -> dict[str, float]:
    """Shares of repetitions: intervals that cover the true accuracy, and pairs that are separated.

    `same` is a method against itself with other seeds, `same, one seed` the same with one seed each and the variance
    between seeds pooled from the remaining ones, `worse` against a method that misses some of every graph.
    """
    rng = np.random.default_rng(seed)
    population = Population.make(rng, setting.classes, setting.way, setting.shots, setting.distance)
    method, worse = Trained(setting.noise), Trained(setting.noise, blur=1.5)
    truth = true_accuracy(population, method, rng, rounds=400)
    count: Counter[str] = Counter()
    for repetition in range(repetitions):
        points = population.sample(rng, setting.graphs)
        draw = population.draw(setting.graphs, setting.episodes, "repetition", seed, repetition)
        first, second = (method.outcomes(rng, points, draw, setting.seeds) for _ in range(2))
        panel = Panel({"a": first, "b": second, "c": worse.outcomes(rng, points, draw, setting.seeds)}, draw)
        found = panel.intervals("a")
        for name in ("default", "episodes", "graphs", "seeds"):
            interval = getattr(found, name)
            assert isinstance(interval, Interval)
            count[name] += interval.low <= truth <= interval.high
        count["same"] += panel.compare("a", "b").is_separated
        count["worse"] += panel.compare("a", "c").is_separated
        rest = np.concatenate([first[1:], second[1:]])
        count["same, one seed"] += (
            Panel({"a": first[:1], "b": second[:1], "rest": rest}, draw).compare("a", "b").is_separated
        )
    return {"accuracy": truth} | {name: number / repetitions for name, number in count.items()}


def main(repetitions: int = 1000) -> None:
    """Print a row a setting."""
    for setting in SETTINGS:
        print(setting)
        print("  " + ", ".join(f"{name} {share:.3f}" for name, share in measure(setting, repetitions).items()))


if __name__ == "__main__":
    main()
