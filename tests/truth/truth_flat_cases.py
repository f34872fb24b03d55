"""Random simple bilevel problems with nearly flat lower levels, whose answers are exact by construction.

Slopes and curvatures of g run from 1e-3 to 1e-14 beside ones of order one; f, g, x and the set are scaled, shifted and
turned, and the answer with them. Everything is computed in fractions; f is half a squared distance (times a factor).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

import bilevel_verify as bv
from bilevel_verify.problems.feasible import FeasibleSet

Vector = list[Fraction]


@dataclass(frozen=True)
class Flat:
    """A problem with its exact f* and x*, and g* as a SymPy number."""

    problem: Any
    f_star: Fraction
    g_star: sympy.Expr
    x_star: Vector
    label: str


@dataclass(frozen=True)
class Draft:
    """g over a set and its argmin's point nearest to the target, in normal units."""

    g: sympy.Expr
    feasible: Callable[[float], FeasibleSet]
    target: Vector
    best: Vector
    label: str


def names(n: int) -> tuple[sympy.Symbol, ...]:
    """The variables x1 .. xn."""
    return sympy.symbols(f"x1:{n + 1}", real=True)


def rational(value: Fraction) -> sympy.Rational:
    """A fraction for SymPy."""
    return sympy.Rational(value.numerator, value.denominator)


def dyadic(rng: np.random.Generator, low: float, high: float) -> Fraction:
    """A random multiple of 1/16."""
    return Fraction(int(rng.integers(int(16 * low), int(16 * high) + 1)), 16)


def tiny(rng: np.random.Generator) -> Fraction:
    """A slope from 1e-3 to 1e-14."""
    return Fraction(int(rng.integers(1, 10)), 10 ** int(rng.integers(3, 15)))


def separable_box(rng: np.random.Generator) -> Draft:
    """Coordinates of a box, each with a linear, a quadratic, a softplus, an exponential or no term of g."""
    n = int(rng.integers(1, 5))
    x, low, high = names(n), [], []
    g, best, target = sympy.Integer(0), [], []
    for s in x:
        a = dyadic(rng, -3, 2)
        b = a + dyadic(rng, 0.5, 4)
        t, size = dyadic(rng, -5, 5), tiny(rng) if rng.random() < 0.7 else Fraction(1)
        up = bool(rng.random() < 0.5)
        slope = rational(size if up else -size)
        kind = rng.integers(0, 5)
        if kind == 0:
            g, place = g + slope * s, a if up else b
        elif kind == 1:
            c = dyadic(rng, -4, 4)
            g, place = g + rational(size) * (s - rational(c)) ** 2, min(max(c, a), b)
        elif kind == 2:
            g, place = g + bv.atoms.softplus(slope * s), a if up else b
        elif kind == 3:
            g, place = g + sympy.exp(slope * s), a if up else b
        else:
            place = min(max(t, a), b)
        low, high, best, target = [*low, a], [*high, b], [*best, place], [*target, t]

    def feasible(unit: float) -> FeasibleSet:
        return bv.Box(tuple(float(v) * unit for v in low), tuple(float(v) * unit for v in high))

    return Draft(g + 0 * x[0], feasible, target, best, "separable box")


TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (4, 3, 5))


def pressed_ball(rng: np.random.Generator) -> Draft:
    """A slope along a Pythagorean direction over a ball: one solution, on the sphere."""
    a, b, c = TRIPLES[int(rng.integers(0, len(TRIPLES)))]
    x, size, radius = names(2), rational(tiny(rng)), dyadic(rng, 0.5, 3)
    form = size * (a * x[0] + b * x[1])
    g = [form, bv.atoms.softplus(form), sympy.exp(form), form + form**2][int(rng.integers(0, 4))]
    best = [-radius * Fraction(a, c), -radius * Fraction(b, c)]
    target = [dyadic(rng, -3, 3), dyadic(rng, -3, 3)]
    return Draft(g, lambda unit: bv.Ball(float(radius) * unit), target, best, "supporting ball")


def chord(rng: np.random.Generator) -> Draft:
    """``(a . x - b)^2`` of tiny weight over a ball: f is least inside the chord."""
    a, b, c = TRIPLES[int(rng.integers(0, len(TRIPLES)))]
    x, weight = names(2), rational(tiny(rng))
    offset = dyadic(rng, -0.5, 0.5)
    foot = [Fraction(a, c) * offset, Fraction(b, c) * offset]
    along = dyadic(rng, -0.5, 0.5)
    best = [foot[0] - Fraction(b, c) * along, foot[1] + Fraction(a, c) * along]
    push = dyadic(rng, -2, 2)
    target = [best[0] + push * Fraction(a, c), best[1] + push * Fraction(b, c)]
    form = sympy.Rational(a, c) * x[0] + sympy.Rational(b, c) * x[1] - rational(offset)
    g = weight * form**2 if rng.random() < 0.5 else bv.atoms.logcosh(weight * form)
    return Draft(g, lambda unit: bv.Ball(unit), target, best, "chord")


