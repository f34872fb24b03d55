"""Random simple bilevel problems whose solution and constants are known in closed form, for r = 1, 2 and 4.

Every family has ``f = h |x - t|^2 / 2``, so that x* is the projection of t on the solution set of the lower level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import bilevel_verify as bv
from bilevel_verify.truth.sets.projections import project, project_with_cut

Array = np.ndarray


@dataclass(frozen=True)
class Known:
    """A problem with its exact numbers; ``D`` is infinite for unbounded sets."""

    family: str
    problem: bv.Problem
    x0: Array
    x_star: Array
    f: Callable[[Array], Array]
    g: Callable[[Array], Array]
    L_f: float
    L_g: float
    D: float
    alpha: float
    r: float
    M: float
    active: bool


def _text(v: float) -> str:
    return f"({float(v)!r})"


def _upper(h: float, t: Array) -> str:
    return f"{_text(h)}*(" + " + ".join(f"(x{i + 1} - {_text(v)})**2" for i, v in enumerate(t)) + ")/2"


def _row(a: Array, c: float) -> str:
    return " + ".join(f"{_text(v)}*x{i + 1}" for i, v in enumerate(a)) + f" - {_text(c)}"


def _finish(
    family: str, rng: np.random.Generator, feasible: object, g_text: str, g: Callable[[Array], Array],
    onto: Callable[[Array], Array], L_g: float, D: float, alpha: float, r: float, reach: float, n: int,
) -> Known:  # fmt: skip
    h, t = float(rng.uniform(0.3, 3.0)), rng.normal(size=n) * rng.choice([0.3, 1.0, 3.0])
    x_star = onto(t)
    problem = bv.simple_bilevel(f=_upper(h, t), g=g_text, x=f"x{{1..{n}}}", feasible=feasible)  # type: ignore[arg-type]
    x0 = project(feasible, rng.normal(size=n))  # type: ignore[arg-type]
    M = h * (float(np.linalg.norm(t)) + reach)
    active = bool(np.linalg.norm(x_star - t) > 1e-12)
    return Known(
        family, problem, x0, x_star, lambda X: h / 2 * np.sum((X - t) ** 2, axis=-1), g, h, L_g, D, alpha, r, M, active
    )


def weak_sharp(rng: np.random.Generator) -> Known:
    """Toy C: a slope on one coordinate of the unit box, r = 1."""
    n, slope, bend = int(rng.integers(2, 5)), float(rng.uniform(0.2, 2)), float(rng.uniform(0.1, 4))
    text = f"{_text(slope)}*x1 + {_text(bend)}/2*x1**2"
    onto = lambda v: np.r_[0.0, np.clip(v[1:], 0, 1)]
    g = lambda X: slope * X[..., 0] + bend / 2 * X[..., 0] ** 2
    box = bv.Box([0.0] * n, [1.0] * n)
    return _finish("weak sharp", rng, box, text, g, onto, bend, np.sqrt(n), slope, 1.0, np.sqrt(n), n)


def power(rng: np.random.Generator) -> Known:
    """B3: a power of one coordinate, r = 2 or 4."""
    n, r, w = int(rng.integers(2, 5)), int(rng.choice([2, 4])), float(rng.uniform(0.3, 2))
    onto = lambda v: np.r_[0.0, np.clip(v[1:], 0, 1)]
    box = bv.Box([0.0] * n, [1.0] * n)
    g = lambda X: w * X[..., 0] ** r / r
    return _finish("power", rng, box, f"{_text(w)}*x1**{r}/{r}", g, onto, w * (r - 1), np.sqrt(n), w, r, np.sqrt(n), n)


def linear_inverse(rng: np.random.Generator) -> Known:
    """Toy B on the orthant: unbounded, r = 2."""
    n = int(rng.integers(2, 6))
    g = lambda X: (np.sum(X, axis=-1) - 1) ** 2 / 2
    onto = lambda v: project(bv.Simplex(total=1), v)
    return _finish("linear inverse", rng, bv.Orthant(), "(sum(x) - 1)**2/2", g, onto, n, np.inf, 1.0, 2.0, 1.0, n)


def penalty(rng: np.random.Generator) -> Known:
    """B5: the square of one positive part on a box; the solution set has an interior, r = 2."""
    n = int(rng.integers(2, 5))
    a, c = rng.uniform(0.3, 2, n), float(rng.uniform(0.2, 1.0))
    g = lambda X: np.maximum(0, X @ a - c) ** 2 / 2
    box = bv.Box([0.0] * n, [2.0] * n)
    onto = lambda v: project_with_cut(box, v, a, c).point
    L_g, alpha = float(a @ a), float(np.min(a)) ** 2
    reach = 2 * np.sqrt(n)
    return _finish("penalty", rng, box, f"max(0, {_row(a, c)})**2/2", g, onto, L_g, reach, alpha, 2.0, reach, n)


def chord(rng: np.random.Generator) -> Known:
    """Toy A with one row: the unit ball cut by a line, r = 2 (alpha from the ends of the chord)."""
    n = int(rng.integers(2, 5))
    a = rng.normal(size=n)
    size = float(np.linalg.norm(a))
    depth = float(rng.uniform(0.0, 0.9))
    c = depth * size
    g = lambda X: (X @ a - c) ** 2 / 2

    def onto(v: Array) -> Array:
        u = a / size
        rest = v - (u @ v) * u
        reach, length = np.sqrt(1 - depth**2), float(np.linalg.norm(rest))
        return depth * u + (rest if length <= reach else rest * (reach / length))

    alpha = size**2 * (1 - depth**2)  # the pencil of the error-bound rule has one eigenvalue
    return _finish("chord", rng, bv.Ball(radius=1), f"({_row(a, c)})**2/2", g, onto, size**2, 2.0, alpha, 2.0, 1.0, n)


def tangent(rng: np.random.Generator) -> Known:
    """Toy D: the line touches the unit ball along a coordinate, r = 4."""
    n, w = int(rng.integers(2, 5)), float(rng.uniform(0.3, 2))
    g = lambda X: w * (X[..., 0] - 1) ** 2 / 2
    onto = lambda v: np.r_[1.0, np.zeros(n - 1)]
    text = f"{_text(w)}*(x1 - 1)**2/2"
    return _finish("tangent", rng, bv.Ball(radius=1), text, g, onto, w, 2.0, w / 2, 4.0, 1.0, n)


FAMILIES = (weak_sharp, power, linear_inverse, penalty, chord, tangent)


def draw(seed: int) -> Known:
    """The problem of a seed; the families take turns."""
    rng = np.random.default_rng(seed)
    return FAMILIES[seed % len(FAMILIES)](rng)
