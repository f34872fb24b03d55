"""Inner solvers: AGD, gradient descent, conjugate gradients, an unrolled loop, Newton for uncounted stopping tests."""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.layout import (
    BLOCK_F,
    BLOCK_G,
    COLUMNS,
    DIRECTION,
    LENGTHS,
    MATRIX,
    NEWTON,
    ONE,
    PRECISION,
    PRODUCT,
    RESIDUAL,
    SLOPE,
    SLOPE_F,
    TILDE,
    TRIAL,
    Memory,
    Vector,
)
from bilevel_verify.methods.kernels.vectors import copy_into, is_finite, squared_norm
from bilevel_verify.oracles.counted import (
    ask_grad_y_f,
    ask_grad_y_g,
    ask_hvp_yy_g,
    stop_grad_y_f,
    stop_grad_y_g,
    stop_hess_f,
    stop_hess_g,
)
from bilevel_verify.oracles.jit import inlined, loop


@loop
def length(whole: Vector, letter: int, epoch: int) -> int:
    """Inner length of an epoch: constants have one column, per-epoch lists go on with their last entry."""
    return int(whole[LENGTHS + letter * whole[COLUMNS] + min(epoch, whole[COLUMNS] - 1)])


# What an inner solver works on: g(x, .), which is -f(x, .) for minimax problems, or f(x, .) + lam g(x, .).
LOWER, PENALTY = range(2)


@inlined
def slope_of(
    P: Any, counts: Vector, x: Vector, y: Vector, which: int, lam: Any, slope: Vector, slope_f: Vector
) -> None:
    """slope <- the y-gradient of the function that is being minimised (slope_f is scratch)."""
    ask_grad_y_g(P, counts, x, y, slope)
    if which == PENALTY:
        ask_grad_y_f(P, counts, x, y, slope_f)
        for i in range(len(slope)):
            slope[i] = slope_f[i] + lam * slope[i]


@loop
def agd(
    P: Any, counts: Vector, x: Vector, z: Vector, steps: int, alpha: Any, beta: Any, which: int, lam: Any, m: Memory
) -> None:
    """AGD(h, z, T, alpha, beta) in place (RAGD-GS Algorithm 2, RAHGD Algorithm 1): T gradients of h.

    One loop for each h: what is left of a step besides its oracle calls decides the speed in few variables.
    """
    tilde, slope, slope_f = m.inner[TILDE], m.inner[SLOPE], m.inner[SLOPE_F]
    copy_into(z, tilde)
    if which == LOWER:
        for _ in range(steps):
            ask_grad_y_g(P, counts, x, tilde, slope)
            for i in range(len(z)):
                new = tilde[i] - alpha * slope[i]
                tilde[i] = new + beta * (new - z[i])
                z[i] = new
        return
    for _ in range(steps):
        ask_grad_y_g(P, counts, x, tilde, slope)
        ask_grad_y_f(P, counts, x, tilde, slope_f)
        for i in range(len(z)):
            new = tilde[i] - alpha * (slope_f[i] + lam * slope[i])
            tilde[i] = new + beta * (new - z[i])
            z[i] = new


@loop
def descent(
    P: Any, counts: Vector, x: Vector, z: Vector, steps: int, alpha: Any, which: int, lam: Any, m: Memory
) -> None:
    """Gradient descent z <- z - alpha grad h(z) in place: one gradient of h a step."""
    slope, slope_f = m.inner[SLOPE], m.inner[SLOPE_F]
    for _ in range(steps):
        slope_of(P, counts, x, z, which, lam, slope, slope_f)
        for i in range(len(z)):
            z[i] = z[i] - alpha * slope[i]


@loop
def conjugate_gradients(
    P: Any, counts: Vector, x: Vector, y: Vector, b: Vector, steps: int, q: Vector, m: Memory
) -> None:
    """CG(grad_yy g(x, y), b, T, q) in place (RAHGD Algorithm 2): at most T + 1 Hessian-vector products.

    Leaves when the residual (or the curvature along the direction) is exactly zero: the next quotient would be 0/0.
    """
    r, p, product = m.inner[RESIDUAL], m.inner[DIRECTION], m.inner[PRODUCT]
    ask_hvp_yy_g(P, counts, x, y, q, product)
    for i in range(len(q)):
        r[i] = product[i] - b[i]
        p[i] = -r[i]
    size = squared_norm(r)
    for _ in range(steps):
        if size == 0:
            break
        ask_hvp_yy_g(P, counts, x, y, p, product)
        curvature = 0.0
        for i in range(len(p)):
            curvature = curvature + p[i] * product[i]
        if curvature == 0:
            break
        step = size / curvature
        for i in range(len(q)):
            q[i] = q[i] + step * p[i]
            r[i] = r[i] + step * product[i]
        old, size = size, squared_norm(r)
        for i in range(len(p)):
            p[i] = -r[i] + size / old * p[i]


