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
    MORE,
    MOVED,
    NOISE_USED_UP,
    NOT_FINITE,
    OK,
    OUT,
    OUT_OF_BUDGET,
    OUTER_ROWS,
    PATH,
    POINT_AUX,
    POINT_U,
    POINT_W,
    POINTS,
    ROWS,
    STAMPS,
    START,
    STEP,
    SUM,
    SUPPLY,
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
from bilevel_verify.oracles.jit import loop

ROWS_OF_AN_ITERATION = 3
"""Rows that one iteration may add: the start of an epoch, the iterate, the end of the epoch."""


@loop
def pause(whole: Vector, capacity: int, noisy: bool) -> int:
    """Why the scheme has to return to the engine before another iteration, or ``OK``."""
    if whole[ROWS] + ROWS_OF_AN_ITERATION > capacity:
        return MORE
    if whole[ITERATIONS] >= whole[ITERATIONS_MOST]:
        return OUT_OF_BUDGET
    if noisy and whole[USED] >= whole[SUPPLY]:
        return NOISE_USED_UP
    return OK


@loop
def note(row: Vector, first: int, vector: Vector) -> None:
    """Write a vector into a row of the trace."""
    for i in range(len(vector)):
        row[first + i] = vector[i]


@loop
def note_inner(row: Vector, inner: Any, first: int) -> None:
    """Write y, z and v into a row of the trace."""
    dy = len(inner[Y])
    note(row, first, inner[Y])
    note(row, first + dy, inner[Z])
    note(row, first + 2 * dy, inner[V])


@loop
def open_row(m: Memory, t: int, k: int) -> None:
    """Begin the row (t, k) with x[t, k] and whatever else is known before the iteration."""
    row, dx = m.trace[m.whole[ROWS]], len(m.outer[X])
    row[0] = t
    row[1] = k
    note(row, STAMPS, m.outer[X])
    if m.whole[AUX_KNOWN] == 1:
        note(row, STAMPS + POINT_AUX * dx, m.outer[AUX])
    if m.whole[INNER_FIRST] == 1:
        note_inner(row, m.inner, STAMPS + POINTS * dx)
    m.whole[ROWS] += 1


@loop
def close_row(m: Memory, extrapolated: bool) -> None:
    """Complete the last row with what the iteration found: w (if there is one), the estimate u, and y, z, v."""
    row, dx = m.trace[m.whole[ROWS] - 1], len(m.outer[X])
    if extrapolated:
        note(row, STAMPS + POINT_W * dx, m.outer[W])
    note(row, STAMPS + POINT_U * dx, m.outer[U])
    if m.whole[INNER_FIRST] == 0:
        note_inner(row, m.inner, STAMPS + POINTS * dx)


@loop
def begin_epoch(P: Any, estimate: Any, counts: Vector, point: Vector, m: Memory) -> int:
    """Let the estimator start at the first point of the epoch; recorded as the row (t, -1)."""
    t = m.whole[EPOCH]
    if t == 0 and m.whole[LITERAL] == 1:
        point = m.outer[UNDEFINED]
    code = int(estimate(P, counts, point, m, t, START))
    if code == OK:
        row = m.trace[m.whole[ROWS]]
        row[0] = t
        row[1] = START
        note(row, STAMPS, point)
        note_inner(row, m.inner, STAMPS + POINTS * len(point))
        m.whole[ROWS] += 1
        m.whole[FRESH] = 0
    return code


@loop
def advance(m: Memory) -> int:
    """x_old <- x, x <- x_new, k <- k + 1; real[MOVED] <- ||x_new - x||^2, real[PATH] grows by it.

    Says so when the new iterate is not finite or huge; that iterate is then recorded.
    """
    x, x_old, x_new = m.outer[X], m.outer[X_OLD], m.outer[X_NEW]
    moved = 0.0
    size = 0.0
    for i in range(len(x)):
        difference = x_new[i] - x[i]
        moved = moved + difference * difference
        size = size + x_new[i] * x_new[i]
        x_old[i] = x[i]
        x[i] = x_new[i]
    m.real[MOVED] = moved
    m.real[PATH] = m.real[PATH] + moved
    m.whole[ITERATIONS] += 1
    m.whole[STEP] += 1
    if is_finite(size) and size <= HUGE:
        return OK
    open_row(m, m.whole[EPOCH], m.whole[STEP])
    return DIVERGED if is_finite(size) else NOT_FINITE


@loop
def next_epoch(m: Memory) -> None:
    """t <- t + 1, k <- 0; path length and sums of the average are reset."""
    m.whole[EPOCH] += 1
    m.whole[FRESH] = 1
    m.whole[STEP] = 0
    m.whole[BEST_STEP] = 0
    m.real[PATH] = 0.0
    set_zero(m.outer[SUM])
    set_zero(m.outer[TAIL])


@loop
def average_on_the_fly(m: Memory, point: Vector, k: int, first: int) -> None:
    """Algorithm 7 of Li & Lin: the sum of the points up to K_0 = argmin over k >= first of ||x[k+1] - x[k]||.

    Ties go to the smallest index; with ``LAST_TIE`` to the largest, as Algorithm 7 is printed.
    """
    total, tail, moved = m.outer[SUM], m.outer[TAIL], m.real[MOVED]
    better = moved < m.real[BEST] or (m.whole[LAST_TIE] == 1 and moved == m.real[BEST])
    if k > first and not better:
        add_to(tail, point)
        return
    for i in range(len(total)):
        total[i] = total[i] + tail[i] + point[i]
        tail[i] = 0.0
    m.whole[BEST_STEP] = k
    m.real[BEST] = moved


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
    add_to(point, m.outer[OUTER_ROWS + m.whole[USED]])
    m.whole[USED] += 1


@loop
def small_enough(vector: Vector, eps: Any, m: Memory) -> bool:
    """||vector|| <= eps, if this run tests at all; False for NaN.

    Single-loop estimators add the size of their inner gradient: there both have to be small.
    """
    total = m.real[INNER_SLOPE]
    for i in range(len(vector)):
        total = total + vector[i] * vector[i]
    return bool(m.whole[TESTED] == 1 and total <= eps * eps)


@loop
def output_is(m: Memory, point: Vector, code: int) -> int:
    """The output is this point."""
    copy_into(point, m.outer[OUT])
    return code
