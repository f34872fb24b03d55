"""The atoms whose derivatives are polynomials in a generator (tanh, 1/(1+t^2), ...), and the error function."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import sympy

from bilevel_verify.atoms import suprema
from bilevel_verify.intervals.batch import Interval, integer_power, square_root
from bilevel_verify.intervals.elementary import ball_ends, point_values
from bilevel_verify.intervals.scalar_base import Critical, Direct, Scalar, horner, thin, widen_by_slope
from bilevel_verify.intervals.weighted import gauss_base, gauss_value, hypot, rational_base, rational_value
from bilevel_verify.numbers.rounding import Array, ball, enclose, floats_of


class FamilyScalar(Scalar):
    """The atoms of :data:`bilevel_verify.atoms.suprema.FAMILIES`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.family = suprema.FAMILIES[name]

    def prepare(self, points: Array) -> object:
        match self.family.kind:
            case "generator":
                return _generator(self.family.generator, points)
            case "gauss":
                return gauss_base(points)
        return rational_base(points)

    def at(self, order: int, t: Interval) -> Interval:
        return self.at_prepared(order, t.lo, self.prepare(t.lo))

    def at_prepared(self, order: int, points: Array, base: object) -> Interval:
        if order < self.family.start:
            return _antiderivative(self.name, points)
        return _of_sign(self._value(order, points, base), suprema.sign(self.name, order))

    def _value(self, order: int, points: Array, base: object) -> Interval:
        p, power = suprema.polynomial(self.name, order)
        if self.family.kind == "generator":
            assert isinstance(base, Interval)
            return horner(p, base)
        if self.family.kind == "gauss":
            return gauss_value(tuple(map(Fraction, p)), base)
        if self.name == "hypot1" and order == 0:
            return hypot(points)
        return rational_value(tuple(map(Fraction, p)), Fraction(power), points, base)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return _family_critical(self.name, order)


def _of_sign(value: Interval, sign: int) -> Interval:
    """Without what rounding put on the other side of 0: a certified ``mu`` of -1e-16 is no certified convexity."""
    if sign > 0:
        return Interval(np.maximum(value.lo, 0.0), value.hi)
    return value if sign == 0 else Interval(value.lo, np.minimum(value.hi, 0.0))


@lru_cache(maxsize=1024)
def _family_critical(name: str, order: int) -> tuple[Critical, ...]:
    family = suprema.FAMILIES[name]
    scalar = FamilyScalar(name)
    found = []
    for a, b in suprema.critical_generators(name, order):
        with ball_ends():
            where = _argument(family.generator, a, b) if family.kind == "generator" else thin(a, b)
            if family.kind == "generator" and order >= family.start:
                value = horner(suprema.polynomial(name, order)[0], thin(a, b))
            else:
                value = widen_by_slope(order, where, scalar.at(order, Interval(where.lo, where.lo)))
        found.append((float(where.lo), float(where.hi), float(value.lo), float(value.hi)))
    return tuple(found)


def _argument(generator: str, a: Fraction, b: Fraction) -> Interval:
    """Enclosure of ``t`` where the generator takes the value in [a, b]."""
    s = ball(a).union(ball(b))
    low, high = floats_of(s.atanh() if generator == "tanh" else (s / (1 - s)).log())
    return Interval(np.asarray(low), np.asarray(high))


def _generator(name: str, points: Array) -> Interval:
    return point_values("tanh", points) if name == "tanh" else sigmoid(points)


def sigmoid(points: Array) -> Interval:
    """``1/(1+exp(-t))`` at points, accurate in both tails."""
    decay = point_values("exp", -np.abs(points))
    one = Interval.of(1.0)
    small = decay * (one + decay).reciprocal()  # e/(1+e) <= 1/2: monotone use of the same thin interval is safe
    large = (one + decay).reciprocal()
    positive = points >= 0
    low = np.maximum(np.where(positive, large.lo, small.lo), 0.0)
    high = np.minimum(np.where(positive, large.hi, small.hi), 1.0)
    return Interval(low, high)


def _antiderivative(name: str, points: Array) -> Interval:
    """Value of softplus, logcosh, atan, asinh, log(1+t^2) at float points."""
    match name:
        case "softplus" | "logcosh":
            scale = 1.0 if name == "softplus" else 2.0
            decay = point_values("exp", -scale * np.abs(points))
            small = point_values("log1p", decay.lo).hull(point_values("log1p", decay.hi))
            base = np.maximum(points, 0.0) if name == "softplus" else np.abs(points)
            value = Interval(base, base) + small
            if name == "logcosh":
                two = point_values("log", np.asarray(2.0))
                value = value - two
                value = Interval(np.maximum(value.lo, 0.0), value.hi)
            return value
        case "atan" | "asinh":
            return point_values(name, points)
        case "log1psquare":
            square = Interval(points, points).square()
            return point_values("log1p", square.lo).hull(point_values("log1p", square.hi))
    raise ValueError(f"no value rule for {name}")


class Erf(Direct):
    """``erf``: derivatives are scaled Gaussians, ``erf^(k)(t) = 2/sqrt(pi) sqrt(2)^(k-1) G^(k-1)(sqrt(2) t)``."""

    name = "erf"

    def __init__(self) -> None:
        self.gauss = FamilyScalar("gauss")
        self.root = square_root(Interval.of(2.0))
        self.front = Interval(*map(np.asarray, enclose(2 / sympy.sqrt(sympy.pi))))

    def range(self, order: int, t: Interval) -> Interval:
        if order == 0:
            return Interval(point_values("erf", t.lo).lo, point_values("erf", t.hi).hi)
        inner = self.gauss.range(order - 1, t * self.root)
        return inner * self.front * integer_power(self.root, order - 1)
