"""Function values and exact gradients of the objective, for the schemes that ask for them.

Same signature as the estimators. ``value_*`` leave the value in ``real[VALUE_NEW]``, inner solutions by the estimator's
own inner solver from its current warm start, which stays as it is. ``exact_*`` leave the gradient in ``outer[EXACT]``,
inner solutions by Newton to the precision of the arithmetic; they serve stopping tests and count under ``stop_*``.
"""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.gradients import growing_length, too_dear
from bilevel_verify.methods.kernels.inner import (
    LOWER,
    PENALTY,
    agd,
    descent,
    length,
    newton,
    solve_in_place,
)
from bilevel_verify.methods.kernels.layout import (
    BLOCK_G,
    COLD,
    EXACT,
    ITERATIONS,
    LETTERS,
    MATRIX,
    NOT_FINITE,
    OK,
    ONE,
    OUT_OF_BUDGET,
    PART,
    RIGHT,
    SPARE,
    STORED_Y,
    STORED_Z,
    VALUE_NEW,
    Y_START,
    Memory,
    Vector,
    Y,
    Z,
)
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.oracles.counted import (
    ask_value_f,
    ask_value_g,
    stop_grad_f,
    stop_grad_x_f,
    stop_grad_x_g,
    stop_hess_g,
)
from bilevel_verify.oracles.jit import loop