def onto_simplex(target: Vector, total: Fraction) -> Vector:
    """Projection onto ``x >= 0, sum x = total`` in fractions."""
    ordered = sorted(target, reverse=True)
    shift = Fraction(0)
    for k in range(1, len(target) + 1):
        candidate = (sum(ordered[:k], Fraction(0)) - total) / k
        if ordered[k - 1] > candidate:
            shift = candidate
    return [max(t - shift, Fraction(0)) for t in target]


def face_of_simplex(rng: np.random.Generator) -> Draft:
    """A linear g with ties over a simplex: the argmin is a face."""
    n = int(rng.integers(2, 6))
    x, size, total = names(n), tiny(rng), dyadic(rng, 0.5, 3)
    costs = [Fraction(int(v)) for v in rng.integers(0, 3, size=n)]
    target = [dyadic(rng, -2, 2) for _ in range(n)]
    least = [i for i in range(n) if costs[i] == min(costs)]
    best = [Fraction(0)] * n
    for i, v in zip(least, onto_simplex([target[i] for i in least], total)):
        best[i] = v
    g = sum((rational(size * c) * s for c, s in zip(costs, x)), sympy.Integer(0))
    return Draft(g, lambda unit: bv.Simplex(float(total) * unit), target, best, "face of a simplex")


def face_of_l1_ball(rng: np.random.Generator) -> Draft:
    """A linear g with ties over an l1 ball: the argmin is a signed simplex."""
    n = int(rng.integers(2, 4))
    x, size, radius = names(n), tiny(rng), dyadic(rng, 0.5, 3)
    costs = [int(v) for v in rng.integers(-2, 3, size=n)]
    costs[0] = costs[0] or 2
    top = max(abs(c) for c in costs)
    target = [dyadic(rng, -2, 2) for _ in range(n)]
    most = [i for i in range(n) if abs(costs[i]) == top]
    sign = [-1 if costs[i] > 0 else 1 for i in most]
    best = [Fraction(0)] * n
    for i, s, v in zip(most, sign, onto_simplex([target[i] * s for i, s in zip(most, sign)], radius)):
        best[i] = s * v
    g = sum((rational(size * c) * s for c, s in zip(costs, x)), sympy.Integer(0))
    return Draft(g, lambda unit: bv.L1Ball(float(radius) * unit), target, best, "face of an l1 ball")


def orthant(rng: np.random.Generator) -> Draft:
    """``eps x1 + (x2 + ... + xn - s)^2`` over the orthant, with weights of very different size."""
    n = int(rng.integers(3, 6))
    x, total = names(n), dyadic(rng, 0.5, 3)
    weight = tiny(rng) if rng.random() < 0.5 else Fraction(1)
    g = rational(tiny(rng)) * x[0] + rational(weight) * (sum(x[1:]) - rational(total)) ** 2
    target = [dyadic(rng, -2, 2) for _ in range(n)]
    return Draft(g, lambda unit: bv.Orthant(), target, [Fraction(0), *onto_simplex(target[1:], total)], "orthant")


def turned_box(rng: np.random.Generator) -> Draft:
    """A turned rectangle (four half-spaces), a slope along one side and a square along the other or nothing."""
    a, b, _ = TRIPLES[int(rng.integers(0, len(TRIPLES)))]
    x, square = names(2), a * a + b * b
    forms = (a * x[0] + b * x[1], -b * x[0] + a * x[1])
    ends = [(dyadic(rng, -3, -0.5), dyadic(rng, 0.5, 3)) for _ in range(2)]
    target = [dyadic(rng, -3, 3), dyadic(rng, -3, 3)]
    seen = [a * target[0] + b * target[1], -b * target[0] + a * target[1]]
    g = rational(tiny(rng)) * forms[0]
    place = [ends[0][0], min(max(seen[1], ends[1][0]), ends[1][1])]
    if rng.random() < 0.5:
        c = dyadic(rng, -2, 2)
        g, place[1] = g + (forms[1] - rational(c)) ** 2, min(max(c, ends[1][0]), ends[1][1])
    best = [(a * place[0] - b * place[1]) / square, (b * place[0] + a * place[1]) / square]
    normals = ((float(a), float(b)), (-float(b), float(a)))

    def feasible(unit: float) -> FeasibleSet:
        sets = [bv.HalfSpace(normal, float(high) * unit) for normal, (_, high) in zip(normals, ends)]
        sets += [bv.HalfSpace((-n[0], -n[1]), -float(low) * unit) for n, (low, _) in zip(normals, ends)]
        return bv.Intersection(tuple(sets))

    return Draft(g, feasible, target, best, "turned box")


