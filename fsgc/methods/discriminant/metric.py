"""A metric in closed form, from known classes: what varies within them counts less, what tells them apart more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.arrays import Floats


@dataclass(frozen=True)
class MetricSettings:
    """How far the metric goes.

    Attributes:
        gamma: γ; 0 leaves vectors as they are, 1 makes all directions vary alike within classes.
        epsilon: ε, added to variances in parts of their mean.
        rho: ρ, the weight of directions in which class means do not differ; 0: all directions count alike.
    """

    gamma: float = 0.0
    epsilon: float = 0.0
    rho: float = 0.0


METRICS = (
    MetricSettings(),
    MetricSettings(0.5, 0.1),
    MetricSettings(0.5, 0.1, 0.1),
    MetricSettings(1.0, 0.1),
    MetricSettings(1.0, 0.001),
    MetricSettings(1.0, 1.0, 0.01),
)


@dataclass(frozen=True, eq=False)
class WithinClasses:
    """How vectors vary within classes, and the classes' means.

    Attributes:
        directions: `[d, d]`, eigenvectors of the within-class covariance, in columns.
        variances: `[d]`, its eigenvalues.
        means: `[C, d]`, of the classes.
    """

    directions: Floats
    variances: Floats
    means: Floats

    @classmethod
    def of(cls, x: Floats, y: npt.NDArray[np.integer[Any]]) -> WithinClasses:
        """From vectors `[n, d]` and their classes `[n]`; every class counts the same, however many graphs it has.

        Without any class nothing is known to vary: all metrics are then the identity, or a multiple of it.
        """
        _, place, count = np.unique(y, return_inverse=True, return_counts=True)
        means = np.zeros((len(count), x.shape[1]))
        np.add.at(means, place, x)
        means /= count[:, None]
        residuals = (x - means[place]) / np.sqrt(count[place] * len(count))[:, None]
        variances, directions = np.linalg.eigh(residuals.T @ residuals)
        return cls(directions, np.maximum(variances, 0), means)

    def transform(self, settings: MetricSettings) -> Floats:
        """The matrix `[d, d]` that vectors are multiplied with: `U (s + ε mean s)^(−γ/2)`, then class directions.

        Along the principal directions of the class means, with variances ψ of which the largest is 1, vectors are
        multiplied with √(ψ + ρ), across them with √ρ.
        """
        if settings.gamma == 0:
            result = np.eye(len(self.variances))
        else:
            floor = settings.epsilon * self.variances.mean()
            spread = self.variances + (floor if floor > 0 else 1.0)
            result = self.directions * spread ** (-settings.gamma / 2)
        if settings.rho == 0 or len(self.means) < 2:
            return np.asarray(result)
        moved = self.means @ result
        _, scale, axes = np.linalg.svd(moved - moved.mean(axis=0), full_matrices=False)
        if scale[0] == 0:
            return np.asarray(result)
        root = np.sqrt(settings.rho)
        gain = np.sqrt((scale / scale[0]) ** 2 + settings.rho) - root
        return np.asarray(root * result + (result @ axes.T * gain) @ axes)
