"""Algorithm 1 of the agm-bio paper as one loop, plain and compiled, with the accelerated method for g_k beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

from bilevel_verify.methods.kernels import state
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.state import HUGE
from bilevel_verify.methods.kernels.vectors import copy_into, dot
from bilevel_verify.methods.simple.sets import (
    AT,
    EMPTY,
    GRADIENT,
    INEXACT,
    NEXT,
    NORMAL,
    SUMS,
    TARGET,
    UNIT,
    U,
    W,
    X,
    Y,
    Z,
    project_onto,
    project_onto_cut,
)
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_grad_f, ask_grad_g, ask_value_g, lacks
from bilevel_verify.oracles.jit import loop

EPS = 2.0**-52
"""Unit round-off of the NumPy steppers."""
BLURRED = 1e-8
"""Largest uncertainty of the place of a cut, relative to the iterate, that a step may still be taken with."""

MISSING = float("nan")
"""What stands in a row of the trace where the paper defines nothing."""

STEP, ROWS, PASSES, MOST, SET, PLACE, MODE, READY = range(8)
WHOLES = 8
WEIGHT, MOMENTUM, LEVEL, GAMMA, L_F, L_G, SIZE, MISS = range(8)
REALS = 8
CUT_AT_Y, CUT_AT_X, CUT_AT_Z = range(3)
MINIMUM, VALUES, CONSTANT, GIVEN = range(4)
"""How g_k is made by the accelerated method beside: the least of g(u_1) .. g(u_{k+1}), the value g(u_k) (with
u_0 = x_0, which may break (8) at k = 0), the least value g_K of K steps for all k; or the user's own sequence (one
number for all k)."""
BELOW, BLUR, MISSED, SHORT = range(20, 24)
"""Further ends of a run: g_k below g*, a cut lost in rounding, a projection that was not exact, a short sequence."""
FINISHED, MORE, OUT_OF_BUDGET = state.FINISHED, state.MORE, state.OUT_OF_BUDGET
NOT_FINITE, DIVERGED = state.NOT_FINITE, state.DIVERGED


class SimpleMemory(NamedTuple):
    """What the loop works on: integers, reals, vectors (one a row), g_k and a_k of the user, the trace."""

    whole: Any
    real: Any
    points: Any
    levels: Any
    weights: Any
    trace: Any


@loop
def agm_bio(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """Passes of Algorithm 1 until the trace is full or the run ends; returns why."""
    whole, real, points = memory.whole, memory.real, memory.points
    if whole[READY] == 0:
        whole[READY] = 1
        if whole[MODE] == CONSTANT and constant_level(P, counts, memory) != 0:
            note_row(memory, 0)
            return OUT_OF_BUDGET
    while True:
        if whole[ROWS] >= len(memory.trace):
            return MORE
        k = whole[STEP]
        if k >= whole[PASSES]:
            note_row(memory, 0)
            return FINISHED
        cost = 3 if whole[MODE] == CONSTANT or whole[MODE] == GIVEN else 5
        if k >= whole[MOST] or lacks(counts, cost):
            note_row(memory, 0)
            return OUT_OF_BUDGET
        if whole[MODE] == GIVEN and len(memory.levels) > 1 and k >= len(memory.levels):
            note_row(memory, 0)
            return SHORT
        if len(memory.weights) > 0 and k >= len(memory.weights):
            note_row(memory, 0)
            return SHORT
        end = one_pass(P, counts, memory, k)
        if end != 0:
            return end
        largest = 0.0
        for i in range(len(points[X])):
            if points[X][i] - points[X][i] != 0.0:
                return NOT_FINITE
            largest = max(largest, abs(points[X][i]))
        if largest > HUGE:
            return DIVERGED
        real[MISS] = 0.0


@loop
def one_pass(P: OracleSet, counts: Counts, memory: SimpleMemory, k: int) -> int:
    """Lines 4-8 of the algorithm; 0, or why the run ends here."""
    whole, real, points = memory.whole, memory.real, memory.points
    n = len(points[X])
    if len(memory.weights) > 0:
        a = memory.weights[k]
    else:
        a = real[GAMMA] * (k + 1) / (4.0 * real[L_F])
    share = a / (real[WEIGHT] + a)
    for i in range(n):
        points[Y][i] = (1.0 - share) * points[X][i] + share * points[Z][i]
    next_level(P, counts, memory, k)
    note_row(memory, 1)
    ask_grad_f(P, counts, points[Y], points[UNIT][0:0], points[GRADIENT])
    for i in range(n):
        points[TARGET][i] = points[Z][i] - a * points[GRADIENT][i]
    end = project_on_the_cut(P, counts, memory)
    if end != 0:
        return end
    for i in range(n):
        points[Z][i] = points[NEXT][i]
        points[X][i] = (1.0 - share) * points[X][i] + share * points[NEXT][i]
    real[WEIGHT] = real[WEIGHT] + a
    whole[STEP] = k + 1
    return 0


@loop
def project_on_the_cut(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """NEXT <- projection of TARGET onto X_k (line 6), the cut built at y_k (or x_k, z_k); 0, or why there is none."""
    whole, real, points = memory.whole, memory.real, memory.points
    n = len(points[X])
    place = Y if whole[PLACE] == CUT_AT_Y else (X if whole[PLACE] == CUT_AT_X else Z)
    copy_into(points[place], points[AT])
    ask_grad_g(P, counts, points[AT], points[UNIT][0:0], points[NORMAL])
    ask_value_g(P, counts, points[AT], points[UNIT][0:0], points[SUMS])
    value = points[SUMS][0]
    drop = value - real[LEVEL]
    size = square_root(dot(points[NORMAL], points[NORMAL]))
    project_onto(whole[SET], real[SIZE], points, TARGET)
    unit = points[UNIT][0]
    rounding = 4.0 * unit * (abs(value) + abs(real[LEVEL]))
    if not (size > 0.0):
        real[MISS] = drop
        return 0 if drop <= 0.0 else (BLUR if drop <= 16.0 * rounding else BELOW)
    b = -drop / size
    for i in range(n):
        points[NORMAL][i] = points[NORMAL][i] / size
        b = b + points[NORMAL][i] * points[AT][i]
    reach = square_root(dot(points[AT], points[AT]))
    blur = rounding / size + 4.0 * unit * reach
    excess = dot(points[NORMAL], points[NEXT]) - b
    if blur > BLURRED * (1.0 + reach) and excess > -blur:
        real[MISS] = blur
        return BLUR
    if excess <= 0.0:
        return 0
    end = project_onto_cut(whole[SET], real[SIZE], points, b)
    if end == EMPTY:
        return emptiness(memory, b, 1e-9 * (1.0 + abs(b) + (abs(value) + abs(real[LEVEL])) / size))
    return MISSED if end == INEXACT else 0


@loop
def emptiness(memory: SimpleMemory, b: float, slack: float) -> int:
    """An empty cut: lost by rounding if a little slack gives it a point, else g_k lies below g*."""
    whole, real, points = memory.whole, memory.real, memory.points
    real[MISS] = slack
    project_onto(whole[SET], real[SIZE], points, TARGET)
    again = project_onto_cut(whole[SET], real[SIZE], points, b + slack)
    return BELOW if again == EMPTY else MISSED


@loop
def next_level(P: OracleSet, counts: Counts, memory: SimpleMemory, k: int) -> None:
    """LEVEL <- g_k."""
    whole, real = memory.whole, memory.real
    if whole[MODE] == GIVEN:
        real[LEVEL] = memory.levels[k] if len(memory.levels) > 1 else memory.levels[0]
    elif whole[MODE] == VALUES:
        real[LEVEL] = lower_value(P, counts, memory)
        lower_step(P, counts, memory)
    elif whole[MODE] == MINIMUM:
        lower_step(P, counts, memory)
        value = lower_value(P, counts, memory)
        real[LEVEL] = value if k == 0 else min(value, real[LEVEL])


@loop
def constant_level(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """LEVEL <- g_K, the least value along K accelerated steps; 0, or 1 if the budget ended before."""
    real = memory.real
    if lacks(counts, 1):
        return 1
    real[LEVEL] = lower_value(P, counts, memory)
    for _ in range(memory.whole[PASSES]):
        if lacks(counts, 2):
            return 1
        lower_step(P, counts, memory)
        real[LEVEL] = min(real[LEVEL], lower_value(P, counts, memory))
    return 0


@loop
def lower_value(P: OracleSet, counts: Counts, memory: SimpleMemory) -> float:
    """g at the current point of the accelerated method on the lower level."""
    points = memory.points
    ask_value_g(P, counts, points[U], points[UNIT][0:0], points[SUMS])
    found: float = points[SUMS][0]
    return found


@loop
def lower_step(P: OracleSet, counts: Counts, memory: SimpleMemory) -> None:
    """One step of the accelerated projected gradient method on g (sheet 3.2)."""
    whole, real, points = memory.whole, memory.real, memory.points
    ask_grad_g(P, counts, points[W], points[UNIT][0:0], points[GRADIENT])
    for i in range(len(points[W])):
        points[TARGET][i] = points[W][i] - points[GRADIENT][i] / real[L_G]
    project_onto(whole[SET], real[SIZE], points, TARGET)
    later = (1.0 + square_root(1.0 + 4.0 * real[MOMENTUM] * real[MOMENTUM])) / 2.0
    for i in range(len(points[W])):
        points[W][i] = points[NEXT][i] + (real[MOMENTUM] - 1.0) / later * (points[NEXT][i] - points[U][i])
        points[U][i] = points[NEXT][i]
    real[MOMENTUM] = later


@loop
def note_row(memory: SimpleMemory, inside: int) -> None:
    """A row of the trace: x, y, z, g_k; y and g_k only inside a pass."""
    whole, points = memory.whole, memory.points
    row: Vector = memory.trace[whole[ROWS]]
    n, missing = len(points[X]), MISSING * memory.real[MOMENTUM]
    for i in range(n):
        row[i] = points[X][i]
        row[n + i] = points[Y][i] if inside == 1 else missing
        row[2 * n + i] = points[Z][i]
    row[3 * n] = memory.real[LEVEL] if inside == 1 else missing
    whole[ROWS] = whole[ROWS] + 1
