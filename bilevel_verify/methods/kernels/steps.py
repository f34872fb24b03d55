"""What the schemes share: rows of the trace, reasons to pause, the step, the average on the fly, noise."""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.layout import (
    AUX,
    AUX_KNOWN,
    BEST,
    BEST_STEP,
    DIVERGED,
    EPOCH,
    FINISHED,
    FRESH,
    HUGE,
    INNER_FIRST,
    INNER_SLOPE,
    ITERATIONS,
    ITERATIONS_MOST,
    LAST_TIE,
    LITERAL,
    LOWER_V,
    LOWER_Y,
    LOWER_Z,
    MORE,
    MOVED,
    NOISE_USED_UP,
    NOT_FINITE,
    OK,
    OUT,
    OUT_OF_BUDGET,
    PATH,
    POINT_AUX,
    POINT_U,
    POINT_W,
    POINT_X,
    ROWS,
    START,
    STEP,
    SUM,
    TAIL,
    TESTED,
    UNDEFINED,
    USED,
    X_NEW,
    X_OLD,
    Memory,
    U,
    V,
    Vector,
    W,
    X,
    Y,
    Z,
)
from bilevel_verify.methods.kernels.vectors import add_to, copy_into, is_finite, set_zero
from bilevel_verify.oracles.twin import loop

ROWS_OF_AN_ITERATION = 3
"""Rows that one iteration may add: the start of an epoch, the iterate, the end of the epoch."""


@loop
def pause(m: Memory, noisy: bool) -> int:
    """Why the scheme has to return to the engine before another iteration, or ``OK``."""
    if m.whole[ROWS] + ROWS_OF_AN_ITERATION > m.stamps.shape[0]:
        return MORE
    if m.whole[ITERATIONS] >= m.whole[ITERATIONS_MOST]:
        return OUT_OF_BUDGET
    if noisy and m.whole[USED] >= m.noise.shape[0]:
        return NOISE_USED_UP
    return OK


@loop
def note_inner(m: Memory, row: int) -> None:
    """Write y, z and v into a row of the trace."""
    y, z, v = m.inner[Y], m.inner[Z], m.inner[V]
    for i in range(len(y)):
        m.lowers[LOWER_Y, row, i] = y[i]
        m.lowers[LOWER_Z, row, i] = z[i]
        m.lowers[LOWER_V, row, i] = v[i]


@loop
def note_outer(m: Memory, row: int, sequence: int, vector: Vector) -> None:
    """Write a vector of dimension dx into a row of the trace."""
    for i in range(len(vector)):
        m.points[sequence, row, i] = vector[i]


@loop
def open_row(m: Memory, t: int, k: int) -> None:
    """Begin the row (t, k) with x[t, k] and whatever else is known before the iteration."""
    row = m.whole[ROWS]
    m.stamps[row, 0] = t
    m.stamps[row, 1] = k
    note_outer(m, row, POINT_X, m.outer[X])
    if m.whole[INNER_FIRST] == 1:
        note_inner(m, row)
    if m.whole[AUX_KNOWN] == 1:
        note_outer(m, row, POINT_AUX, m.outer[AUX])
    m.whole[ROWS] = row + 1


@loop
def close_row(m: Memory, extrapolated: bool) -> None:
    """Complete the last row with what the iteration found: w (if there is one), the estimate u, and y, z, v."""
    row = m.whole[ROWS] - 1
    if extrapolated:
        note_outer(m, row, POINT_W, m.outer[W])
    note_outer(m, row, POINT_U, m.outer[U])
    if m.whole[INNER_FIRST] == 0:
        note_inner(m, row)


