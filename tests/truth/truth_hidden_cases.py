"""Random simple bilevel problems whose g is no convex function that the tool knows, with exact answers.

g is put together from convex functions of flat ones (``truth_flat_cases``), all with the same minimisers, or from
coordinates and norms with known ones; f is half a squared distance. Little may be said of them, nothing false.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
import truth_flat_cases as flat
from truth_flat_cases import Draft, dyadic, names, rational, tiny

import bilevel_verify as bv

Shape = Callable[[Any], Any]
RISING: tuple[Shape, ...] = (
    lambda u: sympy.sqrt(1 + u**2),
    lambda u: sympy.exp(u) + u**2,
    lambda u: 1 / (1000 - u),
    lambda u: -sympy.log(1000 - u),
    lambda u: -sympy.sqrt(1000 - u),
    lambda u: bv.atoms.softplus(bv.atoms.softplus(u)),
    lambda u: sympy.log(1 + sympy.exp(u) + sympy.exp(2 * u)),
    lambda u: sympy.exp(sympy.exp(u)),
    lambda u: u + u**4,
    lambda u: sympy.sqrt(2 + 2 * u + u**2) + u,
    lambda u: bv.atoms.logcosh(u) + u,
)
"""Convex and increasing on [0, 900]."""


def _least(draft: Draft) -> sympy.Expr:
    """g* of a draft, exactly."""
    return draft.g.xreplace({s: rational(b) for s, b in zip(names(len(draft.best)), draft.best)})


def _base(rng: np.random.Generator) -> Draft:
    """A flat draft with g >= 0 and g* = 0 (an affine or quadratic one, so that g* is rational)."""
    families = (flat.separable_box, flat.pressed_ball, flat.chord, flat.face_of_simplex, flat.turned_box)
    while True:
        draft = families[int(rng.integers(0, len(families)))](rng)
        least = _least(draft)
        if least.is_Rational and draft.g.is_polynomial():
            scale = 10 ** int(rng.integers(0, _room(draft.g) + 1))
            return Draft(scale * (draft.g - least), draft.feasible, draft.target, draft.best, draft.label)


def _room(g: sympy.Expr) -> int:
    """Powers of ten by which a polynomial may be multiplied and stay below 900 for ``|x_i| <= 6``."""
    total = float(sum(abs(c) * 6 ** sum(powers) for powers, c in sympy.Poly(g, *names(6)).terms()))
    return min(7, max(0, int(np.floor(np.log10(400 / total))))) if total else 0


def composed(rng: np.random.Generator) -> Draft:
    """One increasing convex function of a flat g."""
    base = _base(rng)
    shape = RISING[int(rng.integers(0, len(RISING)))]
    return Draft(_weight(rng) * shape(base.g), base.feasible, base.target, base.best, f"composed, {base.label}")


def summed(rng: np.random.Generator) -> Draft:
    """Two such functions of the same flat g, added."""
    base = _base(rng)
    first, second = (RISING[int(i)] for i in rng.choice(len(RISING), size=2, replace=False))
    g = _weight(rng) * first(base.g) + _weight(rng) * second(base.g)
    return Draft(g, base.feasible, base.target, base.best, f"summed, {base.label}")


def _weight(rng: np.random.Generator) -> sympy.Expr:
    return sympy.Integer(1) if rng.random() < 0.3 else rational(tiny(rng))


def coordinates(rng: np.random.Generator) -> Draft:
    """Coordinates of a box, each with a flat function of its own."""
    n = int(rng.integers(1, 4))
    x, low, high = names(n), [], []
    g, best, target = sympy.Integer(0), [], []
    for s in x:
        a = dyadic(rng, -2, 2)
        b, c, t = a + dyadic(rng, 0.5, 3), dyadic(rng, -3, 3), dyadic(rng, -4, 4)
        eps, u, v = rational(tiny(rng)), s - rational(a), s - rational(c)
        inner = min(max(c, a), b)
        term, place = (
            (sympy.sqrt(1 + (eps * v) ** 2), inner),
            (eps * sympy.sqrt(eps + v**2), inner),
            (eps * v ** (2 * int(rng.integers(3, 7))), inner),
            (-eps * sympy.log(1 + u), b),
            (eps / (1 + u), b),
            (-eps * sympy.sqrt(1 + u), b),
            (eps * (1 + u) ** sympy.Rational(7, 4), a),
            (eps * (1 + u) * sympy.log(1 + u), a),
            (eps * u**2 / (1 + u), a),
            (sympy.log(1 + sympy.exp(eps * u) + sympy.exp(2 * eps * u)), a),
            (sympy.Integer(0), min(max(t, a), b)),
        )[int(rng.integers(0, 11))]
        low, high, best, target, g = [*low, a], [*high, b], [*best, place], [*target, t], g + term

    def feasible(unit: float) -> bv.Box:
        return bv.Box(tuple(float(e) * unit for e in low), tuple(float(e) * unit for e in high))

    return Draft(g, feasible, target, best, "coordinates")


def norms(rng: np.random.Generator) -> Draft:
    """A norm of some coordinates (or a root of a sum of squares) over a box, the others free."""
    n = int(rng.integers(2, 5))
    x, k = names(n), int(rng.integers(1, n + 1))
    centre, target = [dyadic(rng, -1, 1) for _ in range(k)], [dyadic(rng, -3, 3) for _ in range(n)]
    squares = sum((s - rational(c)) ** 2 for s, c in zip(x, centre))
    shift = [sympy.Integer(0), sympy.Integer(1), rational(tiny(rng))][int(rng.integers(0, 3))]
    g = rational(tiny(rng)) * sympy.sqrt(shift + squares)
    if rng.random() < 0.5:
        g = g + rational(tiny(rng)) * sympy.sqrt(1 + squares)
    best = [*centre, *(min(max(t, Fraction(-2)), Fraction(2)) for t in target[k:])]
    return Draft(g, lambda unit: bv.Box((-2 * unit,) * n, (2 * unit,) * n), target, best, "norms")


def corners(rng: np.random.Generator) -> Draft:
    """Functions of several variables that fall towards a corner of a box, one variable free."""
    n = int(rng.integers(2, 5))
    x, target = names(n), [dyadic(rng, -2, 3) for _ in range(n)]
    eps, total = rational(tiny(rng)), sum(names(n)[:-1])
    g, place = (
        (-eps * sympy.log(1 + total), 1),
        (eps * sympy.log(1 + sum(sympy.exp(eps * s) for s in x[:-1])), 0),
        (eps / (1 + total), 1),
        (eps * sympy.exp(-sympy.log(1 + total)), 1),
        (eps * sum(s * t for s in x[:-1] for t in x[:-1]) ** 2 + eps * total**3, 0),
        (sum(-eps * sympy.sqrt(1 + s) for s in x[:-1]) + sympy.sqrt(1 + eps * (total - n + 1) ** 2), 1),
    )[int(rng.integers(0, 6))]
    best = [*(Fraction(place) for _ in x[:-1]), min(max(target[-1], Fraction(0)), Fraction(1))]
    return Draft(g, lambda unit: bv.Box((0.0,) * n, (unit,) * n), target, best, "corners")


FAMILIES = (composed, summed, coordinates, norms, corners)


def draw(number: int, key: int = 5) -> flat.Flat:
    """The problem of a number; every other one in random units of f, g and x."""
    rng = np.random.default_rng([key, number])
    return flat.draw(rng, FAMILIES[number % len(FAMILIES)], scaled=number % 2 == 1)
