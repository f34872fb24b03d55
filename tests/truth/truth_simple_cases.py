"""Random simple bilevel problems whose answers come from elsewhere: closed forms, mpmath, NNLS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import sympy

import bilevel_verify as bv


@dataclass(frozen=True)
class SimpleCase:
    """A problem with its f*, g* and x* from an independent computation."""

    problem: Any
    f_star: float
    g_star: float
    x_star: np.ndarray


def _names(n: int) -> tuple[sympy.Symbol, ...]:
    return sympy.symbols(f"x1:{n + 1}", real=True)


def _rational(array: np.ndarray) -> sympy.Matrix:
    return sympy.Matrix(array.tolist()).applyfunc(sympy.Rational)


def _decimals(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random numbers that are exact in binary (multiples of 1/64)."""
    return np.round(rng.normal(size=shape) * 64) / 64


def _squared_distance(x: tuple[sympy.Symbol, ...], t: np.ndarray) -> sympy.Expr:
    return sum((v - sympy.Rational(float(c))) ** 2 for v, c in zip(x, t)) / 2


def rank_deficient_least_squares(rng: np.random.Generator, n: int = 8) -> SimpleCase:
    """``min |x - t|^2/2`` over the least-squares solutions of ``A x = b`` (whole space): pseudo-inverse in mpmath."""
    rank = int(rng.integers(1, n))
    A, b, t = _decimals(rng, rank, n), _decimals(rng, rank), _decimals(rng, n)
    x = _names(n)
    rows = _rational(A) * sympy.Matrix(x) - _rational(b[:, None])
    g = sum(r**2 for r in rows) / 2
    with mpmath.workdps(40):
        M, T = mpmath.matrix(A.tolist()), mpmath.matrix(t.tolist())
        step = M.T * mpmath.lu_solve(M * M.T, M * T - mpmath.matrix(b.tolist()))
        best = T - step
        f_star = mpmath.fsum(v**2 for v in step) / 2
    problem = bv.simple_bilevel(f=_squared_distance(x, t), g=g, x=" ".join(map(str, x)), feasible=bv.WholeSpace())
    return SimpleCase(problem, float(f_star), 0.0, np.array([float(v) for v in best]))


def hyperplane_in_ball(rng: np.random.Generator, n: int = 4) -> SimpleCase:
    """Projection onto a disc: ``g = (a.x - b)^2/2`` over the unit ball, closed form."""
    x = _names(n)
    a, t = _decimals(rng, n), 2 * _decimals(rng, n)
    a[0] = a[0] or 1.0
    size = float(np.linalg.norm(a))
    b = float(np.round(rng.uniform(-0.9, 0.9) * size * 64) / 64)
    problem = bv.simple_bilevel(
        f=_squared_distance(x, t),
        g=(sum(sympy.Rational(float(c)) * v for c, v in zip(a, x)) - sympy.Rational(b)) ** 2 / 2,
        x=" ".join(map(str, x)),
        feasible=bv.Ball(1),
    )
    centre = a * (b / size**2)
    along = t - a * (float(a @ t) / size**2)
    room, length = np.sqrt(1 - float(centre @ centre)), float(np.linalg.norm(along))
    best = centre + along * min(1.0, room / length)
    return SimpleCase(problem, 0.5 * float((best - t) @ (best - t)), 0.0, best)


def simplex_of_sums(rng: np.random.Generator, n: int = 6) -> SimpleCase:
    """``g = (sum x - s)^2/2`` over the orthant: x* is the projection of t onto a simplex, by sorting."""
    x = _names(n)
    t = _decimals(rng, n)
    total = float(rng.integers(1, 160)) / 64
    ordered = np.sort(t)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, n + 1)
    shift = shifts[np.flatnonzero(ordered > shifts)[-1]]
    best = np.maximum(t - shift, 0)
    problem = bv.simple_bilevel(
        f=_squared_distance(x, t),
        g=(sum(x) - sympy.Rational(total)) ** 2 / 2,
        x=" ".join(map(str, x)),
        feasible=bv.Orthant(),
    )
    return SimpleCase(problem, 0.5 * float((best - t) @ (best - t)), 0.0, best)


def weakly_sharp_box(rng: np.random.Generator, n: int = 5) -> SimpleCase:
    """``g = c.x + (c.x)^2/2`` with c >= 0 over the unit box.

    The coordinates with c_i > 0 vanish, the others are clipped.
    """
    x = _names(n)
    c = np.abs(_decimals(rng, n)) * (rng.random(n) < 0.6)
    t = 2 * _decimals(rng, n)
    best = np.where(c > 0, 0.0, np.clip(t, 0, 1))
    form = sum((sympy.Rational(float(v)) * s for v, s in zip(c, x)), sympy.Integer(0))
    problem = bv.simple_bilevel(
        f=_squared_distance(x, t), g=form + form**2 / 2, x=" ".join(map(str, x)), feasible=bv.Box((0,) * n, (1,) * n)
    )
    return SimpleCase(problem, 0.5 * float((best - t) @ (best - t)), 0.0, best)