def kinks(rng: np.random.Generator) -> Draft:
    """``a max(x1 + x2 - 1, 0) + b |x1 - x2|`` over a box: the solutions are ``x1 = x2 <= 1/2``."""
    x = names(2)
    g = rational(tiny(rng)) * sympy.Max(x[0] + x[1] - 1, 0) + rational(tiny(rng)) * sympy.Abs(x[0] - x[1])
    target = [dyadic(rng, -2, 3), dyadic(rng, -2, 3)]
    place = min(max((target[0] + target[1]) / 2, Fraction(0)), Fraction(1, 2))
    return Draft(g, lambda unit: bv.Box((0, 0), (2 * unit, 2 * unit)), target, [place, place], "kinks")


def composite(rng: np.random.Generator) -> Draft:
    """``a |x1| + b (x2 - c)^2`` over a box, x3 free."""
    x, c = names(3), dyadic(rng, -1, 1)
    g = rational(tiny(rng)) * sympy.Abs(x[0]) + rational(tiny(rng)) * (x[1] - rational(c)) ** 2
    target = [dyadic(rng, -3, 3) for _ in range(3)]
    best = [Fraction(0), c, min(max(target[2], Fraction(-2)), Fraction(2))]
    return Draft(g, lambda unit: bv.Box((-2 * unit,) * 3, (2 * unit,) * 3), target, best, "composite")


FAMILIES = (
    separable_box,
    pressed_ball,
    chord,
    face_of_simplex,
    face_of_l1_ball,
    orthant,
    turned_box,
    kinks,
    composite,
)


def draw(rng: np.random.Generator, family: Callable[[np.random.Generator], Draft], scaled: bool = True) -> Flat:
    """A problem of a family in random units of f, g and x."""
    draft = family(rng)
    n = len(draft.target)
    x = names(n)
    unit = int(rng.choice([0, 0, -30, -10, 10, 30])) if scaled else 0
    of_f = Fraction(10) ** int(rng.choice([0, 0, -9, -4, 4, 9])) if scaled else Fraction(1)
    of_g = Fraction(10) ** int(rng.choice([0, 0, -9, 6])) if scaled else Fraction(1)
    shift = dyadic(rng, -2, 2) if scaled else Fraction(0)
    length = Fraction(2) ** unit
    smaller = {s: s / rational(length) for s in x}
    g = rational(of_g) * draft.g.xreplace(smaller) + rational(shift)
    f = rational(of_f) * sum((s / rational(length) - rational(t)) ** 2 for s, t in zip(x, draft.target)) / 2
    problem = bv.simple_bilevel(f=f, g=g, x=" ".join(map(str, x)), feasible=draft.feasible(2.0**unit))
    f_star = of_f * sum(((b - t) ** 2 for b, t in zip(draft.best, draft.target)), Fraction(0)) / 2
    at = {s: rational(b) for s, b in zip(x, draft.best)}
    g_star = (rational(of_g) * draft.g.xreplace(at) + rational(shift)).doit()
    best = [b * length for b in draft.best]
    return Flat(problem, f_star, g_star, best, f"{draft.label}: f = {f}, g = {g}, {problem.feasible}")


def contradictions(case: Flat) -> tuple[list[str], bool]:
    """What truth says wrongly about a case (false words, values outside their bars); whether f* has a bar."""
    from bilevel_verify.errors import BilevelVerifyError, InfeasibleError

    t = bv.truth(case.problem)
    bad, answered = [], False
    exact_g = sympy.N(case.g_star, 60)
    try:
        found, lower, place = t.f_star, t.g_star, t.x_star
    except InfeasibleError as error:
        return [f"{case.label}: {error}"], False
    except BilevelVerifyError as error:
        false = ("not convex", "no minimiser", "not bounded")  # every problem here is convex and has solutions
        return ([f"{case.label}: {error}"] if any(word in str(error) for word in false) else []), False
    answered = bool(np.isfinite(found.error))
    if abs(Fraction(float(found.value)) - case.f_star) > _bar(found.error):
        bad.append(f"{case.label}: f* {found}, exact {float(case.f_star)!r}")
    off_g = abs(sympy.Float(float(lower.value), 60) - exact_g)
    if np.isfinite(lower.error) and off_g > sympy.Float(lower.error, 60) * (1 + sympy.Rational(1, 10**12)) + 1e-50:
        bad.append(f"{case.label}: g* {lower}, exact {exact_g}")
    off = sum(((Fraction(float(v)) - b) ** 2 for v, b in zip(np.asarray(place.value), case.x_star)), Fraction(0))
    if np.isfinite(place.error) and off > _bar(place.error) ** 2:
        bad.append(f"{case.label}: x* {place}, exact {list(map(float, case.x_star))}")
    return bad, answered


def _bar(error: float) -> Fraction:
    return Fraction(error) * (1 + Fraction(1, 10**12)) if np.isfinite(error) else Fraction(10) ** 400
