"""The optimum of many small support vector machines at once, where LIBSVM's steps are too small to get there.

A kernel that is not normalised, such as graphlet counts, has values of up to 1e12 beside C = 1. LIBSVM improves two
multipliers at a time and then takes millions of steps, or never stops: sklearn lifts its limit. An interior-point
method takes some forty steps, whatever the scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsgc.arrays import Floats, Ints

_MOST_STEPS = 100
_PATIENCE = 15
_SHORT_OF_THE_WALL = 0.995
_RELATIVE_GAP = 1e-10
_SAME_LOSS = 1e-6
_LEAST_CURVATURE = 1e-14  # two equal graphs within their bounds would make the equations singular


@dataclass
class _State:
    """Multipliers α, those of their lower and upper bounds, and that of the equality, which is the bias."""

    alpha: Floats  # [P, n]
    low: Floats  # [P, n]
    high: Floats  # [P, n]
    bias: Floats  # [P]

    def copy(self) -> _State:
        return _State(self.alpha.copy(), self.low.copy(), self.high.copy(), self.bias.copy())

    def take(self, rows: Ints) -> _State:
        return _State(self.alpha[rows], self.low[rows], self.high[rows], self.bias[rows])

    def put(self, rows: Ints, other: _State) -> None:
        for name in ("alpha", "low", "high", "bias"):
            getattr(self, name)[rows] = getattr(other, name)


def solve_dual(gram: Floats, y: Floats, c: float) -> tuple[Floats, Floats]:
    """Minimise `½ αᵀQα − Σα` with `Q = y yᵀ ∘ K`, `0 ≤ α ≤ C` and `yᵀα = 0`, for `P` problems of `n` samples.

    Mehrotra's predictor-corrector method. Multiplying K by s and dividing C by s divides α by s, so K is brought to 1.

    Args:
        gram: K, `[P, n, n]`.
        y: −1 or +1, `[P, n]`, both in every problem.
        c: C.

    Returns:
        `α y` `[P, n]` and the bias `[P]`: a sample x is decided by the sign of `Σ α y k(·, x) + bias`.
    """
    largest = np.abs(gram).max(axis=(1, 2))
    scale = np.where(largest > 0, largest, 1.0)
    quadratic = gram / scale[:, None, None] * y[:, :, None] * y[:, None, :]
    bound = c * scale
    # The middle of the box, with multipliers as large as the slopes there: all complementarity products begin equal.
    half = bound[:, None] / 2 * np.ones_like(y)
    slope = np.maximum(1.0, 2 * half)
    state = _State(half, slope, slope.copy(), np.zeros(len(y)))
    best, least, since = state.copy(), np.full(len(y), np.inf), np.zeros(len(y), dtype=np.int64)
    live = np.arange(len(y))
    for _ in range(_MOST_STEPS):
        # Next to the optimum a step may fail for want of digits: what was best before is kept.
        with np.errstate(all="ignore"):
            moved = _step(state.take(live), quadratic[live], y[live], bound[live])
            gap, value = _gap(moved, quadratic[live], y[live], bound[live])
        state.put(live, moved)
        better = gap < least[live]
        best.put(live[better], moved.take(np.flatnonzero(better)))
        least[live] = np.where(better, gap, least[live])
        since[live] = np.where(better, 0, since[live] + 1)
        live = live[np.isfinite(gap) & (gap > _RELATIVE_GAP * np.abs(value)) & (since[live] < _PATIENCE)]
        if len(live) == 0:
            break
    outputs = y * _times(quadratic, best.alpha)
    return y * np.minimum(best.alpha / scale[:, None], c), _bias(outputs, y)


def _bias(outputs: Floats, y: Floats) -> Floats:
    """The bias of least hinge loss for outputs `[P, n]` of the samples without it; of several the middle, `[P]`.

    The loss is linear between the values where a sample meets its margin. LIBSVM takes the middle, too.
    """
    candidates = y - outputs
    loss = np.maximum(0, 1 - y[:, None] * (outputs[:, None] + candidates[..., None])).sum(axis=2)
    least = loss <= loss.min(axis=1, keepdims=True) + _SAME_LOSS
    low = np.where(least, candidates, np.inf).min(axis=1)
    return (low + np.where(least, candidates, -np.inf).max(axis=1)) / 2


def _gap(state: _State, quadratic: Floats, y: Floats, bound: Floats) -> tuple[Floats, Floats]:
    """How far the primal value, hinge loss included, lies above the dual one, and the dual one, both `[P]`."""
    outputs = _times(quadratic, state.alpha)
    curvature = (state.alpha * outputs).sum(axis=1) / 2
    loss = bound * np.maximum(0, 1 - outputs - y * state.bias[:, None]).sum(axis=1)
    value = state.alpha.sum(axis=1) - curvature
    return curvature + loss - value, value


def _step(state: _State, quadratic: Floats, y: Floats, bound: Floats) -> _State:
    """One step along the central path, as long as the bounds allow."""
    room = bound[:, None] - state.alpha
    dual = _times(quadratic, state.alpha) - 1 + y * state.bias[:, None] - state.low + state.high
    primal = (y * state.alpha).sum(axis=1)
    matrix = _matrix(quadratic, y, state.low / state.alpha + state.high / room + _LEAST_CURVATURE)
    size = y.shape[1]

    def direction(low: Floats, high: Floats) -> _State:
        """The Newton step that brings the products of multipliers and distances to their bounds down by these."""
        right = np.concatenate([-dual - low / state.alpha + high / room, -primal[:, None]], axis=1)
        solution = np.linalg.solve(matrix, right[..., None])[..., 0]
        alpha, bias = solution[:, :size], solution[:, size]
        return _State(alpha, -(low + state.low * alpha) / state.alpha, -(high - state.high * alpha) / room, bias)

    low, high = state.alpha * state.low, room * state.high
    average = (low + high).mean(axis=1) / 2
    guess = direction(low, high)
    length = _length(state, guess, room)[:, None]
    ahead = (state.alpha + length * guess.alpha) * (state.low + length * guess.low)
    ahead += (room - length * guess.alpha) * (state.high + length * guess.high)
    target = (average * np.clip(ahead.mean(axis=1) / 2 / average, 0, 1) ** 3)[:, None]
    move = direction(low - target + guess.alpha * guess.low, high - target - guess.alpha * guess.high)
    length = _length(state, move, room)[:, None]
    return _State(
        state.alpha + length * move.alpha,
        state.low + length * move.low,
        state.high + length * move.high,
        state.bias + length[:, 0] * move.bias,
    )


def _matrix(quadratic: Floats, y: Floats, diagonal: Floats) -> Floats:
    """`[[Q + D, y], [yᵀ, 0]]`, `[P, n+1, n+1]`."""
    problems, size = y.shape
    matrix = np.zeros((problems, size + 1, size + 1))
    matrix[:, :size, :size] = quadratic
    matrix[:, np.arange(size), np.arange(size)] += diagonal
    matrix[:, :size, size] = matrix[:, size, :size] = y
    return matrix


def _times(matrix: Floats, vector: Floats) -> Floats:
    return (matrix @ vector[..., None])[..., 0]


def _length(state: _State, move: _State, room: Floats) -> Floats:
    """The longest step up to 1 that leaves α, its distance to C and the multipliers positive, `[P]`."""
    now = np.concatenate([state.alpha, room, state.low, state.high], axis=1)
    change = np.concatenate([move.alpha, -move.alpha, move.low, move.high], axis=1)
    limit = np.where(change < 0, -now / np.where(change < 0, change, -1.0), np.inf).min(axis=1)
    return np.minimum(1.0, _SHORT_OF_THE_WALL * limit)
