"""Random problems of the forms that have rules of their own, and the largest values that a search finds on them.

Nothing here is the package's: derivatives are SymPy's, evaluated by NumPy at random points; the best ones ascend along
gradients that are derivatives of one order more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import sympy

import bilevel_verify as bv

Array = np.ndarray
FARTHEST = (1e2, 1e4, 1e6)
"""Where a constant that is said to be infinite must be seen to grow."""


class Drawn(NamedTuple):
    """A lower level as text, its variables (the last ones are y) and their common range."""

    form: str
    g: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    size: float | None


def _number(rng: np.random.Generator, most: int = 4) -> str:
    value = sympy.Rational(int(rng.integers(1, 2 * most)) * int(rng.choice([-1, 1])), 2)
    return f"({value})"


def _positive(rng: np.random.Generator) -> str:
    return f"({sympy.Rational(int(rng.integers(1, 9)), int(rng.integers(1, 4)))})"


def _monomials(rng: np.random.Generator, names: tuple[str, ...], degree: int, count: int) -> str:
    chosen = [rng.choice(names, size=degree) for _ in range(count)]
    return " + ".join(f"{_number(rng)}*{'*'.join(monomial)}" for monomial in chosen)


def _squares(rng: np.random.Generator, names: tuple[str, ...], equal: bool = False) -> str:
    centres = [str(sympy.Rational(int(rng.integers(-1, 2)), 3)) for _ in names]
    scales = ["1" if equal else _positive(rng) for _ in names]
    return " + ".join(f"{s}*({v} - ({c}))**2" for s, v, c in zip(scales, names, centres))


def _affine(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    return " + ".join(f"{_number(rng, 2)}*{v}" for v in names) + f" + {_number(rng, 1)}"


def _convex(names: tuple[str, ...]) -> str:
    return " + ".join(f"3*{v}**2/2" for v in names)


def _written(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    shape = rng.choice(["log(1 + exp({}))", "tanh({})**2", "log(1 + ({})**2)", "sqrt(1 + ({})**2)", "sin({})*cos({})"])
    terms = [shape.replace("{}", _affine(rng, names)) for _ in range(int(rng.integers(3, 9)))]
    return f"({' + '.join(terms)})/{len(terms)} + {_convex(names[1:])}"


def _composed(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    top = rng.choice(["sin({})", "exp(({})/4)", "tanh({})", "({})"]).replace("{}", _monomials(rng, names, 2, 2))
    bottom = rng.choice(["2 + sin({})", "1 + exp(({})/4)", "2 + ({})**2", "log(3 + ({})**2)"])
    return f"({top} + {names[0]})/({bottom.replace('{}', _affine(rng, names))})"


def _filled(rng: np.random.Generator, shapes: str, inside: str) -> str:
    """One of some shapes (between bars) with ``{}`` filled in."""
    return str(rng.choice(shapes.split("|"))).replace("{}", inside)


def _quotient(rng: np.random.Generator, names: tuple[str, ...], degree: int) -> str:
    top = f"{_monomials(rng, names, degree, 3)} + {_monomials(rng, names, 2, 1)} + {names[0]}"
    return f"({top})/(1 + {_squares(rng, names)})"


def _quadratic_radial(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    squares = _squares(rng, names, bool(rng.integers(2)))
    return f"({_monomials(rng, names, 2, 4)})" + _filled(rng, "*exp(-({})/2)|/sqrt(1 + {})|/(1 + {})**2", squares)


def _radial(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    shapes = "exp(-({})/2)|sqrt(1 + {})|log(2 + {})|1/(1 + {})"
    return _filled(rng, shapes, _squares(rng, names, True)) + f" + sin({_affine(rng, names)})"


FORMS: dict[str, Callable[[np.random.Generator, tuple[str, ...]], str]] = {
    "weighted quotient": lambda rng, v: _quotient(rng, v, 2),
    "cubic quotient": lambda rng, v: _quotient(rng, v, 3),
    "quotient of its own": _composed,
    "sum written out": _written,
    "quadratic times radial": _quadratic_radial,
    "radial": _radial,
    "composition": lambda rng, v: f"log(2 + sin({'*'.join(v)}) + {_squares(rng, v, True)}) + {_convex(v)}",
    "on the whole space": lambda rng, v: _quotient(rng, v, int(rng.integers(2, 5))),
}


def drawn(form: str, seed: int) -> Drawn:
    """A problem of a form."""
    rng = np.random.default_rng([seed, *form.encode()])
    n = int(rng.integers(2, 5 if form in ("composition", "quotient of its own") else 6))
    x, y = tuple(f"x{i + 1}" for i in range(n - 1)), ("y1",)
    size = None if form == "on the whole space" else float(rng.choice([0.5, 1.0, 2.0]))
    return Drawn(form, FORMS[form](rng, (*x, *y)), x, y, size)


class Derivatives:
    """Symmetric derivative tensors of a formula at many points, shape (points, n, ..., n)."""

    def __init__(self, problem: Drawn) -> None:
        self.names = sympy.symbols([*problem.x, *problem.y], real=True)
        self.g = sympy.sympify(problem.g, locals={v.name: v for v in self.names})
        self.known: dict[int, Callable[..., list[Array]]] = {}
        self.entries: dict[tuple[int, ...], sympy.Expr] = {(): self.g}

    def _entry(self, index: tuple[int, ...]) -> sympy.Expr:
        if index not in self.entries:
            self.entries[index] = sympy.diff(self._entry(index[:-1]), self.names[index[-1]])
        return self.entries[index]

    def at(self, order: int, points: Array) -> Array:
        n = len(self.names)
        indices = list(itertools.combinations_with_replacement(range(n), order))
        if order not in self.known:
            self.known[order] = sympy.lambdify(self.names, [self._entry(i) for i in indices], "numpy", cse=True)
        values = self.known[order](*points.T)
        out = np.zeros((len(points), *[n] * order))
        for index, value in zip(indices, values):
            for place in set(itertools.permutations(index)):
                out[(slice(None), *place)] = value
        return out


def along(tensors: Array, u: Array, free: int = 0) -> Array:
    """``T[u, ..., u]`` with so many slots left free."""
    while tensors.ndim > 1 + free:
        tensors = np.einsum("p...i,pi->p...", tensors, u)
    return tensors


def directions(tensors: Array, rng: np.random.Generator) -> Array:
    """Unit vectors near which ``|T[u, ..., u]|`` is largest: of the Hessian exactly, else by power steps."""
    if tensors.ndim == 3:
        values, vectors = np.linalg.eigh(tensors)
        return vectors[np.arange(len(values)), :, np.argmax(np.abs(values), axis=1)]
    u = rng.normal(size=tensors.shape[:2])
    for _ in range(12):
        u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
        u = along(tensors, u, 1) + 1e-12 * u
    return u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)


def ascended(derivatives: Derivatives, order: int, points: Array, u: Array, sign: Array, size: float) -> Array:
    """Points and directions moved along the gradient of ``sign D^k h [u, ..., u]`` while it grows; its values."""
    step = np.full(len(points), 0.1 * size)
    value = sign * along(derivatives.at(order, points), u)
    for _ in range(40):
        up_z = sign[:, None] * along(derivatives.at(order + 1, points), u, 1)
        up_u = sign[:, None] * along(derivatives.at(order, points), u, 1)
        length = np.maximum(np.linalg.norm(up_z, axis=1, keepdims=True), 1e-300)
        z = np.clip(points + step[:, None] * up_z / length, -size, size)
        v = u + 0.5 * up_u / np.maximum(np.linalg.norm(up_u, axis=1, keepdims=True), 1e-300)
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        found = sign * along(derivatives.at(order, z), v)
        better = found > value
        points, u = np.where(better[:, None], z, points), np.where(better[:, None], v, u)
        value, step = np.where(better, found, value), np.where(better, 1.3 * step, 0.5 * step)
    return value


def largest(
    problem: Drawn, derivatives: Derivatives, order: int, count: int, rng: np.random.Generator, climb: bool = True
) -> float:
    """The largest ``|D^k h|`` that was found in the box; ``climb``: by ascent, too."""
    n, size = len(derivatives.names), problem.size or 3.0
    best, kept = 0.0, []
    for _ in range(-(-count // 20_000)):
        points = rng.uniform(-size, size, (min(count, 20_000), n))
        at_corners = rng.random(points.shape) < 0.1
        points = np.where(at_corners, size * np.sign(points), points)
        tensors = derivatives.at(order, points)
        u = directions(tensors, rng)
        values = along(tensors, u)
        top = np.argsort(-np.abs(values))[:8]
        kept.append((points[top], u[top], np.sign(values[top])))
        best = max(best, float(np.abs(values[top[0]])))
    if not climb:
        return best
    starts = [np.concatenate(column) for column in zip(*kept)]
    return max(best, float(ascended(derivatives, order, starts[0], starts[1], starts[2], size).max()))


def least_curvature(problem: Drawn, derivatives: Derivatives, count: int, rng: np.random.Generator) -> float:
    """The least second derivative in y (one variable) that was found in the box."""
    n, size = len(derivatives.names), problem.size or 3.0
    points = rng.uniform(-size, size, (count, n))
    u = np.zeros((count, n))
    u[:, -1] = 1.0
    values = derivatives.at(2, points)[:, -1, -1]
    points = points[np.argsort(values)[:16]]
    step = np.full(len(points), 0.1 * size)
    best = np.sort(values)[:16]
    for _ in range(40):
        slope = derivatives.at(3, points)[:, -1, -1]
        z = np.clip(
            points - step[:, None] * slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300),
            -size,
            size,
        )
        found = derivatives.at(2, z)[:, -1, -1]
        better = found < best
        points, best = np.where(better[:, None], z, points), np.where(better, found, best)
        step = np.where(better, 1.3 * step, 0.5 * step)
    return float(best.min())


def grows(derivatives: Derivatives, order: int, rng: np.random.Generator) -> bool:
    """Whether the largest ``|D^k h|`` that is seen grows from one distance to the next."""
    rays = rng.normal(size=(2_000, len(derivatives.names)))
    rays = np.concatenate([rays, np.eye(len(derivatives.names)), rays * (rng.random(rays.shape) < 0.5)])
    seen = []
    for far in FARTHEST:
        tensors = derivatives.at(order, far * rays)
        seen.append(float(np.abs(along(tensors, directions(tensors, rng))).max()))
    return seen[2] > 2 * seen[1] > 4 * seen[0]


def contradictions(
    problem: Drawn, count: int, effort: float, letters: tuple[str, ...] = ("mu", "L_g", "rho_g"), highest: int = 4
) -> tuple[int, list[str]]:
    """How many constants were looked at, and what contradicts them; derivatives up to order ``highest`` are made."""
    size, names = problem.size, (*problem.x, *problem.y)
    domain = {} if size is None else dict.fromkeys(names, (-size, size))
    made = bv.bilevel(f="y1", g=problem.g, x=problem.x, y=problem.y, domain=domain)
    table = bv.constants(made, effort=effort, only=letters)
    derivatives, rng, told = Derivatives(problem), np.random.default_rng(7), []
    for name in letters:
        value = table[name].value
        if name == "mu":
            reached = least_curvature(problem, derivatives, count, rng)
            wrong = value > reached + 1e-9 * max(1.0, abs(reached))
        elif np.isinf(value):
            reached = np.inf
            wrong = table[name].lower == np.inf and not grows(derivatives, 2 if name == "L_g" else 3, rng)
        else:
            order = 2 if name == "L_g" else 3
            reached = largest(problem, derivatives, order, count, rng, climb=order < highest)
            wrong = not value >= reached * (1 - 1e-9)
        if wrong:
            told.append(f"{problem.form}: {name} = {value!r}, {reached!r} was reached: {problem.g}")
    return len(letters), told
