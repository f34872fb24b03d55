"""Lower-level values that are exact: a lower bound that holds everywhere, attained at a rational point of Z."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import sympy

from bilevel_verify.atoms.functions import abspow, pluspow
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Intersection,
    Isotonic,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.truth.simple_bilevel.posed import Posed

Point = tuple[Fraction, ...]
DENOMINATORS = (1, 2, 6, 12, 60, 100, 840, 1000, 10**6)
LARGEST = 40


def certified_minimum(simple: Posed, near: Sequence[float]) -> tuple[Fraction, Point] | None:
    """``g*`` as a fraction with a rational minimiser, or None where the bound or the point was not found.

    Parameters
    ----------
    near : a numerical minimiser; rational points next to it are tried.
    """
    g = simple.problem.g
    if g is None or simple.n > LARGEST:
        return None
    for point, bound in _candidates(simple, g, near):
        if not holds_in(simple.problem.feasible or WholeSpace(), point):
            continue
        value = g.subs(dict(zip(simple.problem.x, (sympy.Rational(c.numerator, c.denominator) for c in point))))
        if value.is_Rational and Fraction(int(value.p), int(value.q)) == bound:
            return bound, point
    return None


def _candidates(simple: Posed, g: sympy.Expr, near: Sequence[float]) -> Iterator[tuple[Point, Fraction]]:
    """Rational points with the value that g cannot fall below."""
    if simple.structure.ridges:
        if simple.structure.missing or not _nonnegative(g):
            return
        for denominator in DENOMINATORS:
            yield tuple(Fraction(float(v)).limit_denominator(denominator) for v in near), Fraction(0)
        return
    free = least_norm(simple)
    if free is not None:
        yield free


def least_norm(simple: Posed) -> tuple[Point, Fraction] | None:
    """Unconstrained minimiser of a convex quadratic g that is nearest to the centre of the set, and its value."""
    quadratic, n = simple.structure.quadratic, simple.n
    ball = simple.problem.feasible
    center = ball.center if isinstance(ball, Ball) and ball.center is not None else (0.0,) * n
    shift = sympy.Matrix([sympy.Rational(Fraction(v).numerator, Fraction(v).denominator) for v in center])
    rational = [[sympy.Rational(v.numerator, v.denominator) for v in row] for row in quadratic.Q]
    Q = sympy.Matrix(rational)
    q = sympy.Matrix([sympy.Rational(v.numerator, v.denominator) for v in quadratic.q]) + Q * shift
    if simple.structure.missing or Q.rank() == 0:
        return None
    V = sympy.Matrix.hstack(*Q.columnspace())
    u = V * (V.T * Q * V).LUsolve(-V.T * q)
    if not (Q * u + q).is_zero_matrix:
        return None
    point = tuple(Fraction(int(c.p), int(c.q)) for c in u + shift)
    value = simple.problem.g.subs(dict(zip(simple.problem.x, u + shift)))  # type: ignore[union-attr]
    return (point, Fraction(int(value.p), int(value.q))) if value.is_Rational else None


def _nonnegative(g: sympy.Expr) -> bool:
    """Whether every addend is a positive multiple of an even power, of an absolute value or of a positive part."""
    for term in sympy.Add.make_args(g):
        weight, core = term.as_coeff_Mul()
        base, exponent = core.as_base_exp()
        even = exponent.is_Integer and exponent % 2 == 0
        part = isinstance(base, pluspow | abspow | sympy.Abs)
        if not (weight > 0 and (even or part)):
            return False
    return True


def holds_in(feasible: FeasibleSet, point: Point) -> bool:
    """Membership in exact arithmetic (the numbers of the set are the floats that it stores)."""
    total = sum(point, Fraction(0))
    match feasible:
        case WholeSpace():
            return True
        case Orthant():
            return all(v >= 0 for v in point)
        case Box():
            return all(_above(v, lo) and _above(-v, -hi) for v, lo, hi in zip(point, feasible.lo, feasible.hi))
        case Ball():
            center = feasible.center or (0.0,) * len(point)
            return sum((v - Fraction(c)) ** 2 for v, c in zip(point, center)) <= Fraction(feasible.radius) ** 2
        case Simplex():
            return all(v >= 0 for v in point) and total == Fraction(feasible.total)
        case L1Ball():
            return sum(abs(v) for v in point) <= Fraction(feasible.radius)
        case HalfSpace():
            height = sum((Fraction(a) * v for a, v in zip(feasible.normal, point)), Fraction(0))
            return height <= Fraction(feasible.offset)
        case Isotonic():
            return all(a <= b for a, b in pairwise(point))
        case Intersection():
            return all(holds_in(part, point) for part in feasible.sets)
    return False


def _above(value: Fraction, low: float) -> bool:
    return low == float("-inf") or value >= Fraction(low)
