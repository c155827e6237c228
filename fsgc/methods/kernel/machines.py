"""A support vector machine per episode, on the kernel values of its graphs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from fsgc.arrays import Floats, Ints
from fsgc.methods.kernel.blocks import spread
from fsgc.methods.kernel.dual import solve_dual

_AT_ONCE = 50  # episodes of a block
_PARALLEL = 500  # with fewer episodes, one core is done before a second one has started


@dataclass(frozen=True)
class EpisodeKernels:
    """The kernel values that `B` episodes of N classes with K supports and Q queries each need.

    Attributes:
        support: float64 `[B, N·K, N·K]`, class-major.
        query: float64 `[B, N·Q, N·K]`.
        way: N.
    """

    support: Floats
    query: Floats
    way: int

    def __len__(self) -> int:
        return len(self.support)

    def take(self, rows: slice) -> EpisodeKernels:
        """Some of the episodes."""
        return EpisodeKernels(self.support[rows], self.query[rows], self.way)


def decision_values(kernels: EpisodeKernels, c: float, max_iter: int) -> tuple[Floats, int]:
    """One against one: a positive value is a vote for the first class of a pair, any other for the second.

    These are the values of sklearn's `SVC(kernel="precomputed")`. Where LIBSVM has not arrived after `max_iter` steps
    (it may take for ever, see `fsgc.methods.kernel.dual`), the pair's optimum is computed by other means.

    Returns:
        The values, float64 `[B, N·Q, N(N−1)/2]`, the pairs in the order of `np.triu_indices(N, 1)`; and for how many
        pairs of classes of all episodes LIBSVM did not arrive.
    """
    parts = [kernels.take(slice(start, start + _AT_ONCE)) for start in range(0, len(kernels), _AT_ONCE)]
    work = partial(_block_values, c=c, max_iter=max_iter)
    found = spread(work, parts, "support vector machines", len(kernels) >= _PARALLEL)
    return np.concatenate([values for values, _ in found]), sum(stopped for _, stopped in found)


def one_machine(gram: Floats, y: Ints, c: float, max_iter: int) -> Floats:
    """The values of one machine whose classes may have any number of supports: `[M, C(C−1)/2]`, as `decision_values`.

    Args:
        gram: float64 `[S+M, S+M]`, supports first.
        y: int64 `[S]`, 0 to C−1.
        c: what a violated margin costs.
        max_iter: LIBSVM's steps for a pair of classes; one that has not arrived by then stays where it is.
    """
    from sklearn.exceptions import ConvergenceWarning  # loads half of SciPy, which names and settings do not need
    from sklearn.svm import SVC

    count = len(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVC(C=c, kernel="precomputed", decision_function_shape="ovo", max_iter=max_iter)
        machine.fit(gram[:count, :count], y)
    values = machine.decision_function(gram[count:, :count]).reshape(len(gram) - count, -1)
    return np.asarray(-values if len(machine.classes_) == 2 else values)  # as below: of two the sign is turned


def _block_values(kernels: EpisodeKernels, c: float, max_iter: int) -> tuple[Floats, int]:
    """`decision_values` of a block of episodes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    shots = kernels.support.shape[1] // kernels.way
    y = np.repeat(np.arange(kernels.way), shots)
    values, arrived = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for support, query in zip(kernels.support, kernels.query, strict=True):  # LIBSVM takes one problem at a time
            machine = SVC(C=c, kernel="precomputed", decision_function_shape="ovo", max_iter=max_iter).fit(support, y)
            values.append(machine.decision_function(query).reshape(len(query), -1))
            arrived.append(machine.n_iter_ < max_iter)
    # Of two classes sklearn turns the sign, so that positive is the second.
    result = np.stack(values) * (-1.0 if kernels.way == 2 else 1.0)
    episode, pair = np.nonzero(~np.stack(arrived))
    if len(episode):
        result[episode, :, pair] = _optimal_values(kernels, episode, pair, c)
    return result, len(episode)


def _optimal_values(kernels: EpisodeKernels, episode: Ints, pair: Ints, c: float) -> Floats:
    """The decision values of given pairs of classes at the optimum, `[P, N·Q]`."""
    shots = kernels.support.shape[1] // kernels.way
    classes = np.stack(np.triu_indices(kernels.way, 1), axis=1)[pair]  # [P, 2]
    member = (classes[:, :, None] * shots + np.arange(shots)).reshape(len(pair), -1)  # [P, 2K]
    gram = kernels.support[episode[:, None, None], member[:, :, None], member[:, None, :]]
    y = np.repeat([1.0, -1.0], shots) * np.ones((len(pair), 1))
    weights, bias = solve_dual(gram, y, c)
    query = np.take_along_axis(kernels.query[episode], member[:, None, :], axis=2)  # [P, N·Q, 2K]
    return (query @ weights[..., None])[..., 0] + bias[:, None]
