"""Vectorised Newton: the lower level solved for thousands of upper-level points at once, to the last digit.

Every row is a problem of its own: ``min over y of h(x_i, y)`` with h strongly convex in y. A damped phase (Armijo on h,
modified Hessian where it is not positive definite) hands over to plain Newton steps, which go on until the residual
stops falling; the iterate with the smallest residual is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.numbers.floats import Numpy
from bilevel_verify.truth.functions.model import Function

if TYPE_CHECKING:
    from bilevel_verify.truth.functions.sums import Runs

FloatArray = NDArray[np.float64]
Local = Callable[[FloatArray, FloatArray, NDArray[np.intp]], tuple[FloatArray, FloatArray, FloatArray]]
"""``(X, Y, rows) -> values (n,), gradients (n, dy), Hessians (n, dy, dy)`` in y; ``rows`` are the original indices."""

CHUNK = 4096
MOST_STEPS = 120
FAR = 1e30
"""A point so far away is no minimiser that floats could tell: a row that runs there runs for ever."""


@dataclass(frozen=True, slots=True)
class Minimised:
    """Result of a batch: ``y`` (n, dy); ``residual`` (n,) gradient norms; ``curvature`` (n,) smallest Hessian
    eigenvalue;
    ``converged`` (n,): the residual reached rounding level and the curvature is positive."""

    y: FloatArray
    residual: FloatArray
    curvature: FloatArray
    converged: NDArray[np.bool_]


def columns(X: FloatArray, Y: FloatArray) -> list[FloatArray]:
    """Inputs of a program over z = (x, y): one array of shape (n,) per variable."""
    return [*np.ascontiguousarray(X.T), *np.ascontiguousarray(Y.T)]


def evaluate(program: Runs, inputs: list[FloatArray], rows: int) -> FloatArray:
    """Outputs of a program over a batch, shape (rows, outputs)."""
    with np.errstate(all="ignore"):
        out = program.run(Numpy(), inputs)
    table = np.empty((len(out), rows))
    for i, column in enumerate(out):
        table[i] = column
    return np.ascontiguousarray(table.T)


def local_of(function: Function) -> Local:
    """Value, gradient and Hessian in y of one function."""

    def local(X: FloatArray, Y: FloatArray, rows: NDArray[np.intp]) -> tuple[FloatArray, FloatArray, FloatArray]:
        n, d = Y.shape
        table = evaluate(function.second_order_y, columns(X, Y), n)
        return table[:, 0], table[:, 1 : 1 + d], table[:, 1 + d :].reshape(n, d, d)

    return local


def penalty_of(upper: Function, lower: Function, lam: FloatArray) -> Local:
    """The same for ``f + lam g`` with one ``lam`` per row."""
    first, second = local_of(upper), local_of(lower)

    def local(X: FloatArray, Y: FloatArray, rows: NDArray[np.intp]) -> tuple[FloatArray, FloatArray, FloatArray]:
        a, b, weight = first(X, Y, rows), second(X, Y, rows), lam[rows]
        return a[0] + weight * b[0], a[1] + weight[:, None] * b[1], a[2] + weight[:, None, None] * b[2]

    return local


@dataclass(frozen=True, slots=True)
class Landscape:
    """What is minimised over y: the lower level g, or ``f + lam g`` with one ``lam`` per row."""

    lower: Function
    upper: Function | None = None
    lam: FloatArray | None = None

    @property
    def local(self) -> Local:
        """Values, gradients and Hessians in y."""
        if self.upper is None or self.lam is None:
            return local_of(self.lower)
        return penalty_of(self.upper, self.lower, self.lam)

    @property
    def functions(self) -> tuple[Function, ...]:
        return (self.lower,) if self.upper is None else (self.lower, self.upper)

    @property
    def size(self) -> int:
        """Steps of one value."""
        return max(1, sum(function.program.size for function in self.functions))

    def at(self, rows: NDArray[np.intp]) -> Landscape:
        """The same for some of the rows, in any order."""
        return self if self.lam is None else Landscape(self.lower, self.upper, self.lam[rows])

    def values(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Values (n,)."""
        parts = [evaluate(function.program, columns(X, Y), len(X))[:, 0] for function in self.functions]
        return parts[0] if self.lam is None else self.lam * parts[0] + parts[1]


