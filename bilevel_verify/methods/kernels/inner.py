"""Inner solvers: AGD, gradient descent, conjugate gradients, an unrolled loop, Newton for uncounted stopping tests."""

from __future__ import annotations

from collections.abc import Sequence

from bilevel_verify.methods.kernels.state import Hessians, Inner, Lower, Real
from bilevel_verify.methods.kernels.vectors import copy_into, is_finite, squared_norm
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import (
    ask_grad_y_f,
    ask_grad_y_g,
    ask_hvp_yy_g,
    stop_grad_y_f,
    stop_grad_y_g,
    stop_hess_f,
    stop_hess_g,
)
from bilevel_verify.oracles.handing import named, row
from bilevel_verify.oracles.jit import inlined, loop


@loop
def of_epoch(lengths: Vector, t: int) -> int:
    """Inner length of an epoch: constants have one entry, per-epoch lists go on with their last one."""
    return int(lengths[min(t, len(lengths) - 1)])


# What an inner solver works on: g(x, .), which is -f(x, .) for minimax problems, or f(x, .) + lam g(x, .).
LOWER, PENALTY = range(2)


@inlined
def slope_of(
    P: OracleSet, counts: Counts, x: Vector, y: Vector, which: int, lam: Real, slope: Vector, slope_f: Vector
) -> None:
    """slope <- the y-gradient of the function that is being minimised (slope_f is scratch)."""
    ask_grad_y_g(P, counts, x, y, slope)
    if which == PENALTY:
        ask_grad_y_f(P, counts, x, y, slope_f)
        for i in range(len(slope)):
            slope[i] = slope_f[i] + lam * slope[i]


@loop
def agd(
    P: OracleSet,
    counts: Counts,
    x: Vector,
    z: Vector,
    steps: int,
    alpha: Real,
    beta: Real,
    which: int,
    lam: Real,
    lower: Lower,
) -> None:
    """AGD(h, z, T, alpha, beta) in place (RAGD-GS Algorithm 2, RAHGD Algorithm 1): T gradients of h.

    One loop for each h: what is left of a step besides its oracle calls decides the speed in few variables.
    """
    inner = named(Inner, lower.inner)
    tilde, slope, slope_f = inner.tilde, inner.slope, inner.slope_f
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
    P: OracleSet, counts: Counts, x: Vector, z: Vector, steps: int, alpha: Real, which: int, lam: Real, lower: Lower
) -> None:
    """Gradient descent z <- z - alpha grad h(z) in place: one gradient of h a step."""
    inner = named(Inner, lower.inner)
    slope, slope_f = inner.slope, inner.slope_f
    for _ in range(steps):
        slope_of(P, counts, x, z, which, lam, slope, slope_f)
        for i in range(len(z)):
            z[i] = z[i] - alpha * slope[i]


@loop
def conjugate_gradients(
    P: OracleSet, counts: Counts, x: Vector, y: Vector, b: Vector, steps: int, q: Vector, lower: Lower
) -> None:
    """CG(grad_yy g(x, y), b, T, q) in place (RAHGD Algorithm 2): at most T + 1 Hessian-vector products.

    Leaves when the residual (or the curvature along the direction) is exactly zero: the next quotient would be 0/0.
    """
    inner = named(Inner, lower.inner)
    r, p, product = inner.residual, inner.direction, inner.product
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
def solve_in_place(a: Sequence[Vector], b: Vector) -> bool:
    """b <- A^{-1} b by Gaussian elimination with partial pivoting; False for a singular matrix. A is destroyed."""
    n = len(b)
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(row(a, i)[j]) > abs(row(a, pivot)[j]):
                pivot = i
        top, best = row(a, j), row(a, pivot)
        if best[j] == 0 or not is_finite(best[j]):
            return False
        if pivot != j:
            for k in range(n):
                held = top[k]
                top[k] = best[k]
                best[k] = held
            held = b[j]
            b[j] = b[pivot]
            b[pivot] = held
        for i in range(j + 1, n):
            line = row(a, i)
            factor = line[j] / top[j]
            for k in range(j, n):
                line[k] = line[k] - factor * top[k]
            b[i] = b[i] - factor * b[j]
    for back in range(n):
        j = n - 1 - back
        line = row(a, j)
        for k in range(j + 1, n):
            b[j] = b[j] - line[k] * b[k]
        b[j] = b[j] / line[j]
    return True


@loop
def stopping_slope(P: OracleSet, counts: Counts, x: Vector, y: Vector, which: int, lam: Real, lower: Lower) -> None:
    """Like ``slope_of`` for a stopping test: counted under the keys of stopping tests."""
    inner = named(Inner, lower.inner)
    slope, slope_f = inner.slope, inner.slope_f
    stop_grad_y_g(P, counts, x, y, slope)
    if which == PENALTY:
        stop_grad_y_f(P, counts, x, y, slope_f)
        for i in range(len(slope)):
            slope[i] = slope_f[i] + lam * slope[i]


@loop
def stopping_matrix(P: OracleSet, counts: Counts, x: Vector, y: Vector, which: int, lam: Real, lower: Lower) -> None:
    """``matrix`` <- the yy-Hessian of the function that is being minimised."""
    dx, dy = len(x), len(y)
    hessians = named(Hessians, lower.hessians)
    f, g = hessians.f, hessians.g
    stop_hess_g(P, counts, x, y, g)
    if which == PENALTY:
        stop_hess_f(P, counts, x, y, f)
    for i in range(dy):
        line = row(lower.matrix, i)
        for j in range(dy):
            place = (dx + i) * (dx + dy) + dx + j
            line[j] = f[place] + lam * g[place] if which == PENALTY else g[place]


@loop
def newton(P: OracleSet, counts: Counts, x: Vector, y: Vector, which: int, lam: Real, lower: Lower) -> bool:
    """y <- the minimiser over y, to the precision of the arithmetic; False where Newton does not get there.

    Damped by halving while the gradient does not shrink; stops at a zero gradient or at a step that rounding eats.
    """
    inner = named(Inner, lower.inner)
    step, trial, slope, accuracy = inner.step, inner.trial, inner.slope, lower.at.precision
    stopping_slope(P, counts, x, y, which, lam, lower)
    size = squared_norm(slope)
    for _ in range(100):
        if size == 0:
            return True
        stopping_matrix(P, counts, x, y, which, lam, lower)
        copy_into(slope, step)
        if not is_finite(size) or not solve_in_place(lower.matrix, step):
            return False
        tiny = squared_norm(step) <= 16 * accuracy * accuracy * (1 + squared_norm(y))
        weight = lower.at.one
        accepted = False
        for _ in range(60):
            for i in range(len(y)):
                trial[i] = y[i] - weight * step[i]
            stopping_slope(P, counts, x, trial, which, lam, lower)
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