@loop
def solve_in_place(a: Any, top: int, b: Vector) -> bool:
    """b <- A^{-1} b by Gaussian elimination with partial pivoting; False for a singular matrix.

    The rows of A are those of ``a`` from ``top`` on; they are destroyed.
    """
    n = len(b)
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(a[top + i][j]) > abs(a[top + pivot][j]):
                pivot = i
        if a[top + pivot][j] == 0 or not is_finite(a[top + pivot][j]):
            return False
        if pivot != j:
            for k in range(n):
                held = a[top + j][k]
                a[top + j][k] = a[top + pivot][k]
                a[top + pivot][k] = held
            held = b[j]
            b[j] = b[pivot]
            b[pivot] = held
        for i in range(j + 1, n):
            factor = a[top + i][j] / a[top + j][j]
            for k in range(j, n):
                a[top + i][k] = a[top + i][k] - factor * a[top + j][k]
            b[i] = b[i] - factor * b[j]
    for back in range(n):
        j = n - 1 - back
        for k in range(j + 1, n):
            b[j] = b[j] - a[top + j][k] * b[k]
        b[j] = b[j] / a[top + j][j]
    return True


@loop
def stopping_slope(P: Any, counts: Vector, x: Vector, y: Vector, which: int, lam: Any, m: Memory) -> None:
    """Like ``slope_of`` for a stopping test: counted under the keys of stopping tests."""
    slope = m.inner[SLOPE]
    stop_grad_y_g(P, counts, x, y, slope)
    if which == PENALTY:
        slope_f = m.inner[SLOPE_F]
        stop_grad_y_f(P, counts, x, y, slope_f)
        for i in range(len(slope)):
            slope[i] = slope_f[i] + lam * slope[i]


@loop
def stopping_matrix(P: Any, counts: Vector, x: Vector, y: Vector, which: int, lam: Any, m: Memory) -> None:
    """``square`` <- the yy-Hessian of the function that is being minimised."""
    dx, dy = len(x), len(y)
    g, f = m.blocks[BLOCK_G], m.blocks[BLOCK_F]
    stop_hess_g(P, counts, x, y, g)
    if which == PENALTY:
        stop_hess_f(P, counts, x, y, f)
    for i in range(dy):
        row = m.inner[MATRIX + i]
        for j in range(dy):
            place = (dx + i) * (dx + dy) + dx + j
            row[j] = f[place] + lam * g[place] if which == PENALTY else g[place]


@loop
def newton(P: Any, counts: Vector, x: Vector, y: Vector, which: int, lam: Any, m: Memory) -> bool:
    """y <- the minimiser over y, to the precision of the arithmetic; False where Newton does not get there.

    Damped by halving while the gradient does not shrink; stops at a zero gradient or at a step that rounding eats.
    """
    step, trial, slope, accuracy = m.inner[NEWTON], m.inner[TRIAL], m.inner[SLOPE], m.real[PRECISION]
    stopping_slope(P, counts, x, y, which, lam, m)
    size = squared_norm(slope)
    for _ in range(100):
        if size == 0:
            return True
        stopping_matrix(P, counts, x, y, which, lam, m)
        copy_into(slope, step)
        if not is_finite(size) or not solve_in_place(m.inner, MATRIX, step):
            return False
        tiny = squared_norm(step) <= 16 * accuracy * accuracy * (1 + squared_norm(y))
        weight = m.real[ONE]
        accepted = False
        for _ in range(60):
            for i in range(len(y)):
                trial[i] = y[i] - weight * step[i]
            stopping_slope(P, counts, x, trial, which, lam, m)
            new_size = squared_norm(slope)
            if new_size < size:
                accepted = True
                copy_into(trial, y)
                size = new_size
                break
            if tiny:
                break
            weight = weight / 2
        if tiny or not accepted:
            return bool(tiny)
    return False
