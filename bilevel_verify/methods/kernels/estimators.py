"""Gradient estimators: how a scheme learns the gradient of its objective at a point.

All have one signature, so that any scheme takes any of them: ``estimator(P, counts, point, m, t, k)`` leaves the
estimate in ``outer[U]`` (and its inner results in ``inner[Y]``, ``inner[Z]``, ``inner[V]``) and returns ``OK``, or
``OUT_OF_BUDGET`` before it has asked anything. ``k`` is the index of the iteration, or one of the events of
``layout``: an epoch begins, a function value, an exact gradient for a stopping test, the point of an output rule.
"""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.inner import (
    LOWER,
    PENALTY,
    agd,
    conjugate_gradients,
    descent,
    length,
    newton,
    solve_in_place,
)
from bilevel_verify.methods.kernels.layout import (
    BLOCK_G,
    COLD,
    EXACT,
    INNER_SLOPE,
    ITERATIONS,
    LAST,
    NOT_FINITE,
    OK,
    ONE,
    OUT_OF_BUDGET,
    PART,
    RIGHT,
    SPARE,
    START,
    STOPPING,
    STORED_Y,
    STORED_Z,
    V_GIVEN,
    V_START,
    VALUE,
    VALUE_NEW,
    Y_START,
    Memory,
    U,
    V,
    Vector,
    Y,
    Z,
)
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.vectors import copy_into, squared_norm
from bilevel_verify.oracles.convention import BUDGET, CALLS
from bilevel_verify.oracles.counted import (
    ask_grad_f,
    ask_grad_x_f,
    ask_grad_x_g,
    ask_hess_g,
    ask_hvp_yy_g,
    ask_jvp_xy_g,
    ask_value_f,
    ask_value_g,
    stop_grad_f,
    stop_grad_x_f,
    stop_grad_x_g,
    stop_hess_g,
)
from bilevel_verify.oracles.twin import loop


@loop
def too_dear(counts: Vector, cost: int) -> bool:
    """True if ``cost`` more oracle calls would pass the budget."""
    return bool(counts[CALLS] + cost > counts[BUDGET])


# --------------------------------------------------------------------------------------------------- one level


