"""The methods beside AGM-BiO as loops in the three forms (agm-bio sheet, 3.5): a pass each, and what passes share.

They work on the memory of :mod:`bilevel_verify.methods.simple.loops`; the letters of a method stand behind its reals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.vectors import dot
from bilevel_verify.methods.simple.loops import (
    DIVERGED,
    FINISHED,
    MISSING,
    MORE,
    MOST,
    NOT_FINITE,
    OUT_OF_BUDGET,
    PASSES,
    REALS,
    ROWS,
    SET,
    SIZE,
    STEP,
    WEIGHT,
    SimpleMemory,
)
from bilevel_verify.methods.simple.loops import MOMENTUM as T
from bilevel_verify.methods.simple.sets import GRADIENT, NEXT, NORMAL, SUMS, TARGET, UNIT, U, X, Y, project_onto
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_grad_f, ask_grad_g, ask_value_g, lacks
from bilevel_verify.oracles.jit import loop

if TYPE_CHECKING:
    from collections.abc import Sequence

FAR = 1e150
"""Iterates beyond this size have diverged."""
AVERAGE = U
FIRST, SECOND, THIRD, FOURTH = range(REALS, REALS + 4)
"""Places of the letters of a method."""


@loop
def note(memory: SimpleMemory, with_y: bool) -> None:
    """A row of the trace: x, and y where the method has it (it may not have one yet)."""
    whole, points = memory.whole, memory.points
    row: Vector = memory.trace[whole[ROWS]]
    n = len(points[X])
    for i in range(n):
        row[i] = points[X][i]
    for i in range(n, len(row)):
        row[i] = points[Y][i - n] if with_y else MISSING * memory.real[T]
    whole[ROWS] = whole[ROWS] + 1


@loop
def begin_pass(memory: SimpleMemory) -> int:
    """0, or why there is no further pass now."""
    whole = memory.whole
    if whole[STEP] >= whole[PASSES]:
        return FINISHED
    if whole[STEP] >= whole[MOST]:
        return OUT_OF_BUDGET
    if whole[ROWS] >= len(memory.trace) - 1:  # the end of a run adds its last row
        return MORE
    return 0


@loop
def end_pass(memory: SimpleMemory) -> int:
    """x_k is there: 0, or what is wrong with it."""
    x, largest = memory.points[X], 0.0
    memory.whole[STEP] = memory.whole[STEP] + 1
    for i in range(len(x)):
        if x[i] - x[i] != 0.0:
            return NOT_FINITE
        largest = max(largest, abs(x[i]))
    return DIVERGED if largest > FAR else 0


@loop
def gradient_f(P: OracleSet, counts: Counts, points: Sequence[Vector], place: int) -> bool:
    """GRADIENT <- that of f at a row; False if no call is left."""
    if lacks(counts, 1):
        return False
    ask_grad_f(P, counts, points[place], points[UNIT][0:0], points[GRADIENT])
    return True


@loop
def gradient_g(P: OracleSet, counts: Counts, points: Sequence[Vector], place: int) -> bool:
    """NORMAL <- the gradient of g at a row; False if no call is left."""
    if lacks(counts, 1):
        return False
    ask_grad_g(P, counts, points[place], points[UNIT][0:0], points[NORMAL])
    return True


@loop
def averaged_irg(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """a-IRG: iteratively regularised projected gradients, and their weighted average.

    Letters: gamma_0, eta_0, b, rho.
    """
    whole, real, points = memory.whole, memory.real, memory.points
    if whole[STEP] == 0:
        real[WEIGHT] = real[FIRST] ** real[FOURTH]
    end = begin_pass(memory)
    while end == 0:
        k = whole[STEP]
        note(memory, False)
        if not (gradient_g(P, counts, points, X) and gradient_f(P, counts, points, X)):
            return OUT_OF_BUDGET
        gamma, eta = real[FIRST] / square_root(k + 1.0), real[SECOND] / (k + 1.0) ** real[THIRD]
        for i in range(len(points[X])):
            points[TARGET][i] = points[X][i] - gamma * (points[NORMAL][i] + eta * points[GRADIENT][i])
        project_onto(whole[SET], real[SIZE], points, TARGET)
        weight = (real[FIRST] / square_root(k + 2.0)) ** real[FOURTH]
        total = real[WEIGHT] + weight
        for i in range(len(points[X])):
            points[X][i] = points[NEXT][i]
            points[AVERAGE][i] = (real[WEIGHT] * points[AVERAGE][i] + weight * points[X][i]) / total
        real[WEIGHT] = total
        end = end_pass(memory)
        if end == 0:
            end = begin_pass(memory)
    return end


@loop
def bi_sg(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """Bi-SG: a projected step on g, then a free step on f; the y-iterates stay in Z. Letters: t, c, alpha."""
    whole, real, points = memory.whole, memory.real, memory.points
    end = begin_pass(memory)
    while end == 0:
        note(memory, whole[STEP] > 0)
        if not gradient_g(P, counts, points, X):
            return OUT_OF_BUDGET
        for i in range(len(points[X])):
            points[TARGET][i] = points[X][i] - real[FIRST] * points[NORMAL][i]
        project_onto(whole[SET], real[SIZE], points, TARGET)
        for i in range(len(points[X])):
            points[Y][i] = points[NEXT][i]
        if not gradient_f(P, counts, points, Y):
            return OUT_OF_BUDGET
        eta = real[SECOND] / (whole[STEP] + 1.0) ** real[THIRD]
        for i in range(len(points[X])):
            points[X][i] = points[Y][i] - eta * points[GRADIENT][i]
        end = end_pass(memory)
        if end == 0:
            end = begin_pass(memory)
    return end


@loop
def big_sam(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """BiG-SAM: a convex combination of a step on f and a projected step on g, ``alpha_{k+1} = min(c/(k+1), 1)``.

    Letters: t, s, c.
    """
    whole, real, points = memory.whole, memory.real, memory.points
    end = begin_pass(memory)
    while end == 0:
        note(memory, False)
        if not (gradient_g(P, counts, points, X) and gradient_f(P, counts, points, X)):
            return OUT_OF_BUDGET
        for i in range(len(points[X])):
            points[TARGET][i] = points[X][i] - real[FIRST] * points[NORMAL][i]
        project_onto(whole[SET], real[SIZE], points, TARGET)
        alpha = min(real[THIRD] / (whole[STEP] + 1.0), 1.0)
        for i in range(len(points[X])):
            free = points[X][i] - real[SECOND] * points[GRADIENT][i]
            points[X][i] = alpha * free + (1.0 - alpha) * points[NEXT][i]
        end = end_pass(memory)
        if end == 0:
            end = begin_pass(memory)
    return end


@loop
def accelerated(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """FISTA on a weighted sum of g and f: R-APM and PB-APG. Letters: weight of g, weight of f, step."""
    whole, real, points = memory.whole, memory.real, memory.points
    end = begin_pass(memory)
    while end == 0:
        note(memory, True)
        if not (gradient_g(P, counts, points, Y) and gradient_f(P, counts, points, Y)):
            return OUT_OF_BUDGET
        for i in range(len(points[X])):
            slope = real[FIRST] * points[NORMAL][i] + real[SECOND] * points[GRADIENT][i]
            points[TARGET][i] = points[Y][i] - real[THIRD] * slope
        project_onto(whole[SET], real[SIZE], points, TARGET)
        later = (1.0 + square_root(1.0 + 4.0 * real[T] * real[T])) / 2.0
        momentum = (real[T] - 1.0) / later
        for i in range(len(points[X])):
            points[Y][i] = points[NEXT][i] + momentum * (points[NEXT][i] - points[X][i])
            points[X][i] = points[NEXT][i]
        real[T] = later
        end = end_pass(memory)
        if end == 0:
            end = begin_pass(memory)
    return end


@loop
def dbgd(P: OracleSet, counts: Counts, memory: SimpleMemory) -> int:
    """DBGD: descent on f as far as it does not spoil g, ``phi = min(a (g - g_hat), b |grad g|^2)``.

    Letters: s, a, b, g_hat.
    """
    whole, real, points = memory.whole, memory.real, memory.points
    end = begin_pass(memory)
    while end == 0:
        note(memory, False)
        if not (gradient_f(P, counts, points, X) and gradient_g(P, counts, points, X)):
            return OUT_OF_BUDGET
        square, weight = dot(points[NORMAL], points[NORMAL]), 0.0 * real[FIRST]
        if square > 0.0:
            if lacks(counts, 1):
                return OUT_OF_BUDGET
            ask_value_g(P, counts, points[X], points[UNIT][0:0], points[SUMS])
            phi = min(real[SECOND] * (points[SUMS][0] - real[FOURTH]), real[THIRD] * square)
            weight = max((phi - dot(points[GRADIENT], points[NORMAL])) / square, 0.0)
        for i in range(len(points[X])):
            slope = points[GRADIENT][i] + weight * points[NORMAL][i]
            points[TARGET][i] = points[X][i] - real[FIRST] * slope
        project_onto(whole[SET], real[SIZE], points, TARGET)
        for i in range(len(points[X])):
            points[X][i] = points[NEXT][i]
        end = end_pass(memory)
        if end == 0:
            end = begin_pass(memory)
    return end
