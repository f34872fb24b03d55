"""Second-order methods as one loop in two forms: gradient, Hessian where it is due, cubic step, stopping test.

The steps are those of ``stepper`` and ``models`` on arrays, which many digits and large Hessians of short runs take.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any, NamedTuple

from bilevel_verify.methods.cubic.step import (
    GRADIENT,
    SNAPSHOT,
    VALUES,
    Row,
    Rows,
    S,
    X,
    add_schur,
    cubic_step,
    norm,
    spectrum_in,
)
from bilevel_verify.methods.kernels import state
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.vectors import copy_into, is_finite
from bilevel_verify.methods.plain import FAR
from bilevel_verify.oracles.convention import Counts, OracleSet
from bilevel_verify.oracles.counted import (
    ask_grad_f,
    ask_grad_x_f,
    ask_grad_x_g,
    ask_grad_y_f,
    ask_grad_y_g,
    ask_hess_f,
    ask_hess_g,
    lacks,
)
from bilevel_verify.oracles.jit import loop

STEP, ROWS, LENGTH, MOST, KEPT, KIND, TEST, K_LOWER, K_PENALTY = range(9)
WHOLES = 9
M, EPS, RHO_BAR, LAM, ETA_LOWER, THETA_LOWER, ETA_PENALTY, THETA_PENALTY = range(8)
REALS = 8
SINGLE_LEVEL, DANSKIN, PENALTY = range(3)
NO_TEST, SMALL_GRADIENT, SMALL_STEP, LAZY = range(4)
Y, W, Z, AHEAD, SLOPE, SLOPE_F = range(6)
"""Rows of the table of vectors of length dy."""
INNER = 6
SLOPES = 3
NOT_CONVEX = 30
"""A yy block is not positive definite: the first one that is inverted, or the next."""
MISSING = float("nan")
FINISHED, STATIONARY, MORE = state.FINISHED, state.STATIONARY, state.MORE
OUT_OF_BUDGET, NOT_FINITE, DIVERGED = state.OUT_OF_BUDGET, state.NOT_FINITE, state.DIVERGED


class CubicMemory(NamedTuple):
    """What the loop works on.

    Attributes
    ----------
    whole, real : integers and letters. ``points``, ``inner`` : vectors of length dx and dy, one a row.
    slopes : three rows for gradients in x (of length dx + dy for one level).
    vectors, matrix : (dx, dx). ``lower``, ``right`` : (dy, dy), (dy, dx).
    hessians : full Hessians, flat: of f, for the penalty function of g at (x, y) and at (x, w).
    trace : rows of x, u, s and the inner sequences.
    """

    whole: MutableSequence[int]
    real: Row
    points: Rows
    inner: Rows
    slopes: Rows
    vectors: Rows
    matrix: Rows
    lower: Rows
    right: Rows
    hessians: Rows
    trace: Rows


@loop
def cubic_loop(P: OracleSet, counts: Counts, memory: CubicMemory) -> int:
    """Iterations until the trace is full or the run ends; returns why."""
    whole, points = memory.whole, memory.points
    while True:
        if whole[STEP] >= whole[LENGTH]:
            return FINISHED
        if whole[STEP] >= whole[MOST]:
            return OUT_OF_BUDGET
        if whole[ROWS] >= len(memory.trace) - 1:
            return MORE
        end = one_step(P, counts, memory)
        if end != 0:
            return end
        largest = 0.0
        for i in range(len(points[X])):
            if not is_finite(points[X][i]):
                return NOT_FINITE
            largest = max(largest, abs(points[X][i]))
        if largest > FAR:
            return DIVERGED


@loop
def one_step(P: OracleSet, counts: Counts, memory: CubicMemory) -> int:
    """Gradient, Hessian where it is due, cubic step, stopping test; 0, or why the run ends here."""
    whole, real, points = memory.whole, memory.real, memory.points
    if not gradient_in(P, counts, memory):
        return OUT_OF_BUDGET
    for i in range(len(points[X])):
        if not is_finite(points[GRADIENT][i]):
            return NOT_FINITE
    if whole[TEST] == SMALL_GRADIENT and norm(points[GRADIENT]) <= real[EPS]:
        return STATIONARY
    if whole[STEP] % whole[KEPT] == 0:
        end = hessian_in(P, counts, memory)
        if end != 0:
            return end
        copy_into(points[X], points[SNAPSHOT])
        if not spectrum_in(memory.matrix, points[VALUES], memory.vectors):
            return NOT_FINITE
    cubic_step(points, memory.vectors, memory.matrix, real[M])
    note(memory, True)
    ended = passes_test(memory)
    for i in range(len(points[X])):
        points[X][i] = points[X][i] + points[S][i]
    whole[STEP] = whole[STEP] + 1
    return STATIONARY if ended else 0


@loop
def passes_test(memory: CubicMemory) -> bool:
    """The test after the cubic step, before x is moved."""
    whole, real, points = memory.whole, memory.real, memory.points
    if whole[TEST] == SMALL_STEP:
        return bool(norm(points[S]) <= square_root(real[EPS] / real[M]) / 2.0)
    if whole[TEST] != LAZY:
        return False
    moved = (real[M] + 2.0 * real[RHO_BAR]) / square_root(2.0) * norm(points[S])
    total = 0.0
    for i in range(len(points[X])):
        total = total + (points[SNAPSHOT][i] - points[X][i]) * (points[SNAPSHOT][i] - points[X][i])
    away = real[RHO_BAR] * square_root(total)
    return bool(real[EPS] >= (moved + away) * (moved + away) * 288**2 / (real[M] * 287**2))


@loop
def gradient_in(P: OracleSet, counts: Counts, memory: CubicMemory) -> bool:
    """GRADIENT <- the estimate at x; runs the inner solvers. False if the budget ends before."""
    whole, real, points, inner, slopes = memory.whole, memory.real, memory.points, memory.inner, memory.slopes
    x, y, w, gradient = points[X], inner[Y], inner[W], points[GRADIENT]
    kind = whole[KIND]
    if kind == SINGLE_LEVEL:
        if lacks(counts, 1):
            return False
        ask_grad_f(P, counts, x, y, gradient)
        return True
    start = w if kind == PENALTY else y
    if not accelerated(P, counts, memory, start, whole[K_LOWER], real[ETA_LOWER], real[THETA_LOWER], False):
        return False
    if kind == PENALTY and not accelerated(
        P, counts, memory, y, whole[K_PENALTY], real[ETA_PENALTY], real[THETA_PENALTY], True
    ):
        return False
    if lacks(counts, 1):
        return False
    ask_grad_x_f(P, counts, x, y, gradient)
    if kind == PENALTY:
        if lacks(counts, 1):
            return False
        ask_grad_x_g(P, counts, x, y, slopes[0])
        if lacks(counts, 1):
            return False
        ask_grad_x_g(P, counts, x, w, slopes[1])
        for i in range(len(gradient)):
            gradient[i] = gradient[i] + real[LAM] * (slopes[0][i] - slopes[1][i])
    return True


@loop
def accelerated(
    P: OracleSet, counts: Counts, memory: CubicMemory, z: Row, steps: int, eta: float, theta: float, penalty: bool
) -> bool:
    """z <- ``steps`` steps of Algorithm 1 on g, or on f + lam g; False, and z as it was, if the budget ends before."""
    inner, x, lam = memory.inner, memory.points[X], memory.real[LAM]
    new, ahead, slope, slope_f = inner[Z], inner[AHEAD], inner[SLOPE], inner[SLOPE_F]
    for i in range(len(z)):
        ahead[i] = z[i]
        new[i] = z[i]
    for _ in range(steps):
        if penalty:
            if lacks(counts, 1):
                return False
            ask_grad_y_f(P, counts, x, ahead, slope_f)
        if lacks(counts, 1):
            return False
        ask_grad_y_g(P, counts, x, ahead, slope)
        for i in range(len(z)):
            step = slope_f[i] + lam * slope[i] if penalty else slope[i]
            following = ahead[i] - eta * step
            ahead[i] = following + theta * (following - new[i])
            new[i] = following
    for i in range(len(z)):
        z[i] = new[i]
    return True


@loop
def hessian_in(P: OracleSet, counts: Counts, memory: CubicMemory) -> int:
    """The matrix <- the estimate at the point of the last gradient; 0, or why there is none."""
    points, inner, H, kind = memory.points, memory.inner, memory.hessians, memory.whole[KIND]
    x, y, lam, dx = points[X], inner[Y], memory.real[LAM], len(points[X])
    if lacks(counts, 1):
        return OUT_OF_BUDGET
    ask_hess_f(P, counts, x, y, H[0])
    last = len(H) - 1  # f alone, or f, g at (x, y), g at (x, w)
    n, f, g, h = dx + len(y), H[0], H[min(1, last)], H[last]
    if kind == PENALTY:
        for place in range(1, 3):
            if lacks(counts, 1):
                return OUT_OF_BUDGET
            ask_hess_g(P, counts, x, y if place == 1 else inner[W], H[place])
    for i in range(dx):
        row = memory.matrix[i]
        for j in range(dx):
            row[j] = f[n * i + j] + lam * (g[n * i + j] - h[n * i + j]) if kind == PENALTY else f[n * i + j]
    if kind == SINGLE_LEVEL:
        return 0
    fill(memory, f, g, lam, 1.0 if kind == PENALTY else -1.0)
    if not add_schur(-1.0 if kind == PENALTY else 1.0, memory.lower, memory.right, memory.matrix):
        return NOT_CONVEX
    if kind == PENALTY:
        fill(memory, h, h, 0.0, 1.0)
        if not add_schur(lam, memory.lower, memory.right, memory.matrix):
            return NOT_CONVEX + 1
    return 0


@loop
def fill(memory: CubicMemory, f: Any, g: Any, lam: float, sign: float) -> None:
    """lower, right <- the yy and yx blocks of ``f + lam g``, the yy block times ``sign``."""
    dx, n = len(memory.points[X]), len(memory.points[X]) + len(memory.inner[Y])
    for k in range(n - dx):
        lower, right, place = memory.lower[k], memory.right[k], n * (dx + k)
        for i in range(dx):
            right[i] = f[place + i] + lam * g[place + i] if lam != 0.0 else f[place + i]
        for i in range(n - dx):
            entry = f[place + dx + i] + lam * g[place + dx + i] if lam != 0.0 else f[place + dx + i]
            lower[i] = sign * entry


@loop
def note(memory: CubicMemory, inside: bool) -> None:
    """A row of the trace: x, u, s and the inner sequences; x alone at the end."""
    whole, points, inner = memory.whole, memory.points, memory.inner
    row, n, dy = memory.trace[whole[ROWS]], len(points[X]), len(inner[Y])
    for i in range(len(row)):
        row[i] = MISSING
    for i in range(n):
        row[i] = points[X][i]
    if inside:
        for i in range(n):
            row[n + i] = points[GRADIENT][i]
            row[2 * n + i] = points[S][i]
        for i in range(3 * n, len(row)):
            place = i - 3 * n
            row[i] = inner[Y][place] if place < dy else inner[W][place - dy]
    whole[ROWS] = whole[ROWS] + 1