@np.errstate(all="ignore")
def minimise(
    local: Local, X: FloatArray, Y0: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None
) -> Minimised:
    """Minimise ``h(x_i, .)`` from ``Y0[i]`` for every row.

    Parameters
    ----------
    local : values, gradients and Hessians of h in y.
    X, Y0 : shapes (n, dx) and (n, dy).
    low, high : declared range of y, shape (dy,): damped steps are kept inside (a stationary point is never moved).
    """
    parts = [
        _minimise_chunk(local, X[a : a + CHUNK], Y0[a : a + CHUNK], np.arange(a, min(a + CHUNK, len(X))), low, high)
        for a in range(0, len(X), CHUNK)
    ]
    if not parts:
        empty = np.empty(0)
        return Minimised(np.empty((0, Y0.shape[1])), empty, empty, np.empty(0, dtype=bool))
    return Minimised(
        *(np.concatenate([getattr(p, name) for p in parts]) for name in ("y", "residual", "curvature", "converged"))
    )


def _minimise_chunk(
    local: Local, X: FloatArray, Y0: FloatArray, rows: NDArray[np.intp], low: FloatArray | None, high: FloatArray | None
) -> Minimised:
    Y = np.array(Y0, dtype=float)
    n = len(Y)
    value, gradient, matrix = local(X, Y, rows)
    best_y, best, best_matrix = Y.copy(), _or_infinity(_norms(gradient)), matrix.copy()
    active = np.flatnonzero(_usable(gradient, matrix))
    value, gradient, matrix = value[active], gradient[active], matrix[active]
    stalls = np.zeros(n, dtype=int)
    for _ in range(MOST_STEPS):
        if not active.size:
            break
        step, definite = _directions(gradient, matrix)
        step = _capped(step, definite, Y[active])
        small = _norms(step) <= 1e-4 * (1 + _norms(Y[active]))
        plain = small & definite
        trial = Y[active] + step
        new = local(X[active], trial, rows[active])
        good = plain | _armijo(value, gradient, step, new[0])
        if not np.all(good):
            at, length = partial(_at_rows, local, X[active], rows[active]), _longest(Y[active], step, low, high)
            tried = _search(at, Y[active], value, gradient, step, length, _Tried(trial, new, good))
            trial, new, good = tried.points, tried.found, tried.good
        Y[active] = trial
        value, gradient, matrix = new
        residual = _or_infinity(_norms(gradient))
        better = residual < best[active]
        halved = residual <= 0.5 * best[active]
        chosen = active[better]
        best[chosen], best_y[chosen], best_matrix[chosen] = residual[better], trial[better], matrix[better]
        stalls[active] = np.where(halved | ~plain, 0, stalls[active] + 1)
        # a row that was searched in vain would be searched in the same way again, to the end of all steps;
        # and without derivatives it has no direction
        moving = good & (stalls[active] < 2) & (residual > 0) & _usable(gradient, matrix) & (_norms(trial) < FAR)
        active, value, gradient, matrix = active[moving], value[moving], gradient[moving], matrix[moving]
    return _judged(best_y, best, best_matrix)