@loop
def value_exact(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """Single level: f(point), one call."""
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    ask_value_f(P, counts, point, m.inner[Y], m.joint)
    m.real[VALUE_NEW] = m.joint[0]
    return OK


@loop
def value_after_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """f(point, y), y by T_k steps of AGD on the lower level. Letters alpha, beta; T_k is the second length."""
    steps, y = length(m.whole, 1, t), m.inner[STORED_Y]
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    copy_into(m.inner[Y], y)
    agd(P, counts, point, y, steps, m.real[LETTERS], m.real[LETTERS + 1], LOWER, m.real[ONE], m)
    ask_value_f(P, counts, point, y, m.joint)
    m.real[VALUE_NEW] = m.joint[0]
    return OK


@loop
def value_after_descent(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """f(point, y), y by D steps of gradient descent on the lower level; the step is the first letter."""
    steps, y = length(m.whole, 0, t), m.inner[STORED_Y]
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    copy_into(m.inner[Y], y)
    descent(P, counts, point, y, steps, m.real[LETTERS], LOWER, m.real[ONE], m)
    ask_value_f(P, counts, point, y, m.joint)
    m.real[VALUE_NEW] = m.joint[0]
    return OK


@loop
def value_as_it_is(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """f(point, y) with y as it is (single-loop methods)."""
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    ask_value_f(P, counts, point, m.inner[Y], m.joint)
    m.real[VALUE_NEW] = m.joint[0]
    return OK


@loop
def value_after_ba(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """f(point, y), y by the growing number of gradient steps of BA."""
    steps, y = growing_length(m.real[LETTERS + 1], m.whole[ITERATIONS], m), m.inner[STORED_Y]
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    copy_into(m.inner[Y_START] if m.whole[COLD] == 1 else m.inner[Y], y)
    descent(P, counts, point, y, steps, m.real[LETTERS], LOWER, m.real[ONE], m)
    ask_value_f(P, counts, point, y, m.joint)
    m.real[VALUE_NEW] = m.joint[0]
    return OK


@loop
def penalty_value(P: Any, counts: Vector, point: Vector, lam: Any, m: Memory) -> int:
    """real[VALUE_NEW] <- f(x, y) + lam (g(x, y) - g(x, z)) with the stored y and z: three values."""
    ask_value_f(P, counts, point, m.inner[STORED_Y], m.joint)
    value = m.joint[0]
    ask_value_g(P, counts, point, m.inner[STORED_Y], m.joint)
    difference = m.joint[0]
    ask_value_g(P, counts, point, m.inner[STORED_Z], m.joint)
    m.real[VALUE_NEW] = value + lam * (difference - m.joint[0])
    return OK


@loop
def value_penalty_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """L*_lambda(point) with the inner lengths of k >= 1."""
    y, z, real, lam = m.inner[STORED_Y], m.inner[STORED_Z], m.real, m.real[LETTERS + 4]
    z_steps, y_steps = length(m.whole, 1, t), length(m.whole, 3, t)
    if too_dear(counts, z_steps + 2 * y_steps + 3):
        return OUT_OF_BUDGET
    copy_into(m.inner[Y], y)
    copy_into(m.inner[Z], z)
    agd(P, counts, point, z, z_steps, real[LETTERS], real[LETTERS + 1], LOWER, lam, m)
    agd(P, counts, point, y, y_steps, real[LETTERS + 2], real[LETTERS + 3], PENALTY, lam, m)
    return penalty_value(P, counts, point, lam, m)


@loop
def value_penalty_gd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """L*_lambda(point) with gradient descent inside."""
    y, z, lam, steps = m.inner[STORED_Y], m.inner[STORED_Z], m.real[LETTERS + 2], length(m.whole, 0, t)
    if too_dear(counts, 3 * steps + 3):
        return OUT_OF_BUDGET
    copy_into(m.inner[Y], y)
    copy_into(m.inner[Z], z)
    descent(P, counts, point, z, steps, m.real[LETTERS], LOWER, lam, m)
    descent(P, counts, point, y, steps, m.real[LETTERS + 1], PENALTY, lam, m)
    return penalty_value(P, counts, point, lam, m)


# ---------------------------------------------------------------------------------------------- exact gradients


@loop
def exact_itself(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """Single level: grad f(point)."""
    stop_grad_f(P, counts, point, m.inner[Y], m.outer[EXACT])
    return OK


@loop
def exact_hypergradient(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """grad phi(point) by the implicit function theorem at y*(point)."""
    y, right, g = m.inner[STORED_Y], m.inner[RIGHT], m.blocks[BLOCK_G]
    copy_into(m.inner[Y], y)
    if not newton(P, counts, point, y, LOWER, m.real[ONE], m):
        return NOT_FINITE
    stop_grad_f(P, counts, point, y, m.joint)
    stop_hess_g(P, counts, point, y, g)
    dx, n = len(point), len(point) + len(y)
    for i in range(len(y)):
        right[i] = m.joint[dx + i]
        row = m.inner[MATRIX + i]
        for j in range(len(y)):
            row[j] = g[(dx + i) * n + dx + j]
    if not solve_in_place(m.inner, MATRIX, right):
        return NOT_FINITE
    for i in range(dx):
        total = m.joint[i]
        for j in range(len(y)):
            total = total - g[i * n + dx + j] * right[j]
        m.outer[EXACT][i] = total
    return OK


@loop
def exact_penalty(P: Any, counts: Vector, point: Vector, m: Memory, lam: Any) -> int:
    """grad L*_lambda(point) at y*_lambda(point) and y*(point)."""
    y, z, total, at_y, at_z = m.inner[STORED_Y], m.inner[STORED_Z], m.outer[EXACT], m.outer[PART], m.outer[SPARE]
    copy_into(m.inner[Y], y)
    copy_into(m.inner[Z], z)
    if not newton(P, counts, point, z, LOWER, lam, m) or not newton(P, counts, point, y, PENALTY, lam, m):
        return NOT_FINITE
    stop_grad_x_f(P, counts, point, y, total)
    stop_grad_x_g(P, counts, point, y, at_y)
    stop_grad_x_g(P, counts, point, z, at_z)
    for i in range(len(total)):
        total[i] = total[i] + lam * (at_y[i] - at_z[i])
    return OK


@loop
def exact_penalty_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """:func:`exact_penalty` with lam as the fifth letter."""
    return exact_penalty(P, counts, point, m, m.real[LETTERS + 4])


@loop
def exact_penalty_gd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """:func:`exact_penalty` with lam as the third letter."""
    return exact_penalty(P, counts, point, m, m.real[LETTERS + 2])


@loop
def exact_danskin(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """grad Phi(point) of a minimax problem: grad_x f at the inner solution."""
    y = m.inner[STORED_Y]
    copy_into(m.inner[Y], y)
    if not newton(P, counts, point, y, LOWER, m.real[ONE], m):
        return NOT_FINITE
    stop_grad_x_f(P, counts, point, y, m.outer[EXACT])
    return OK