@loop
def begin_epoch(P: Any, estimate: Any, counts: Vector, point: Vector, m: Memory) -> int:
    """Let the estimator start at the first point of the epoch; recorded as the row (t, -1)."""
    t = m.whole[EPOCH]
    if t == 0 and m.whole[LITERAL] == 1:
        point = m.outer[UNDEFINED]
    code = estimate(P, counts, point, m, t, START)
    if code != OK:
        return int(code)
    row = m.whole[ROWS]
    m.stamps[row, 0] = t
    m.stamps[row, 1] = START
    note_outer(m, row, POINT_X, point)
    note_inner(m, row)
    m.whole[ROWS] = row + 1
    m.whole[FRESH] = 0
    return OK


@loop
def advance(m: Memory) -> int:
    """x_old <- x, x <- x_new; number[MOVED] <- ||x_new - x||^2. Says so when the new iterate is not finite or huge."""
    x, x_old, x_new = m.outer[X], m.outer[X_OLD], m.outer[X_NEW]
    moved = 0.0
    size = 0.0
    for i in range(len(x)):
        difference = x_new[i] - x[i]
        moved = moved + difference * difference
        size = size + x_new[i] * x_new[i]
        x_old[i] = x[i]
        x[i] = x_new[i]
    m.number[MOVED] = moved
    m.whole[ITERATIONS] += 1
    if not is_finite(size):
        return NOT_FINITE
    return DIVERGED if size > HUGE else OK


@loop
def broken(m: Memory, t: int, k: int, code: int) -> int:
    """Record the iterate (t, k) at which the run broke off."""
    open_row(m, t, k)
    return code


@loop
def clear_epoch(m: Memory) -> None:
    """Reset what belongs to one epoch: index, path length, sums of the average."""
    m.whole[STEP] = 0
    m.number[PATH] = 0.0
    set_zero(m.outer[SUM])
    set_zero(m.outer[TAIL])
    m.whole[BEST_STEP] = 0


@loop
def next_epoch(m: Memory) -> None:
    """t <- t + 1, k <- 0."""
    clear_epoch(m)
    m.whole[EPOCH] += 1
    m.whole[FRESH] = 1


@loop
def average_on_the_fly(m: Memory, point: Vector, k: int, first: int) -> None:
    """Algorithm 7 of Li & Lin: the sum of the points up to K_0 = argmin over k >= first of ||x[k+1] - x[k]||.

    Ties go to the smallest index; with ``LAST_TIE`` to the largest, as Algorithm 7 is printed.
    """
    total, tail, moved = m.outer[SUM], m.outer[TAIL], m.number[MOVED]
    if k <= first:
        add_to(total, point)
        m.whole[BEST_STEP] = k
        m.number[BEST] = moved
    elif moved < m.number[BEST] or (m.whole[LAST_TIE] == 1 and moved == m.number[BEST]):
        for i in range(len(total)):
            total[i] = total[i] + tail[i] + point[i]
            tail[i] = 0.0
        m.whole[BEST_STEP] = k
        m.number[BEST] = moved
    else:
        add_to(tail, point)


@loop
def finish_with_average(m: Memory, terms: int) -> int:
    """Output: the sum divided by the number of its terms."""
    total, out = m.outer[SUM], m.outer[OUT]
    for i in range(len(out)):
        out[i] = total[i] / terms
    return FINISHED


@loop
def perturb(m: Memory, point: Vector) -> None:
    """point <- point + the next perturbation."""
    noise = m.noise[m.whole[USED]]
    for i in range(len(point)):
        point[i] = point[i] + noise[i]
    m.whole[USED] += 1


@loop
def small_enough(vector: Vector, eps: Any, m: Memory) -> bool:
    """||vector|| <= eps, if this run tests at all; False for NaN.

    Single-loop estimators add the size of their inner gradient: there both have to be small.
    """
    if m.whole[TESTED] == 0:
        return False
    total = m.number[INNER_SLOPE]
    for i in range(len(vector)):
        total = total + vector[i] * vector[i]
    return bool(total <= eps * eps)


@loop
def output_is(m: Memory, point: Vector, code: int) -> int:
    """The output is this point."""
    copy_into(point, m.outer[OUT])
    return code