def logistic(rng: np.random.Generator, n: int = 6, rank: int = 0, samples: int = 0) -> SimpleCase:
    """Logistic lower level of deficient rank: row-space Newton in mpmath, then the projection of t."""
    x = _names(n)
    rank, samples, t = rank or int(rng.integers(1, n)), samples or 3 * n, _decimals(rng, n)
    basis, mix = _decimals(rng, rank, n), _decimals(rng, samples, rank)
    rows, labels = mix @ basis, np.where(rng.random(samples) < 0.5, 1.0, -1.0)
    rows = np.vstack([rows, rows])  # both labels occur at every point, so that the minimum is attained
    labels = np.concatenate([labels, -labels])
    weights = [int(v) for v in rng.integers(1, 4, size=2 * samples)]
    exact = _rational(rows) * sympy.Matrix(x)
    g = sum(w * bv.atoms.softplus(-sympy.Integer(int(b)) * r) for w, b, r in zip(weights, labels, exact) if r != 0)
    with mpmath.workdps(40):
        A = mpmath.matrix((rows * labels[:, None]).tolist())
        R = mpmath.matrix(basis.tolist())
        u = mpmath.zeros(rank, 1)
        for _ in range(60):
            margin = A * (R.T * u)
            p = [1 / (1 + mpmath.exp(v)) for v in margin]
            gradient, H = mpmath.zeros(rank, 1), mpmath.zeros(rank, rank)
            B = A * R.T
            for i, w in enumerate(weights):
                row = B[i, :]
                gradient -= w * p[i] * row.T
                H += w * p[i] * (1 - p[i]) * (row.T * row)
            step = mpmath.lu_solve(H, gradient)
            u -= step
            if mpmath.norm(step) < mpmath.mpf(10) ** -35:
                break
        z, T = R.T * u, mpmath.matrix(t.tolist())
        shift = R.T * mpmath.lu_solve(R * R.T, R * (T - z))
        best = T - shift
        g_star = mpmath.fsum(w * mpmath.log(1 + mpmath.exp(-v)) for w, v, b in zip(weights, A * z, rows) if np.any(b))
        f_star = mpmath.fsum(v**2 for v in shift) / 2
    problem = bv.simple_bilevel(f=_squared_distance(x, t), g=g, x=" ".join(map(str, x)), feasible=bv.WholeSpace())
    return SimpleCase(problem, float(f_star), float(g_star), np.array([float(v) for v in best]))


def flat_quartic(rng: np.random.Generator, n: int = 20) -> SimpleCase:
    """``g = x1^4 + (x1 + x2 - 1)^2``: quartic growth; the solutions have x1 = 0 and x2 = 1."""
    x = _names(n)
    t = _decimals(rng, n)
    best = t.copy()
    best[:2] = 0, 1
    g = x[0] ** 4 + (x[0] + x[1] - 1) ** 2
    problem = bv.simple_bilevel(f=_squared_distance(x, t), g=g, x=" ".join(map(str, x)), feasible=bv.WholeSpace())
    return SimpleCase(problem, 0.5 * float((best - t) @ (best - t)), 0.0, best)


def nonnegative_least_squares(rng: np.random.Generator, n: int = 20, m: int = 12, supporting: int = 0) -> SimpleCase:
    """``g = |A x - b|^2/2`` over the orthant, A wide; x*, the multipliers of both levels and so b and t are chosen.

    With ``supporting`` bounds of positive lower multiplier the least residual r is not zero (all other columns of A are
    made orthogonal to r, in integers).
    """
    x = _names(n)
    A = rng.integers(-6, 7, size=(m, n))
    best = np.where(rng.random(n) < 0.6, rng.integers(1, 9, size=n) / 4, 0.0)
    best[:supporting] = 0.0
    zero = best == 0
    r = np.zeros(m, dtype=int)
    if supporting:
        r = rng.integers(1, 3, size=m)
        A[:, supporting:] = A[:, supporting:] * int(r @ r) - np.outer(r, r @ A[:, supporting:])
        A[:, :supporting] -= np.outer(r, np.maximum(np.ceil((r @ A[:, :supporting] + 1) / (r @ r)), 0)).astype(int)
    b = A @ best + r
    heavy = np.where(zero, rng.integers(1, 9, size=n) / 4, 0.0)
    free = rng.integers(-4, 5, size=n) * (np.arange(n) < supporting)
    t = best + A.T @ (rng.integers(-2, 3, size=m) / 64) - heavy + free
    rows = sympy.Matrix(A.tolist()) * sympy.Matrix(x) - _rational(b[:, None].astype(float))
    problem = bv.simple_bilevel(
        f=_squared_distance(x, t), g=sum(v**2 for v in rows) / 2, x=" ".join(map(str, x)), feasible=bv.Orthant()
    )
    return SimpleCase(problem, 0.5 * float((best - t) @ (best - t)), 0.5 * float(r @ r), best)


FAMILIES = (rank_deficient_least_squares, hyperplane_in_ball, simplex_of_sums, weakly_sharp_box)


def misses(case: SimpleCase, tolerance: float, scale: float = 1.0) -> list[str]:
    """Quantities of one case that are off by more than their bar (times ``scale``) or than the tolerance for f*."""
    t = bv.truth(case.problem)
    bad = []
    rounding = 4e-16 * (1 + abs(case.f_star))
    for name, found, exact in (("f*", t.f_star, case.f_star), ("g*", t.g_star, case.g_star)):
        off = abs(float(found.value) - exact)
        if off > scale * found.error + rounding:
            bad.append(f"{name} off by {off:.3g}, bar {found.error:.3g}")
    if abs(float(t.f_star.value) - case.f_star) > tolerance * (1 + abs(case.f_star)):
        bad.append(f"f* off by {abs(float(t.f_star.value) - case.f_star):.3g}, tolerance {tolerance:g}")
    off = float(np.linalg.norm(np.asarray(t.x_star.value) - case.x_star))
    if off > scale * t.x_star.error + 4e-16 * (1 + float(np.linalg.norm(case.x_star))):
        bad.append(f"x* off by {off:.3g}, bar {t.x_star.error:.3g}")
    return bad
