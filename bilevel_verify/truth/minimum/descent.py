"""Float minimisation of phi (or L*_lam) over a box: the attained upper bounds that branch and bound starts from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.minimum.objective import Objective

FloatArray = NDArray[np.float64]


def start_points(low: FloatArray, high: FloatArray, count: int, seed: int = 0) -> FloatArray:
    """Points that cover a box: a scrambled Sobol set, its corners and its centre; unbounded sides by a heavy tail."""
    from scipy.stats import qmc

    d = low.size
    unit = (
        qmc.Sobol(d, seed=seed).random(max(8, 1 << (count - 1).bit_length()))
        if d <= 64
        else np.random.default_rng(seed).random((count, d))
    )
    a, b = np.maximum(low, -1e300), np.minimum(high, 1e300)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inner = a + unit * (b - a)
        tail = np.tan(np.pi * (unit - 0.5)) * 3
        upward, downward = low + np.abs(tail), high - np.abs(tail)
    points = np.where(
        np.isfinite(low) & np.isfinite(high),
        inner,
        np.where(np.isfinite(low), upward, np.where(np.isfinite(high), downward, tail)),
    )
    extra = [np.clip(np.zeros(d), low, high)]
    if np.all(np.isfinite(low) & np.isfinite(high)):
        extra.append(0.5 * (low + high))
        if d <= 6:
            extra.extend(np.where([(mask >> i) & 1 for i in range(d)], high, low) for mask in range(1 << d))
    return np.asarray(np.clip(np.vstack([points, *[e[None] for e in extra]]), low, high))


def descend(objective: Objective, starts: FloatArray, low: FloatArray, high: FloatArray, steps: int = 60) -> FloatArray:
    """Projected Newton (moduli of eigenvalues, backtracking) from every start; returns the final points (n, dx)."""
    X: FloatArray = np.asarray(np.clip(np.array(starts, dtype=float), low, high))
    active = np.arange(len(X))
    for _ in range(steps):
        if not active.size:
            break
        value, gradient, hessian = objective.floats(X[active])
        direction = np.array([_direction(X[i], g, h, low, high) for i, g, h in zip(active, gradient, hessian)])
        moved = _line_search(objective, X, active, value, gradient, direction, low, high)
        active = active[moved]
    return X


def _direction(
    x: FloatArray, gradient: FloatArray, hessian: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    step = np.zeros_like(x)
    if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))):
        return step
    free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
    if not np.any(free):
        return step
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
    sizes = np.maximum(np.abs(values), 1e-10 * max(1e-30, float(np.max(np.abs(values)))))
    step[free] = -vectors @ ((vectors.T @ gradient[free]) / sizes)
    longest = 1e3 * (1 + float(np.linalg.norm(x)))
    size = float(np.linalg.norm(step))
    return step if size <= longest else step * (longest / size)


def _line_search(
    objective: Objective,
    X: FloatArray,
    active: NDArray[np.intp],
    value: FloatArray,
    gradient: FloatArray,
    direction: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> NDArray[np.bool_]:
    """Backtracking along the projected path; X is updated in place; says which rows still moved noticeably."""
    moved = np.zeros(len(active), dtype=bool)
    todo = np.flatnonzero(np.any(direction != 0, axis=1) & np.isfinite(value))
    length = 1.0
    for _ in range(40):
        if not todo.size:
            break
        rows = active[todo]
        trial = np.clip(X[rows] + length * direction[todo], low, high)
        change = np.einsum("ij,ij->i", gradient[todo], trial - X[rows])
        new = objective.float_values(trial)
        good = new <= value[todo] + 1e-4 * np.minimum(change, 0) + 4e-16 * np.abs(value[todo])
        accepted = todo[good]
        shift = np.linalg.norm(trial[good] - X[rows[good]], axis=1)
        moved[accepted] = shift > 1e-15 * (1 + np.linalg.norm(trial[good], axis=1))
        X[rows[good]] = trial[good]
        todo, length = todo[~good], length * 0.5
    return moved