@loop
def exact(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """Single level: the gradient itself, one call."""
    if k == START:
        return OK
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    if k == VALUE:
        ask_value_f(P, counts, point, m.inner[Y], m.scratch)
        m.number[VALUE_NEW] = m.scratch[0]
    elif k == STOPPING:
        stop_grad_f(P, counts, point, m.inner[Y], m.outer[EXACT])
    else:
        ask_grad_f(P, counts, point, m.inner[Y], m.outer[U])
    return OK


# ------------------------------------------------------------------------------------------- implicit gradients


@loop
def implicit_gradient(P: Any, counts: Vector, point: Vector, m: Memory) -> None:
    """outer[U] <- grad_x f - grad_xy g v at (point, y), with grad_x f already in outer[PART] (RAHGD (4))."""
    u, part, product = m.outer[U], m.outer[PART], m.outer[SPARE]
    ask_jvp_xy_g(P, counts, point, m.inner[Y], m.inner[V], product)
    for i in range(len(u)):
        u[i] = part[i] - product[i]


@loop
def both_parts_of_f(P: Any, counts: Vector, point: Vector, y: Vector, m: Memory) -> None:
    """outer[PART] <- grad_x f and inner[RIGHT] <- grad_y f at (point, y): one call."""
    part, right = m.outer[PART], m.inner[RIGHT]
    ask_grad_f(P, counts, point, y, m.joint)
    for i in range(len(part)):
        part[i] = m.joint[i]
    for i in range(len(right)):
        right[i] = m.joint[len(part) + i]


@loop
def hypergradient_for_stopping(P: Any, counts: Vector, point: Vector, m: Memory) -> int:
    """outer[EXACT] <- grad phi(point), y*(point) by Newton; uncounted."""
    y, exact_gradient, right = m.inner[STORED_Y], m.outer[EXACT], m.inner[RIGHT]
    copy_into(m.inner[Y], y)
    if not newton(P, counts, point, y, LOWER, m.number[ONE], m):
        return NOT_FINITE
    stop_grad_f(P, counts, point, y, m.joint)
    stop_hess_g(P, counts, point, y, m.blocks[BLOCK_G])
    dx, dy, g = len(point), len(y), m.blocks[BLOCK_G]
    for i in range(dy):
        right[i] = m.joint[dx + i]
        row = m.square[i]
        for j in range(dy):
            row[j] = g[(dx + i) * (dx + dy) + dx + j]
    if not solve_in_place(m.square, right, dy):
        return NOT_FINITE
    for i in range(dx):
        total = m.joint[i]
        for j in range(dy):
            total = total - g[i * (dx + dy) + dx + j] * right[j]
        exact_gradient[i] = total
    return OK


@loop
def value_at_lower_solution(P: Any, counts: Vector, point: Vector, m: Memory) -> None:
    """number[VALUE_NEW] <- f(point, y), y the inner result in inner[STORED_Y]."""
    ask_value_f(P, counts, point, m.inner[STORED_Y], m.scratch)
    m.number[VALUE_NEW] = m.scratch[0]


@loop
def implicit_agd_cg(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """AGD for y, CG for v (RAHGD Algorithm 3, lines 2, 5-7, 11, 15).

    y starts anew from inner[Y_START] at every epoch and is warm-started within it; v is warm-started throughout.
    Letters alpha, beta; lengths T_m1, T_k, Tp_0, Tp_k.
    """
    alpha, beta = m.letters[0], m.letters[1]
    y, v, one = m.inner[Y], m.inner[V], m.number[ONE]
    if k == START:
        steps = length(m.lengths, 0, t)
        if too_dear(counts, steps):
            return OUT_OF_BUDGET
        copy_into(m.inner[Y_START], y)
        agd(P, counts, point, y, steps, alpha, beta, LOWER, one, m)
        if t == 0 and m.whole[V_GIVEN] == 0:
            copy_into(y, v)
        return OK
    if k == STOPPING:
        return hypergradient_for_stopping(P, counts, point, m)
    steps = length(m.lengths, 1, t)
    if k == VALUE:
        if too_dear(counts, steps + 1):
            return OUT_OF_BUDGET
        copy_into(y, m.inner[STORED_Y])
        agd(P, counts, point, m.inner[STORED_Y], steps, alpha, beta, LOWER, one, m)
        value_at_lower_solution(P, counts, point, m)
        return OK
    cg_steps = length(m.lengths, 2, t) if k == 0 else length(m.lengths, 3, t)
    if too_dear(counts, steps + cg_steps + 3):
        return OUT_OF_BUDGET
    agd(P, counts, point, y, steps, alpha, beta, LOWER, one, m)
    both_parts_of_f(P, counts, point, y, m)
    conjugate_gradients(P, counts, point, y, m.inner[RIGHT], cg_steps, v, m)
    implicit_gradient(P, counts, point, m)
    return OK


@loop
def implicit_gd_cg(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """D gradient steps for y, N_cg conjugate gradient steps for v, both warm-started (AID-BiO). Letter alpha."""
    alpha, y, one = m.letters[0], m.inner[Y], m.number[ONE]
    steps, cg_steps = length(m.lengths, 0, t), length(m.lengths, 1, t)
    if k == START:
        return OK
    if k == STOPPING:
        return hypergradient_for_stopping(P, counts, point, m)
    if too_dear(counts, steps + cg_steps + 3):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        descent(P, counts, point, m.inner[STORED_Y], steps, alpha, LOWER, one, m)
        value_at_lower_solution(P, counts, point, m)
        return OK
    descent(P, counts, point, y, steps, alpha, LOWER, one, m)
    both_parts_of_f(P, counts, point, y, m)
    conjugate_gradients(P, counts, point, y, m.inner[RIGHT], cg_steps, m.inner[V], m)
    implicit_gradient(P, counts, point, m)
    return OK


@loop
def growing_length(c: Any, k: int, m: Memory) -> int:
    """ceil(c (k+1)^(1/4)), the fourth root as two square roots (exact for fourth powers)."""
    wanted = c * square_root(square_root(m.number[ONE] * (k + 1)))
    steps = int(wanted)
    return steps + 1 if steps < wanted else steps


@loop
def implicit_ba(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """BA: y by ceil(c (k+1)^(1/4)) gradient steps, warm-started (with ``COLD`` from inner[Y_START] at every k).

    The linear system is solved exactly with the Hessian (one call ``hess_g``), or by N_cg conjugate gradient steps
    from 0 where the length N_cg is given (BA-CG; a negative length means: exactly). Letters beta, c.
    """
    beta, c = m.letters[0], m.letters[1]
    y, v, one = m.inner[Y], m.inner[V], m.number[ONE]
    cg_steps = length(m.lengths, 0, t)
    if k == START:
        return OK
    if k == STOPPING:
        return hypergradient_for_stopping(P, counts, point, m)
    steps = growing_length(c, m.whole[ITERATIONS] if k < 0 else k, m)
    if too_dear(counts, steps + max(cg_steps, 0) + 3):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y if m.whole[COLD] == 0 else m.inner[Y_START], m.inner[STORED_Y])
        descent(P, counts, point, m.inner[STORED_Y], steps, beta, LOWER, one, m)
        value_at_lower_solution(P, counts, point, m)
        return OK
    if m.whole[COLD] == 1:
        copy_into(m.inner[Y_START], y)
    descent(P, counts, point, y, steps, beta, LOWER, one, m)
    both_parts_of_f(P, counts, point, y, m)
    if cg_steps >= 0:
        copy_into(m.inner[V_START], v)
        conjugate_gradients(P, counts, point, y, m.inner[RIGHT], cg_steps, v, m)
        implicit_gradient(P, counts, point, m)
        return OK
    ask_hess_g(P, counts, point, y, m.blocks[BLOCK_G])
    dx, dy, g, u = len(point), len(y), m.blocks[BLOCK_G], m.outer[U]
    copy_into(m.inner[RIGHT], v)
    for i in range(dy):
        row = m.square[i]
        for j in range(dy):
            row[j] = g[(dx + i) * (dx + dy) + dx + j]
    if not solve_in_place(m.square, v, dy):
        return NOT_FINITE
    for i in range(dx):
        total = m.outer[PART][i]
        for j in range(dy):
            total = total - g[i * (dx + dy) + dx + j] * v[j]
        u[i] = total
    return OK


# ----------------------------------------------------------------------------------------------------- unrolled


@loop
def unrolled(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """ITD: D gradient steps for y, then the exact derivative of f after them, by the backward recursion.

    The warm start counts as a constant. D Jacobian- and D Hessian-vector products. Letter alpha, length D.
    """
    alpha, y, one = m.letters[0], m.inner[Y], m.number[ONE]
    steps = length(m.lengths, 0, t)
    if k == START:
        return OK
    if k == STOPPING:
        return hypergradient_for_stopping(P, counts, point, m)
    if too_dear(counts, 3 * steps + 1):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        descent(P, counts, point, m.inner[STORED_Y], steps, alpha, LOWER, one, m)
        value_at_lower_solution(P, counts, point, m)
        return OK
    for j in range(steps):
        copy_into(y, m.tape[j])
        descent(P, counts, point, y, 1, alpha, LOWER, one, m)
    both_parts_of_f(P, counts, point, y, m)
    u, p, product, spare = m.outer[U], m.inner[RIGHT], m.inner[STORED_Z], m.outer[SPARE]
    copy_into(m.outer[PART], u)
    for back in range(steps):
        j = steps - 1 - back
        ask_jvp_xy_g(P, counts, point, m.tape[j], p, spare)
        for i in range(len(u)):
            u[i] = u[i] - alpha * spare[i]
        ask_hvp_yy_g(P, counts, point, m.tape[j], p, product)
        for i in range(len(p)):
            p[i] = p[i] - alpha * product[i]
    return OK


# ------------------------------------------------------------------------------------------------------ penalty


@loop
def penalty_gradient(P: Any, counts: Vector, point: Vector, y: Vector, z: Vector, lam: Any, m: Memory) -> None:
    """outer[U] <- grad_x f(x, y) + lam (grad_x g(x, y) - grad_x g(x, z)) (RAGD-GS Algorithm 1, line 6)."""
    u, at_y, at_z = m.outer[U], m.outer[PART], m.outer[SPARE]
    ask_grad_x_f(P, counts, point, y, u)
    ask_grad_x_g(P, counts, point, y, at_y)
    ask_grad_x_g(P, counts, point, z, at_z)
    for i in range(len(u)):
        u[i] = u[i] + lam * (at_y[i] - at_z[i])


@loop
def penalty_value(P: Any, counts: Vector, point: Vector, lam: Any, m: Memory) -> None:
    """number[VALUE_NEW] <- f(x, y) + lam (g(x, y) - g(x, z)) with the stored y and z."""
    ask_value_f(P, counts, point, m.inner[STORED_Y], m.scratch)
    value = m.scratch[0]
    ask_value_g(P, counts, point, m.inner[STORED_Y], m.scratch)
    difference = m.scratch[0]
    ask_value_g(P, counts, point, m.inner[STORED_Z], m.scratch)
    m.number[VALUE_NEW] = value + lam * (difference - m.scratch[0])


@loop
def penalty_for_stopping(P: Any, counts: Vector, point: Vector, lam: Any, m: Memory) -> int:
    """outer[EXACT] <- grad L*_lambda(point), y*_lambda and y* by Newton; uncounted."""
    y, z = m.inner[STORED_Y], m.inner[STORED_Z]
    copy_into(m.inner[Y], y)
    copy_into(m.inner[Z], z)
    if not newton(P, counts, point, z, LOWER, lam, m) or not newton(P, counts, point, y, PENALTY, lam, m):
        return NOT_FINITE
    total, at_y, at_z = m.outer[EXACT], m.outer[PART], m.outer[SPARE]
    stop_grad_x_f(P, counts, point, y, total)
    stop_grad_x_g(P, counts, point, y, at_y)
    stop_grad_x_g(P, counts, point, z, at_z)
    for i in range(len(total)):
        total[i] = total[i] + lam * (at_y[i] - at_z[i])
    return OK


@loop
def penalty_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """AGD for z on g, then AGD for y on f + lam g (RAGD-GS Algorithm 1, lines 4-6; AccF2BA).

    Letters alpha, beta (z), alpha_p, beta_p (y), lam; lengths T_0, T_k, Tp_0, Tp_k. With ``COLD`` y and z start anew
    from inner[Y_START] at every epoch (RAGD-GS), without it warm starts go on across restarts (AccF2BA).
    """
    alpha, beta, alpha_p, beta_p, lam = m.letters[0], m.letters[1], m.letters[2], m.letters[3], m.letters[4]
    y, z = m.inner[Y], m.inner[Z]
    if k == START:
        if t > 0 and m.whole[COLD] == 1:
            copy_into(m.inner[Y_START], y)
            copy_into(m.inner[Y_START], z)
        return OK
    if k == STOPPING:
        return penalty_for_stopping(P, counts, point, lam, m)
    first = 0 if k == 0 else 1
    z_steps, y_steps = length(m.lengths, first, t), length(m.lengths, 2 + first, t)
    if too_dear(counts, z_steps + 2 * y_steps + 3):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        copy_into(z, m.inner[STORED_Z])
        agd(P, counts, point, m.inner[STORED_Z], z_steps, alpha, beta, LOWER, lam, m)
        agd(P, counts, point, m.inner[STORED_Y], y_steps, alpha_p, beta_p, PENALTY, lam, m)
        penalty_value(P, counts, point, lam, m)
        return OK
    agd(P, counts, point, z, z_steps, alpha, beta, LOWER, lam, m)
    agd(P, counts, point, y, y_steps, alpha_p, beta_p, PENALTY, lam, m)
    penalty_gradient(P, counts, point, y, z, lam, m)
    return OK


@loop
def penalty_gd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """K gradient steps for z on g and for y on f + lam g, warm-started (F2BA). Letters alpha, tau, lam; length K."""
    alpha, tau, lam = m.letters[0], m.letters[1], m.letters[2]
    y, z = m.inner[Y], m.inner[Z]
    steps = length(m.lengths, 0, t)
    if k == START:
        return OK
    if k == STOPPING:
        return penalty_for_stopping(P, counts, point, lam, m)
    if too_dear(counts, 3 * steps + 3):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        copy_into(z, m.inner[STORED_Z])
        descent(P, counts, point, m.inner[STORED_Z], steps, alpha, LOWER, lam, m)
        descent(P, counts, point, m.inner[STORED_Y], steps, tau, PENALTY, lam, m)
        penalty_value(P, counts, point, lam, m)
        return OK
    descent(P, counts, point, z, steps, alpha, LOWER, lam, m)
    descent(P, counts, point, y, steps, tau, PENALTY, lam, m)
    penalty_gradient(P, counts, point, y, z, lam, m)
    return OK


# ------------------------------------------------------------------------------------------------------ minimax


@loop
def danskin_for_stopping(P: Any, counts: Vector, point: Vector, m: Memory) -> int:
    """outer[EXACT] <- grad Phi(point) of a minimax problem, y*(point) by Newton; uncounted."""
    y = m.inner[STORED_Y]
    copy_into(m.inner[Y], y)
    if not newton(P, counts, point, y, LOWER, m.number[ONE], m):
        return NOT_FINITE
    stop_grad_x_f(P, counts, point, y, m.outer[EXACT])
    return OK


@loop
def danskin_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """AGD on -f(x, .), then grad_x f (PRAGDA Algorithm 4, lines 3, 6, 7, 13).

    Letters alpha, beta; lengths T_m1, T_k.
    """
    alpha, beta = m.letters[0], m.letters[1]
    y, one = m.inner[Y], m.number[ONE]
    if k == STOPPING:
        return danskin_for_stopping(P, counts, point, m)
    steps = length(m.lengths, 0 if k == START else 1, t)
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    if k == START:
        copy_into(m.inner[Y_START], y)
        agd(P, counts, point, y, steps, alpha, beta, LOWER, one, m)
    elif k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        agd(P, counts, point, m.inner[STORED_Y], steps, alpha, beta, LOWER, one, m)
        value_at_lower_solution(P, counts, point, m)
    else:
        agd(P, counts, point, y, steps, alpha, beta, LOWER, one, m)
        ask_grad_x_f(P, counts, point, y, m.outer[U])
    return OK


@loop
def danskin_gd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """Several ascent steps, warm-started, then grad_x f (GDmax). Letter eta_y; length D."""
    eta_y, y, one = m.letters[0], m.inner[Y], m.number[ONE]
    if k == START:
        return OK
    if k == STOPPING:
        return danskin_for_stopping(P, counts, point, m)
    steps = length(m.lengths, 0, t)
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        descent(P, counts, point, m.inner[STORED_Y], steps, eta_y, LOWER, one, m)
        value_at_lower_solution(P, counts, point, m)
    else:
        descent(P, counts, point, y, steps, eta_y, LOWER, one, m)
        ask_grad_x_f(P, counts, point, y, m.outer[U])
    return OK


@loop
def danskin_simultaneous(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """One call for both parts at (x_k, y_k), then y_{k+1} = y_k + eta_y grad_y f(x_k, y_k) (GDA). Letter eta_y."""
    eta_y, y = m.letters[0], m.inner[Y]
    if k == START:
        return OK
    if k == STOPPING:
        return danskin_for_stopping(P, counts, point, m)
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    if k == VALUE:
        copy_into(y, m.inner[STORED_Y])
        value_at_lower_solution(P, counts, point, m)
        return OK
    both_parts_of_f(P, counts, point, y, m)
    copy_into(m.outer[PART], m.outer[U])
    m.number[INNER_SLOPE] = squared_norm(m.inner[RIGHT])
    if k != LAST:
        right = m.inner[RIGHT]
        for i in range(len(y)):
            y[i] = y[i] + eta_y * right[i]
    return OK
