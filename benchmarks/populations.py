"""Made-up populations of graphs, to see how often an interval covers what it should."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsgc.episodes.sampling import sample_episodes
from fsgc.statistics.draw import Draw
from fsgc.statistics.intervals import Floats

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Population:
    """Classes of graphs; a graph is a point around the centre of its class, some far out, some near.

    Attributes:
        centres: `[C, d]`.
        way: N.
        shots: K.
        queries: Q.
    """

    centres: Floats
    way: int
    shots: int
    queries: int = 15

    @classmethod
    def make(
        cls, rng: np.random.Generator, classes: int, way: int, shots: int, distance: float, dimensions: int = 8
    ) -> Population:
        """Classes whose centres are about `distance` deviations from the origin."""
        centres = distance * rng.normal(size=(classes, dimensions)) / dimensions**0.5
        return cls(centres, way, shots)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """`size` graphs of every class, `[C·size, d]`."""
        centres = np.repeat(self.centres, size, axis=0)
        return np.asarray(centres + rng.normal(size=centres.shape) * rng.gamma(2, 0.5, size=(len(centres), 1)))

    def draw(self, size: int, episodes: int, *key: str | int) -> Draw:
        """Episodes from `size` graphs of every class."""
        classes = len(self.centres)
        pools = [np.arange(size) + size * c for c in range(classes)]
        graphs = sample_episodes(pools, episodes, self.way, self.shots + self.queries, key)
        return Draw(graphs, self.shots, np.full(classes, size))


def nearest_prototype(points: Floats, draw: Draw) -> Bools:
    """Which queries are nearest to the mean of their own class's supports, `[E, N·Q]`."""
    prototypes = points[draw.support].mean(axis=2)
    queries = points[draw.query]
    distance = ((queries[:, :, :, None] - prototypes[:, None, None]) ** 2).sum(axis=-1)
    correct = distance.argmin(axis=3) == np.arange(draw.way)[:, None]
    return np.asarray(correct.reshape(len(correct), -1))


@dataclass(frozen=True)
class Trained:
    """A method whose training is chance: each seed looks at the graphs through a matrix of its own.

    Attributes:
        noise: how far seeds are apart.
        blur: how much it misses of a graph; more makes it worse.
    """

    noise: float
    blur: float = 0.0

    def embed(self, rng: np.random.Generator, points: Floats) -> Floats:
        """What one seed makes of the graphs."""
        size = points.shape[1]
        matrix = np.eye(size) + self.noise * rng.normal(size=(size, size)) / size**0.5
        return np.asarray((points + self.blur * rng.normal(size=points.shape)) @ matrix)

    def outcomes(self, rng: np.random.Generator, points: Floats, draw: Draw, seeds: int) -> Bools:
        """The outcomes of several seeds, `[S, E, N·Q]`."""
        return np.stack([nearest_prototype(self.embed(rng, points), draw) for _ in range(seeds)])


def true_accuracy(population: Population, method: Trained, rng: np.random.Generator, rounds: int) -> float:
    """The accuracy over graphs and seeds without end: `rounds` seeds, each on 500 episodes of many fresh graphs."""
    draw = population.draw(600, 500, "truth")
    return float(np.mean([method.outcomes(rng, population.sample(rng, 600), draw, 1).mean() for _ in range(rounds)]))