def _at_rows(
    local: Local, X: FloatArray, rows: NDArray[np.intp], chosen: NDArray[np.intp], Y: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    return local(X[chosen], Y, rows[chosen])


def _judged(best_y: FloatArray, best: FloatArray, best_matrix: FloatArray) -> Minimised:
    """The best points with the verdict whether they are minimisers: a small residual for their curvature."""
    curvature = _smallest_eigenvalue(best_matrix)
    # where the curvature is positive, the largest entry of the Hessian stands on its diagonal and is positive
    size = 1 + np.max(best_matrix, axis=(1, 2), initial=0.0) * (1 + _norms(best_y))
    converged = (best <= 1e-7 * size) & (curvature > 0) & (best <= 1e-6 * curvature * (1 + _norms(best_y)))
    return Minimised(best_y, best, curvature, converged)


@dataclass(slots=True)
class _Tried:
    """Rows of a Newton step: where they were tried, what was found there, which of them may stay."""

    points: FloatArray
    found: tuple[FloatArray, FloatArray, FloatArray]
    good: NDArray[np.bool_]


def _search(
    local: Callable[[NDArray[np.intp], FloatArray], tuple[FloatArray, FloatArray, FloatArray]],
    Y: FloatArray,
    value: FloatArray,
    gradient: FloatArray,
    step: FloatArray,
    length: FloatArray,
    tried: _Tried,
) -> _Tried:
    """Shorten the steps of the rows that are not good to their length, then by halves, until Armijo holds.

    At most 50 times. ``local`` : the functions at some rows, as ``(rows, points)``.
    """
    new = (tried.found[0].copy(), tried.found[1].copy(), tried.found[2].copy())
    trial, good = tried.points, tried.good
    for _ in range(50):
        bad = np.flatnonzero(~good)
        if not bad.size:
            break
        trial[bad] = Y[bad] + length[bad, None] * step[bad]
        part = local(bad, trial[bad])
        for whole, piece in zip(new, part, strict=True):
            whole[bad] = piece
        good[bad] = _armijo(value[bad], gradient[bad], length[bad, None] * step[bad], part[0])
        length[bad] *= 0.5
    return _Tried(trial, new, good)


def _longest(Y: FloatArray, step: FloatArray, low: FloatArray | None, high: FloatArray | None) -> FloatArray:
    """Largest fraction of the step (at most 1) that stays within the declared range, never less than 1e-3."""
    if low is None or high is None:
        return np.ones(len(Y))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, (high - Y) / step, np.where(step < 0, (low - Y) / step, np.inf))
    return np.asarray(np.clip(np.nanmin(room, axis=1, initial=np.inf), 1e-3, 1.0))


def _armijo(value: FloatArray, gradient: FloatArray, step: FloatArray, trial_value: FloatArray) -> NDArray[np.bool_]:
    slope = np.einsum("ij,ij->i", gradient, step)
    slack = 1e-14 * (1 + np.abs(value))
    return np.asarray(np.isfinite(trial_value) & (trial_value <= value + 1e-4 * slope + slack))


def _directions(gradient: FloatArray, matrix: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Newton directions; where the Hessian is not positive definite, with the moduli of its eigenvalues."""
    usable = _usable(gradient, matrix)
    gradient = np.where(usable[:, None], gradient, 0.0)
    matrix = np.where(usable[:, None, None], matrix, np.eye(matrix.shape[1]))
    try:
        step = -np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # NumPy gives up the whole batch for one singular row; the others keep their steps
        singular = np.linalg.slogdet(matrix)[0] == 0
        solvable = np.where(singular[:, None, None], np.eye(matrix.shape[1]), matrix)
        step = np.where(singular[:, None], 0.0, -np.linalg.solve(solvable, gradient[:, :, None])[:, :, 0])
    descent = np.einsum("ij,ij->i", gradient, step) < 0
    definite = (descent | ~np.any(gradient, axis=1)) & np.isfinite(step).all(axis=1)
    rest = np.flatnonzero(~definite)
    if rest.size:
        values, vectors = np.linalg.eigh(matrix[rest])
        sizes = np.maximum(np.abs(values), 1e-8 * (1e-30 + np.max(np.abs(values), axis=1, keepdims=True)))
        inner = np.einsum("nij,ni->nj", vectors, gradient[rest]) / sizes
        step[rest] = -np.einsum("nij,nj->ni", vectors, inner)
    return np.asarray(step), np.asarray(definite & usable)


def _usable(gradient: FloatArray, matrix: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(gradient).all(axis=1) & np.isfinite(matrix).all(axis=(1, 2)))


def _capped(step: FloatArray, definite: NDArray[np.bool_], Y: FloatArray) -> FloatArray:
    """Where the curvature says nothing about the length, steps are at most ten times the size of the iterate."""
    longest = np.where(definite, 1e6, 10.0) * (1 + _norms(Y))
    size = _norms(step)
    return np.asarray(step * np.where(size > longest, longest / np.where(size > 0, size, 1.0), 1.0)[:, None])


def _smallest_eigenvalue(matrix: FloatArray) -> FloatArray:
    if matrix.shape[1] == 0:
        return np.full(len(matrix), np.inf)
    clean = np.where(np.isfinite(matrix), matrix, 0.0)
    lowest = clean[:, 0, 0] if matrix.shape[1] == 1 else np.linalg.eigvalsh(clean)[:, 0]
    return np.asarray(np.where(np.isfinite(matrix).all(axis=(1, 2)), lowest, -np.inf))


def _or_infinity(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.inf)


def _norms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))
