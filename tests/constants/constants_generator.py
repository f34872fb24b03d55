"""Random problems for the constants room: atoms x affine maps x sums x products, 1 to 6 variables.

The oracle here shares nothing with the room under test: derivatives by automatic differentiation on the expression
graph in plain floats, compared through difference quotients, gradient norms and curvatures at sampled points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import sympy
from seeds import SEED

from bilevel_verify.atoms import abspow, logcosh, logsumexp, pluspow, psi, sgnpow, sigmoid, softplus
from bilevel_verify.numbers.floats import NUMPY
from bilevel_verify.symbolic.differentiate import hessian
from bilevel_verify.symbolic.program import program_of

BOUNDED = [
    sympy.sin,
    sympy.cos,
    sympy.tanh,
    sympy.atan,
    sympy.erf,
    sigmoid,
    lambda t: 1 / (1 + t**2),
    lambda t: sympy.exp(-(t**2)),
    lambda t: t / (1 + t**2),
    lambda t: sympy.exp(-(t**2) / 2) * t,
]
"""Atoms all of whose derivatives are bounded on the line, values included."""

GROWING = [softplus, logcosh, sympy.asinh, lambda t: sympy.sqrt(1 + t**2), lambda t: sympy.log(2 + t**2), lambda t: t]
"""Bounded derivatives from the first or second order on."""

LOCAL = [
    sympy.exp,
    sympy.sinh,
    sympy.cosh,
    lambda t: t**2,
    lambda t: t**3,
    lambda t: t**4 / 4,
    lambda t: sympy.log(t**2 + 1),
]
"""Only used on boxes."""

ROUGH = [
    lambda t: psi(sympy.Rational(1, 2), t),
    lambda t: psi(sympy.Rational(1, 4), t),
    lambda t: abspow(sympy.Rational(5, 2), t),
    lambda t: sgnpow(sympy.Rational(7, 2), t),
    lambda t: pluspow(sympy.Rational(5, 2), t),
    lambda t: sympy.Piecewise((t**2, t < 0), (t**2 + t**3, t < sympy.Rational(1, 2)), (t**2 / 2 + t, True)),
    lambda t: sympy.Piecewise(
        (0, t < 0), (t**3, t < sympy.Rational(1, 3)), (t**3 + (t - sympy.Rational(1, 3)) ** 4, True)
    ),
]
"""Limited smoothness (boxes or, for psi, everywhere)."""


@dataclass(frozen=True)
class Sample:
    """A random formula with its variables and box (None: whole space)."""

    expression: sympy.Expr
    variables: tuple[sympy.Symbol, ...]
    dx: int
    box: float | None

    @property
    def domain(self) -> dict[str, tuple[float, float]]:
        return {} if self.box is None else {v.name: (-self.box, self.box) for v in self.variables}

    def points(self, rng: np.random.Generator, count: int) -> np.ndarray:
        n = len(self.variables)
        return (
            rng.normal(size=(count, n)) * 2 if self.box is None else rng.uniform(-self.box, self.box, size=(count, n))
        )


def random_sample(rng: np.random.Generator, rough: bool = False) -> Sample:
    """One random formula."""
    n = int(rng.choice([1, 2, 2, 3, 3, 4, 5, 6]))
    dx = int(rng.integers(0, n)) if n > 1 else 0
    names = [f"x{i + 1}" for i in range(dx)] + [f"y{i + 1}" for i in range(n - dx)]
    variables = tuple(sympy.Symbol(name, real=True) for name in names)
    box = None if rng.random() < 0.4 else float(rng.choice([0.5, 1.0, 2.0]))
    terms = [_term(rng, variables, box, rough) for _ in range(int(rng.integers(1, 4)))]
    if rng.random() < 0.5:
        terms.append(_quadratic(rng, variables))
    return Sample(sympy.Add(*terms), variables, dx, box)


def _number(rng: np.random.Generator) -> sympy.Rational:
    return sympy.Rational(int(rng.choice([-3, -2, -1, 1, 2, 3])), int(rng.choice([1, 1, 2, 3, 4])))


def _affine(rng: np.random.Generator, variables: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    count = int(rng.integers(1, min(3, len(variables)) + 1))
    chosen = rng.choice(len(variables), size=count, replace=False)
    total = sympy.Add(*[_number(rng) * variables[i] for i in chosen])
    return total + (_number(rng) if rng.random() < 0.4 else 0)


def _quadratic(rng: np.random.Generator, variables: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    pairs = [(variables[i], variables[j]) for i, j in rng.integers(0, len(variables), size=(3, 2))]
    return sympy.Add(*[_number(rng) * a * b for a, b in pairs])


def _factor(rng: np.random.Generator, variables: tuple[sympy.Symbol, ...], box: float | None) -> sympy.Expr:
    pool = BOUNDED if box is None else BOUNDED + GROWING + LOCAL
    return pool[int(rng.integers(len(pool)))](_affine(rng, variables))


def _term(rng: np.random.Generator, variables: tuple[sympy.Symbol, ...], box: float | None, rough: bool) -> sympy.Expr:
    kind = rng.random()
    if rough and kind < 0.6:
        number = int(rng.integers(2 if box is None else len(ROUGH)))
        one_variable = number >= len(ROUGH) - 2  # a Piecewise is understood in one variable
        argument = variables[int(rng.integers(len(variables)))] if one_variable else _affine(rng, variables)
        return _number(rng) * ROUGH[number](argument)
    if kind < 0.5:
        pool = BOUNDED + GROWING if box is None else BOUNDED + GROWING + LOCAL
        return _number(rng) * pool[int(rng.integers(len(pool)))](_affine(rng, variables))
    if kind < 0.8:
        return _number(rng) * _factor(rng, variables, box) * _factor(rng, variables, box)
    if kind < 0.9:
        return _number(rng) * logsumexp(*[_affine(rng, variables) for _ in range(int(rng.integers(2, 5)))])
    square = sympy.Add(*[v**2 for v in variables])
    outer = [sympy.sqrt(1 + square), sympy.exp(-square / 2), 1 / (1 + square), sympy.log(1 + square)]
    return _number(rng) * outer[int(rng.integers(4))]


class Oracle:
    """Values, gradients and Hessians in plain floats."""

    def __init__(self, sample: Sample) -> None:
        self.n = len(sample.variables)
        program = program_of(sample.expression, list(sample.variables))
        self.program = hessian(program)
        from bilevel_verify.symbolic.differentiate import gradient

        self.first = gradient(program)

    def _run(self, program: object, points: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        with np.errstate(all="ignore"):
            out = program.run(NUMPY, [points[:, i] for i in range(self.n)])  # type: ignore[attr-defined]
        columns = [np.broadcast_to(np.asarray(v, dtype=float), len(points)) for v in out]
        return np.stack(columns, axis=1).reshape(len(points), *shape)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return self._run(self.first, points, (self.n,))

    def hessian(self, points: np.ndarray) -> np.ndarray:
        return self._run(self.program, points, (self.n, self.n))


def violations(
    sample: Sample, analysis: object, forms: list[str], rng: np.random.Generator, count: int = 160
) -> list[str]:
    """Sampled quantities above a certified constant (an empty list is what we want)."""
    oracle = Oracle(sample)
    z = sample.points(rng, count)
    w = sample.points(rng, count)
    near = z + rng.normal(size=z.shape) * 10.0 ** rng.uniform(-2, -0.5, size=(count, 1))
    near = near if sample.box is None else np.clip(near, -sample.box, sample.box)
    found = []
    for form in forms:
        bound = analysis.norm(form).upper  # type: ignore[attr-defined]
        for other in (w, near):
            value = _measured(oracle, form, z, other, sample)
            value = value[np.isfinite(value)]
            if value.size and value.max() > bound * (1 + 1e-6) + 1e-9:
                found.append(f"{form}: sampled {value.max():.9g} > bound {bound:.9g} for {sample}")
    return found


def _block(matrix: np.ndarray, form: str, dx: int) -> np.ndarray:
    part = {"x": slice(0, dx), "y": slice(dx, None), "z": slice(None)}
    return matrix[:, part[form[0]], :][:, :, part[form[1]]]


def _measured(oracle: Oracle, form: str, z: np.ndarray, w: np.ndarray, sample: Sample) -> np.ndarray:
    distance = np.sqrt(((z - w) ** 2).sum(axis=1))
    safe = np.where(distance > 1e-6, distance, np.inf)
    part = {"x": slice(0, sample.dx), "y": slice(sample.dx, None), "z": slice(None)}
    if len(form) == 1:
        return np.sqrt((oracle.gradient(z)[:, part[form]] ** 2).sum(axis=1))
    if form == "zz":
        quotient = np.sqrt(((oracle.gradient(z) - oracle.gradient(w)) ** 2).sum(axis=1)) / safe
        return np.maximum(quotient, np.linalg.norm(oracle.hessian(z), 2, axis=(1, 2)))
    if len(form) == 2:
        return np.linalg.norm(_block(oracle.hessian(z), form, sample.dx), 2, axis=(1, 2))
    if len(form) == 3:
        difference = _block(oracle.hessian(z) - oracle.hessian(w), form, sample.dx)
        return np.linalg.norm(difference, 2, axis=(1, 2)) / safe
    middle = 0.5 * z + 0.5 * w
    ends, centre = (oracle.hessian(z), oracle.hessian(w)), oracle.hessian(middle)
    noise = 1e-14 * sum(np.abs(h).sum(axis=(1, 2)) for h in (*ends, centre, centre))
    steady = np.where(distance > 5e-3, distance, np.inf)
    return (np.linalg.norm(ends[0] - 2 * centre + ends[1], 2, axis=(1, 2)) - noise) / (steady / 2) ** 2


__all__ = ["SEED", "Oracle", "Sample", "math", "random_sample", "violations"]
