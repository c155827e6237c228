"""How far an accuracy would move with other episodes, other novel graphs or other novel classes.

The accuracy over test episodes estimates a U-statistic of the novel graphs: the average, over all episodes that could
be drawn from them, of the share of queries answered correctly. Its variance over samples of graphs is estimated by
deleting one graph at a time: a delete-a-group jackknife with the smallest groups, which discard the fewest episodes.
(Without 10 % of ENZYMES's novel graphs, no more than 1 % of the 5-shot episodes are free of deleted graphs, and a third
have supports that are; without one graph, 95 %.) When graph i is deleted, what remains are the queries other than i in
the episodes whose supports do not include i. Of a class with n graphs, of which an episode takes K as supports, a graph
is a support in K/n and a given query in 1/n of the episodes; the accuracy without it then differs from that with it by

    D_i = −1/(E·N·Q) · ( n/(n−K−1) · (S_own + T) + n/(n−K) · S_others )

    S_own     the sum of r over the queries of i's own class, in the episodes that i supports
    S_others  the sum of r over the queries of the other classes, in the episodes that i supports
    T         the sum of r over i's own appearances as a query

where r is a query's outcome (1 or 0) less the average of such outcomes (own or others) in the episodes that have i's
class. Averaging own and others apart keeps every class's weight as it was. On the complete set of episodes D_i is that
difference exactly. Each class is a sample of its own, with Σ D_i = 0 over its graphs, so the jackknife's variance is

    V = Σ_c (n_c − 1)/n_c · Σ_{i in c} D_i².

Stored episodes are only a sample of those that could be drawn. That makes every D_i noisy, and V too large: twice as
large as it should be for 20 classes and 1000 episodes. But D_i = Σ_e d_ie is a sum over episodes that were drawn
independently, and D_i² − Σ_e d_ie², the products of two different episodes, is free of that noise on average (Wager,
Hastie and Efron, JMLR 2014, correct the jackknife of random forests to the same end). The noise in the accuracy itself,
the variance between episodes over E, is added. What remains is an upward bias from interactions between the graphs of
an episode (Efron and Stein, 1981): about a tenth of the variance in simulations near chance, none seen at 94 %.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.statistics.draw import Draw
from fsgc.statistics.intervals import Floats
from fsgc.statistics.variance import Covariance

Outcomes = npt.NDArray[np.bool_] | npt.NDArray[np.floating[Any]]


def episode_covariance(correct: Outcomes) -> Covariance:
    """Covariances of M accuracies over draws of other episodes from the same graphs, for outcomes `[M, E, N·Q]`."""
    residual = correct.mean(axis=2)
    residual -= residual.mean(axis=1, keepdims=True)
    episodes = residual.shape[1]
    freedom = max(episodes - 1, 1)  # one episode has no variance between episodes
    return Covariance((residual @ residual.T)[None] / freedom / episodes, np.array([float(freedom)]))


def graph_covariance(correct: Outcomes, draw: Draw) -> Covariance:
    """Covariances of M accuracies over other samples of the novel graphs, and of episodes from them.

    Args:
        correct: `[M, E, N·Q]`, for each of M trained models which queries it answered correctly.
        draw: the graphs of the episodes.

    Returns:
        One stratum a class, one for the draw of the episodes.
    """
    effects, noise = graph_effects(correct, draw)
    factor = (draw.sizes - 1) / draw.sizes
    strata = factor[:, None, None] * (_gram_by_class(effects, draw) - noise)
    episodes = episode_covariance(correct)
    return Covariance(np.concatenate([strata, episodes.strata]), np.concatenate([draw.sizes - 1.0, episodes.freedom]))


def graph_effects(correct: Outcomes, draw: Draw) -> tuple[Floats, Floats]:
    """What deleting each graph does to each of M accuracies, and how much of its square is noise.

    Returns:
        `D` of the module's formula, `[M, G]`, and for every pair of accuracies by how much the sum of `D D` over the
        graphs of a class is too large, `[C, M, M]`.
    """
    models, episodes = correct.shape[:2]
    shape = (episodes, draw.way, draw.queries)
    size = draw.sizes[draw.classes].astype(np.float64)
    # A class of K+1 graphs has no query left without one of them; the factor of K+2 graphs is the nearest there is.
    own_factor = size / np.maximum(size - draw.shots - 1, 1) / np.prod(shape)
    other_factor = size / (size - draw.shots) / np.prod(shape)
    effects = np.empty((models, len(draw.class_of)))
    support = np.empty((models, episodes, draw.way))
    query = np.empty((models, *shape))
    supports = np.ascontiguousarray(draw.support).reshape(-1)
    queries = np.ascontiguousarray(draw.query).reshape(-1)
    for m in range(models):
        outcome = correct[m].reshape(shape).astype(np.float64)
        own = outcome.sum(axis=2)
        others = own.sum(axis=1, keepdims=True) - own
        mean_own, mean_others = (_mean_by_class(values, draw)[draw.classes] for values in (own, others))
        support[m] = -(own_factor * (own - mean_own) + other_factor * (others - mean_others))
        query[m] = -own_factor[..., None] * (outcome - mean_own[..., None] / draw.queries)
        effects[m] = np.bincount(supports, np.repeat(support[m], draw.shots), minlength=effects.shape[1])
        effects[m] += np.bincount(queries, query[m].reshape(-1), minlength=effects.shape[1])
    noise = np.empty((len(draw.sizes), models, models))
    for c, n in enumerate(draw.sizes):
        here = draw.classes == c
        noise[c] = _noise(support[:, here], query[:, here], draw.shots, float(n))
    # Of independent d, E/(E−1) · ((Σ d)² − Σ d²) is free of bias for the square of what Σ d is on average.
    noise = (episodes * noise - _gram_by_class(effects, draw)) / max(episodes - 1, 1)
    return effects, noise


def _noise(support: Floats, query: Floats, shots: int, n: float) -> Floats:
    """`Σ_i Σ_e d_ie d_ie` over the n graphs i of a class, for every pair of accuracies: `[M, M]`.

    `support` `[M, E]` is what an episode adds to the effect of each of its supports, `query` `[M, E, Q]` what it adds
    to those of its queries. Both are residuals from averages over the very same episodes: with those averages written
    out, an episode adds `d_ie = (s_ie − K/n) · support + q_ie · query − Σ query / n`, where s and q say whether i is a
    support or a query. Summing the products of that over i, of which K are supports and Q queries, gives four terms.
    """
    own = query.sum(axis=2)
    flat = query.reshape(len(query), -1)
    cross = own @ support.T
    return np.asarray(
        shots * (1 - shots / n) * support @ support.T + flat @ flat.T - shots / n * (cross + cross.T) - own @ own.T / n
    )


def _gram_by_class(effects: Floats, draw: Draw) -> Floats:
    """The products of effects `[M, G]` of every two accuracies, summed over the graphs of each class: `[C, M, M]`."""
    ends = np.cumsum(draw.sizes)
    return np.stack([part @ part.T for part in np.split(effects, ends[:-1], axis=1)])


def class_covariance(correct: Outcomes, draw: Draw) -> Covariance | None:
    """Covariances of M accuracies over other novel classes, with their graphs; `None` unless there are more than N.

    The same jackknife with a class in the place of a graph: N of C classes are in an episode, and the accuracy without
    class c is that over the episodes without it, `D_c = −1/E · C/(C−N) · Σ_{e has c} (accuracy_e − mean)`.
    """
    classes = len(draw.sizes)
    if classes <= draw.way:
        return None
    per_episode = correct.mean(axis=2)
    models, episodes = per_episode.shape
    residual = (per_episode - per_episode.mean(axis=1, keepdims=True)) * classes / (classes - draw.way) / episodes
    effects = np.stack(
        [np.bincount(draw.classes.reshape(-1), np.repeat(row, draw.way), minlength=classes) for row in residual]
    )
    effects -= effects.mean(axis=1, keepdims=True)
    # As `_noise`, without queries of its own; the accuracies are centred here, and so are the effects.
    noise = draw.way * (1 - draw.way / classes) * residual @ residual.T
    stratum = (classes - 1) / classes * (effects @ effects.T - noise)
    between = episode_covariance(correct)
    return Covariance(
        np.concatenate([stratum.reshape(1, models, models), between.strata]),
        np.concatenate([[classes - 1.0], between.freedom]),
    )


def _mean_by_class(values: Floats, draw: Draw) -> Floats:
    """The mean of `values` `[E, N]` over the episodes of each class, `[C]`; of a class in no episode, 0."""
    place = draw.classes.reshape(-1)
    count = np.bincount(place, minlength=len(draw.sizes))
    total = np.bincount(place, values.reshape(-1), minlength=len(draw.sizes))
    return np.asarray(total / np.maximum(count, 1))
