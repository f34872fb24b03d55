"""Random problems with closed-form answers: y*(x), phi and its derivatives in mpmath, without the room under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import sympy
from seeds import SEED

import bilevel_verify as bv


def seed() -> int:
    """The seed of the suite, or the one the environment asks for."""
    return SEED


def tenths(rng: np.random.Generator, low: float, high: float) -> sympy.Rational:
    """A random number with two decimals (exact on both sides of the comparison)."""
    return sympy.Rational(int(rng.integers(int(low * 100), int(high * 100) + 1)), 100)


@dataclass(frozen=True)
class Case:
    """A problem with exact one-dimensional ``y*`` and ``phi`` (functions of one mpmath number) or vector-valued.

    Oracles.
    """

    problem: Any
    x: np.ndarray
    y_star: Callable[[Any], list[Any]]
    phi: Callable[[Any], Any]
    kind: str


def one_dimensional(rng: np.random.Generator) -> Case:
    """A 1+1 problem whose y* is elementary."""
    x, y = sympy.symbols("x1 y1", real=True)
    mu, s, w, p, c = (tenths(rng, a, b) for a, b in ((0.3, 3), (0.4, 2), (-2, 2), (-3, 3), (0.05, 0.9)))
    kind = str(rng.choice(["cosh", "displaced", "cardano", "quadratic", "minimax"]))
    wave, square = w * sympy.cos(s * x - y + p, evaluate=False), y**2 / 2
    f = sympy.sin(x) + wave + (square if rng.random() < 0.5 else sympy.log(1 + y**2))
    m = lambda v: mpmath.mpf(int(v.p)) / int(v.q)
    M, S, C = m(mu), m(s), m(c)
    if kind == "cosh":
        g, y_of = mu * sympy.cosh(y) - x * y, lambda t: mpmath.asinh(t / M)
    elif kind == "displaced":
        g, y_of = mu / 2 * (y - s * x) ** 2 + c * bv.atoms.logcosh(y - s * x), lambda t: S * t
    elif kind == "cardano":
        g = y**4 / 4 + y**2 / 2 - x * y
        y_of = lambda t: 2 / mpmath.sqrt(3) * mpmath.sinh(mpmath.asinh(3 * mpmath.sqrt(3) / 2 * t) / 3)
    elif kind == "quadratic":
        g, y_of = mu / 2 * y**2 + s * x * y - c * y, lambda t: (C - S * t) / M
    else:
        payoff = sympy.cos(s * x + p) + x * y - mu * sympy.cosh(y)
        problem = bv.minimax(f=payoff, x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-9, 9)})
        y_of = lambda t: mpmath.asinh(t / M)
        value = lambda t: mpmath.cos(S * t + m(p)) + t * y_of(t) - M * mpmath.cosh(y_of(t))
        return Case(problem, rng.uniform(-2.5, 2.5, (3, 1)), lambda t: [y_of(t)], value, kind)
    problem = bv.bilevel(f=f, g=g, x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-12, 12)})
    upper = sympy.lambdify((x, y), f, "mpmath")
    return Case(problem, rng.uniform(-2.5, 2.5, (3, 1)), lambda t: [y_of(t)], lambda t: upper(t, y_of(t)), kind)


@dataclass(frozen=True)
class QuadraticLower:
    """``g = y'Ay/2 + y'Bx + b.y``, ``f = sum w cos(d.(x, y) + q)``: everything by linear algebra in mpmath."""

    problem: Any
    X: np.ndarray
    A: Any
    B: Any
    b: Any
    waves: list[tuple[Any, list[Any], Any]]

    def solution(self, x: np.ndarray) -> tuple[Any, Any]:
        """y*(x) and nabla y* (dx, dy)."""
        t = mpmath.matrix([mpmath.mpf(float(v)) for v in x])
        y = mpmath.lu_solve(self.A, -(self.B * t + self.b))
        jacobian = -(mpmath.inverse(self.A) * self.B).T
        return y, jacobian

    def derivatives(self, x: np.ndarray) -> tuple[Any, Any, Any]:
        """phi, gradient and Hessian, by the chain rule for cosines of affine functions."""
        y, J = self.solution(x)
        dx = len(x)
        z = [mpmath.mpf(float(v)) for v in x] + list(y)
        value, gradient, hessian = mpmath.mpf(0), mpmath.zeros(dx, 1), mpmath.zeros(dx, dx)
        for w, d, q in self.waves:
            angle = mpmath.fdot(d, z) + q
            total = mpmath.matrix(d[:dx]) + J * mpmath.matrix(d[dx:])
            value += w * mpmath.cos(angle)
            gradient -= w * mpmath.sin(angle) * total
            hessian -= w * mpmath.cos(angle) * (total * total.T)
        return value, gradient, hessian


def quadratic_lower(rng: np.random.Generator) -> QuadraticLower:
    """A random problem with a quadratic lower level, dx and dy between 1 and 3."""
    dx, dy = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x = sympy.symbols(f"x1:{dx + 1}", real=True)
    y = sympy.symbols(f"y1:{dy + 1}", real=True)
    root = sympy.Matrix(dy, dy, lambda i, j: tenths(rng, -1, 1))
    A = root * root.T + sympy.eye(dy) * tenths(rng, 0.2, 1)
    B = sympy.Matrix(dy, dx, lambda i, j: tenths(rng, -1, 1))
    b = sympy.Matrix(dy, 1, lambda i, j: tenths(rng, -1, 1))
    squares = [A[i, j] * y[i] * y[j] / (2 if i == j else 1) for i in range(dy) for j in range(i, dy)]
    g = sympy.Add(
        *squares, *[B[i, j] * y[i] * x[j] for i in range(dy) for j in range(dx)], *[b[i] * y[i] for i in range(dy)]
    )
    waves = [(tenths(rng, -1, 1), [tenths(rng, -1, 1) for _ in range(dx + dy)], tenths(rng, -3, 3)) for _ in range(2)]
    angles = [sympy.Add(*(c * v for c, v in zip(d, [*x, *y])), q) for _, d, q in waves]
    f = sympy.Add(*(w * sympy.cos(t, evaluate=False) for (w, _, _), t in zip(waves, angles)))
    problem = bv.bilevel(f=f, g=g, x=" ".join(map(str, x)), y=" ".join(map(str, y)))
    m = lambda v: mpmath.mpf(int(v.p)) / int(v.q)
    to = lambda M: mpmath.matrix([[m(M[i, j]) for j in range(M.cols)] for i in range(M.rows)])
    exact = [(m(w), [m(c) for c in d], m(q)) for w, d, q in waves]
    return QuadraticLower(problem, rng.uniform(-2, 2, (3, dx)), to(A), to(B), to(b), exact)


def uncovered(seed_value: Any, count: int, scale: float = 1.0) -> tuple[list[str], int]:
    """Run ``count`` random problems; list every quantity whose error bar (times ``scale``) misses the true error."""
    rng = np.random.default_rng(seed_value)
    bad: list[str] = []
    checked = 0
    with mpmath.workdps(50):
        for number in range(count):
            checker = _check_one if rng.random() < 0.8 else _check_quadratic
            found, seen = checker(rng, scale, full=number % 8 == 0)
            bad += [f"problem {number}: {line}" for line in found]
            checked += seen
    return bad, checked


def _miss(name: str, value: Any, truth: Any, error: float, scale: float) -> list[str]:
    flat, exact = np.asarray(value, dtype=float).reshape(-1), list(truth)
    distance = mpmath.sqrt(sum((mpmath.mpf(float(a)) - b) ** 2 for a, b in zip(flat, exact)))
    return (
        []
        if distance <= mpmath.mpf(float(error)) * scale
        else [f"{name} is off by {float(distance):.3g}, its bar is {error:.3g}"]
    )


def _check_one(rng: np.random.Generator, scale: float, full: bool) -> tuple[list[str], int]:
    case = one_dimensional(rng)
    t = bv.truth(case.problem)
    bad: list[str] = []
    batches = {name: getattr(t, name + "_batch")(case.x) for name in ("y_star", "phi", "grad_phi", "hess_phi")}
    for i, row in enumerate(case.x):
        point = mpmath.mpf(float(row[0]))
        truths = {
            "y_star": case.y_star(point), "phi": [case.phi(point)],
            "grad_phi": [mpmath.diff(case.phi, point)], "hess_phi": [mpmath.diff(case.phi, point, 2)],
        }  # fmt: skip
        for name, exact in truths.items():
            values, errors = batches[name]
            bad += _miss(f"{case.kind} {name}_batch", values[i], exact, errors[i], scale)
            if full:
                found = getattr(t, name)(row)
                bad += _miss(f"{case.kind} {name}", found.value, exact, found.error, scale)
    return bad, 12


def _check_quadratic(rng: np.random.Generator, scale: float, full: bool) -> tuple[list[str], int]:
    case = quadratic_lower(rng)
    t = bv.truth(case.problem)
    bad: list[str] = []
    names = ("y_star", "grad_y_star", "phi", "grad_phi", "hess_phi")
    batches = {name: getattr(t, name + "_batch")(case.X) for name in names}
    for i, row in enumerate(case.X):
        y, jacobian = case.solution(row)
        value, gradient, hessian = case.derivatives(row)
        for name, exact in zip(names, ([*y], [*jacobian], [value], [*gradient], [*hessian])):
            values, errors = batches[name]
            bad += _miss(f"quadratic {name}_batch", values[i], exact, errors[i], scale)
            if full:
                found = getattr(t, name)(row)
                bad += _miss(f"quadratic {name}", found.value, exact, found.error, scale)
    return bad, 15
