"""What the schemes share: rows of the trace, reasons to pause, the step, epochs, noise, the test, the output.

``s`` is the state of any scheme: whatever fields are named here it must have.
"""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.state import (
    DIVERGED,
    HUGE,
    MORE,
    NOISE_USED_UP,
    NOT_FINITE,
    OK,
    OUT_OF_BUDGET,
    START,
    Ask,
    Inner,
    LowerPoints,
    Memory,
    Outer,
    Points,
    Progress,
)
from bilevel_verify.methods.kernels.vectors import add_to, copy_into, is_finite
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import call_7, named, named_at, row
from bilevel_verify.oracles.jit import inlined, loop

ROWS_OF_AN_ITERATION = 3
"""Rows that one iteration may add: the start of an epoch, the iterate, the end of the epoch."""


@inlined
def gradient(ask: Ask, point: Vector, u: Vector, m: Memory, t: int, k: int) -> int:
    """u <- the estimate at this point; ``OK`` or a reason to stop."""
    return call_7(ask.gradient, ask.P, ask.counts, point, u, m.lower, t, k)


@inlined
def value(ask: Ask, point: Vector, out: Vector, m: Memory) -> int:
    """out[0] <- the function value at this point; ``OK`` or a reason to stop."""
    return call_7(ask.value, ask.P, ask.counts, point, out, m.lower, m.at.t, 0)


@inlined
def exact_gradient(ask: Ask, point: Vector, out: Vector, m: Memory, t: int, k: int) -> int:
    """out <- the exact gradient at this point, for a stopping test; ``OK`` or a reason to stop."""
    return call_7(ask.exact, ask.P, ask.counts, point, out, m.lower, t, k)


@loop
def pause(m: Memory, noisy: bool) -> int:
    """Why the scheme has to return to the engine before another iteration, or ``OK``."""
    at = m.at
    if at.rows + ROWS_OF_AN_ITERATION > at.capacity:
        return MORE
    if at.iterations >= at.most_iterations:
        return OUT_OF_BUDGET
    if noisy and at.used >= at.supply:
        return NOISE_USED_UP
    return OK


@loop
def note_inner(m: Memory, place: int) -> None:
    """y, z and v of the row at this place."""
    inner = named(Inner, m.lower.inner)
    if len(inner.y) == 0:
        return
    found = named_at(LowerPoints, m.lowers, place)
    copy_into(inner.y, found.y)
    copy_into(inner.z, found.z)
    copy_into(inner.v, found.v)


@loop
def open_row(m: Memory, x: Vector) -> Points:
    """Begin the row (t, k) with x[t, k] and whatever else is known before the iteration; the row."""
    at = m.at
    place = at.rows
    stamp = row(m.stamps, place)
    stamp[0] = at.t
    stamp[1] = at.k
    if at.inner_first == 1:
        note_inner(m, place)
    at.rows = place + 1
    opened = named_at(Points, m.points, place)
    copy_into(x, opened.x)
    return opened


@loop
def close_row(m: Memory, opened: Points, u: Vector) -> None:
    """Complete the last row with what the estimator found: u, and y, z, v."""
    copy_into(u, opened.u)
    if m.at.inner_first == 0:
        note_inner(m, m.at.rows - 1)


@loop
def begin_epoch(ask: Ask, point: Vector, u: Vector, m: Memory) -> int:
    """Let the estimator start at the first point of the epoch; recorded as the row (t, -1)."""
    at = m.at
    if at.t == 0 and at.literal == 1:
        point = named(Outer, m.lower.outer).undefined
    code = gradient(ask, point, u, m, at.t, START)
    if code == OK:
        place = at.rows
        stamp = row(m.stamps, place)
        stamp[0] = at.t
        stamp[1] = START
        copy_into(point, named_at(Points, m.points, place).x)
        note_inner(m, place)
        at.rows = place + 1
        at.fresh = 0
    return code


@loop
def advance(at: Progress, s: Any) -> int:
    """x_old <- x, x <- x_new, k <- k + 1; moved <- ||x_new - x||^2, the path grows by it.

    Says so when the new iterate is not finite or huge; the engine records that iterate.
    """
    x, x_old, x_new = s.x, s.x_old, s.x_new
    moved = 0.0
    size = 0.0
    for i in range(len(x)):
        difference = x_new[i] - x[i]
        moved = moved + difference * difference
        size = size + x_new[i] * x_new[i]
        x_old[i] = x[i]
        x[i] = x_new[i]
    at.moved = moved
    at.path = at.path + moved
    at.iterations += 1
    at.k += 1
    if is_finite(size) and size <= HUGE:
        return OK
    return DIVERGED if is_finite(size) else NOT_FINITE


@loop
def next_epoch(at: Progress) -> None:
    """t <- t + 1, k <- 0; the path length begins anew."""
    at.t += 1
    at.fresh = 1
    at.k = 0
    at.best_step = 0
    at.path = 0.0


@loop
def perturb(m: Memory, point: Vector) -> None:
    """point <- point + the next perturbation."""
    add_to(point, row(m.supply, m.at.used))
    m.at.used += 1


@loop
def small_enough(vector: Vector, eps: float, at: Progress) -> bool:
    """||vector|| <= eps, if this run tests at all; False for NaN.

    Single-loop estimators add the size of their inner gradient: there both have to be small.
    """
    total = at.inner_slope
    for i in range(len(vector)):
        total = total + vector[i] * vector[i]
    return bool(at.tested == 1 and total <= eps * eps)


@loop
def output_is(s: Any, point: Vector, code: int) -> int:
    """The output is this point."""
    copy_into(point, s.output)
    return code
