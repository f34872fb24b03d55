"""Gradient estimators: how a scheme learns the gradient of its objective at a point.

All have one signature, so that any scheme takes any of them: ``estimate(P, counts, point, m, t, k)`` leaves the
estimate in ``outer[U]`` (and its inner results in ``inner[Y]``, ``inner[Z]``, ``inner[V]``) and returns ``OK``, or
``OUT_OF_BUDGET`` before it has asked anything. ``k`` is the index of the iteration, or ``START`` (an epoch begins at
this point) or ``LAST`` (a point of an output rule). Values and exact gradients are in ``values``.
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
    solve_in_place,
)
from bilevel_verify.methods.kernels.layout import (
    BLOCK_G,
    COLD,
    INNER_SLOPE,
    LAST,
    LETTERS,
    MATRIX,
    NOT_FINITE,
    OK,
    ONE,
    OUT_OF_BUDGET,
    PART,
    RIGHT,
    SPARE,
    START,
    STORED_Z,
    V_GIVEN,
    V_START,
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
)
from bilevel_verify.oracles.jit import loop


@loop
def too_dear(counts: Vector, cost: int) -> bool:
    """True if ``cost`` more oracle calls would pass the budget."""
    return bool(counts[CALLS] + cost > counts[BUDGET])


@loop
def exact(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """Single level: the gradient itself, one call."""
    if k == START:
        return OK
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    ask_grad_f(P, counts, point, m.inner[Y], m.outer[U])
    return OK


# ------------------------------------------------------------------------------------------- implicit gradients


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
def implicit_gradient(P: Any, counts: Vector, point: Vector, cg_steps: int, m: Memory) -> int:
    """outer[U] <- grad_x f - grad_xy g v at (point, y), v by CG from inner[V] (RAHGD Algorithm 3, lines 6-7)."""
    y, v, u = m.inner[Y], m.inner[V], m.outer[U]
    both_parts_of_f(P, counts, point, y, m)
    conjugate_gradients(P, counts, point, y, m.inner[RIGHT], cg_steps, v, m)
    part, product = m.outer[PART], m.outer[SPARE]
    ask_jvp_xy_g(P, counts, point, y, v, product)
    for i in range(len(u)):
        u[i] = part[i] - product[i]
    return OK


@loop
def implicit_agd_cg(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """AGD for y, CG for v (RAHGD Algorithm 3, lines 2, 5-7, 11, 15).

    y starts anew from inner[Y_START] at every epoch and is warm-started within it; v is warm-started throughout.
    Letters alpha, beta; lengths T_m1, T_k, Tp_0, Tp_k.
    """
    y, whole = m.inner[Y], m.whole
    steps = length(whole, 0 if k == START else 1, t)
    cg_steps = length(whole, 2 if k == 0 else 3, t)
    if too_dear(counts, steps if k == START else steps + cg_steps + 3):
        return OUT_OF_BUDGET
    if k == START:
        copy_into(m.inner[Y_START], y)
    agd(P, counts, point, y, steps, m.real[LETTERS], m.real[LETTERS + 1], LOWER, m.real[ONE], m)
    if k != START:
        return implicit_gradient(P, counts, point, cg_steps, m)
    if t == 0 and whole[V_GIVEN] == 0:
        copy_into(y, m.inner[V])
    return OK


@loop
def implicit_gd_cg(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """D gradient steps for y, N_cg conjugate gradient steps for v, both warm-started (AID-BiO). Letter alpha."""
    if k == START:
        return OK
    steps, cg_steps = length(m.whole, 0, t), length(m.whole, 1, t)
    if too_dear(counts, steps + cg_steps + 3):
        return OUT_OF_BUDGET
    descent(P, counts, point, m.inner[Y], steps, m.real[LETTERS], LOWER, m.real[ONE], m)
    return implicit_gradient(P, counts, point, cg_steps, m)


@loop
def growing_length(c: Any, k: int, m: Memory) -> int:
    """ceil(c (k+1)^(1/4)), the fourth root as two square roots (exact for fourth powers)."""
    wanted = c * square_root(square_root(m.real[ONE] * (k + 1)))
    steps = int(wanted)
    return steps + 1 if steps < wanted else steps


@loop
def solve_system(P: Any, counts: Vector, point: Vector, m: Memory) -> int:
    """outer[U] <- the hypergradient at (point, y) with the system solved exactly; one Hessian (BA)."""
    y, v, u, g = m.inner[Y], m.inner[V], m.outer[U], m.blocks[BLOCK_G]
    dx, n = len(point), len(point) + len(y)
    both_parts_of_f(P, counts, point, y, m)
    ask_hess_g(P, counts, point, y, g)
    copy_into(m.inner[RIGHT], v)
    for i in range(len(y)):
        row = m.inner[MATRIX + i]
        for j in range(len(y)):
            row[j] = g[(dx + i) * n + dx + j]
    if not solve_in_place(m.inner, MATRIX, v):
        return NOT_FINITE
    for i in range(dx):
        total = m.outer[PART][i]
        for j in range(len(y)):
            total = total - g[i * n + dx + j] * v[j]
        u[i] = total
    return OK


@loop
def implicit_ba(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """BA: y by ceil(c (k+1)^(1/4)) gradient steps, warm-started (with ``COLD`` from inner[Y_START] at every k).

    The linear system is solved exactly with the Hessian (one call ``hess_g``), or by N_cg conjugate gradient steps
    from inner[V_START] where the length N_cg is given (BA-CG; a negative length means: exactly). Letters beta, c.
    """
    if k == START:
        return OK
    cg_steps = length(m.whole, 0, t)
    steps = growing_length(m.real[LETTERS + 1], max(k, 0), m)
    if too_dear(counts, steps + max(cg_steps, 0) + 3):
        return OUT_OF_BUDGET
    if m.whole[COLD] == 1:
        copy_into(m.inner[Y_START], m.inner[Y])
    descent(P, counts, point, m.inner[Y], steps, m.real[LETTERS], LOWER, m.real[ONE], m)
    if cg_steps < 0:
        return solve_system(P, counts, point, m)
    copy_into(m.inner[V_START], m.inner[V])
    return implicit_gradient(P, counts, point, cg_steps, m)


# ----------------------------------------------------------------------------------------------------- unrolled


@loop
def unrolled(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """ITD: D gradient steps for y, then the exact derivative of f after them, by the backward recursion.

    The warm start counts as a constant. D Jacobian- and D Hessian-vector products. Letter alpha, length D.
    """
    if k == START:
        return OK
    alpha, y, steps = m.real[LETTERS], m.inner[Y], length(m.whole, 0, t)
    tape = len(m.inner) - steps
    if too_dear(counts, 3 * steps + 1):
        return OUT_OF_BUDGET
    for j in range(steps):
        copy_into(y, m.inner[tape + j])
        descent(P, counts, point, y, 1, alpha, LOWER, m.real[ONE], m)
    both_parts_of_f(P, counts, point, y, m)
    u, p, product, spare = m.outer[U], m.inner[RIGHT], m.inner[STORED_Z], m.outer[SPARE]
    copy_into(m.outer[PART], u)
    for back in range(steps):
        j = steps - 1 - back
        ask_jvp_xy_g(P, counts, point, m.inner[tape + j], p, spare)
        for i in range(len(u)):
            u[i] = u[i] - alpha * spare[i]
        ask_hvp_yy_g(P, counts, point, m.inner[tape + j], p, product)
        for i in range(len(p)):
            p[i] = p[i] - alpha * product[i]
    return OK


# ------------------------------------------------------------------------------------------------------ penalty


@loop
def penalty_gradient(P: Any, counts: Vector, point: Vector, lam: Any, m: Memory) -> int:
    """outer[U] <- grad_x f(x, y) + lam (grad_x g(x, y) - grad_x g(x, z)) (RAGD-GS Algorithm 1, line 6)."""
    u, at_y, at_z = m.outer[U], m.outer[PART], m.outer[SPARE]
    ask_grad_x_f(P, counts, point, m.inner[Y], u)
    ask_grad_x_g(P, counts, point, m.inner[Y], at_y)
    ask_grad_x_g(P, counts, point, m.inner[Z], at_z)
    for i in range(len(u)):
        u[i] = u[i] + lam * (at_y[i] - at_z[i])
    return OK


@loop
def penalty_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """AGD for z on g, then AGD for y on f + lam g (RAGD-GS Algorithm 1, lines 4-6; AccF2BA).

    Letters alpha, beta (z), alpha_p, beta_p (y), lam; lengths T_0, T_k, Tp_0, Tp_k. With ``COLD`` y and z start anew
    from inner[Y_START] at every epoch (RAGD-GS), without it warm starts go on across restarts (AccF2BA).
    """
    y, z, real, lam = m.inner[Y], m.inner[Z], m.real, m.real[LETTERS + 4]
    if k == START:
        if t > 0 and m.whole[COLD] == 1:
            copy_into(m.inner[Y_START], y)
            copy_into(m.inner[Y_START], z)
        return OK
    first = 0 if k == 0 else 1
    z_steps, y_steps = length(m.whole, first, t), length(m.whole, 2 + first, t)
    if too_dear(counts, z_steps + 2 * y_steps + 3):
        return OUT_OF_BUDGET
    agd(P, counts, point, z, z_steps, real[LETTERS], real[LETTERS + 1], LOWER, lam, m)
    agd(P, counts, point, y, y_steps, real[LETTERS + 2], real[LETTERS + 3], PENALTY, lam, m)
    return penalty_gradient(P, counts, point, lam, m)


@loop
def penalty_gd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """D gradient steps for z on g and for y on f + lam g, warm-started (F2BA). Letters alpha, tau, lam; length D."""
    if k == START:
        return OK
    steps, lam = length(m.whole, 0, t), m.real[LETTERS + 2]
    if too_dear(counts, 3 * steps + 3):
        return OUT_OF_BUDGET
    descent(P, counts, point, m.inner[Z], steps, m.real[LETTERS], LOWER, lam, m)
    descent(P, counts, point, m.inner[Y], steps, m.real[LETTERS + 1], PENALTY, lam, m)
    return penalty_gradient(P, counts, point, lam, m)


# ------------------------------------------------------------------------------------------------------ minimax


@loop
def danskin_agd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """AGD on -f(x, .), then grad_x f (PRAGDA Algorithm 4, lines 3, 6, 7, 13).

    Letters alpha, beta; lengths T_m1, T_k.
    """
    y, steps = m.inner[Y], length(m.whole, 0 if k == START else 1, t)
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    if k == START:
        copy_into(m.inner[Y_START], y)
    agd(P, counts, point, y, steps, m.real[LETTERS], m.real[LETTERS + 1], LOWER, m.real[ONE], m)
    if k != START:
        ask_grad_x_f(P, counts, point, y, m.outer[U])
    return OK


@loop
def danskin_gd(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """Several ascent steps, warm-started, then grad_x f (GDmax). Letter eta_y; length D."""
    if k == START:
        return OK
    y, steps = m.inner[Y], length(m.whole, 0, t)
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    descent(P, counts, point, y, steps, m.real[LETTERS], LOWER, m.real[ONE], m)
    ask_grad_x_f(P, counts, point, y, m.outer[U])
    return OK


@loop
def danskin_simultaneous(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """One call for both parts at (x_k, y_k), then y_{k+1} = y_k + eta_y grad_y f(x_k, y_k) (GDA). Letter eta_y."""
    if k == START:
        return OK
    eta_y, y = m.real[LETTERS], m.inner[Y]
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    both_parts_of_f(P, counts, point, y, m)
    copy_into(m.outer[PART], m.outer[U])
    right = m.inner[RIGHT]
    m.real[INNER_SLOPE] = squared_norm(right)
    if k != LAST:
        for i in range(len(y)):
            y[i] = y[i] + eta_y * right[i]
    return OK


@loop
def danskin_alternating(P: Any, counts: Vector, point: Vector, m: Memory, t: int, k: int) -> int:
    """y_k = y_{k-1} + eta_y grad_y f(x_k, y_{k-1}) for k >= 1, then one call for both parts at (x_k, y_k).

    Alternating gradient descent ascent: x moves first, and y sees the new x. Letter eta_y.
    """
    if k == START:
        return OK
    if too_dear(counts, 2):
        return OUT_OF_BUDGET
    if k > 0:
        descent(P, counts, point, m.inner[Y], 1, m.real[LETTERS], LOWER, m.real[ONE], m)
    both_parts_of_f(P, counts, point, m.inner[Y], m)
    copy_into(m.outer[PART], m.outer[U])
    m.real[INNER_SLOPE] = squared_norm(m.inner[RIGHT])
    return OK
