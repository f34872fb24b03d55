"""Derivative tensors over boxes: truncated multivariate Taylor series with interval coefficients.

A jet of order K in n variables holds enclosures of ``D^alpha h / alpha!`` over every box of a batch, for all
multi-indices of degree at most K. Atoms enter with the exact ranges of their derivatives, affine inner functions stay
points, and coefficients that vanish identically are not stored. :class:`JetArithmetic` (next door) runs any
straight-line program on jets.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from bilevel_verify.intervals.batch import Interval, clean
from bilevel_verify.intervals.scalar import Scalar, point, scalar
from bilevel_verify.numbers.rounding import UNIT

Index = tuple[int, ...]
_RECIPROCAL = scalar("power", Fraction(-1))
MEET, FEW_BOXES = 3, 64
"""Of so few variables, or over so few boxes, a quotient is bounded in two ways."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How two coefficient lists multiply: pairs sorted by target."""

    left: Any
    right: Any
    starts: Any
    support: tuple[int, ...]
    longest: int


class JetSpace:
    """Multi-indices of degree at most ``order`` in ``n`` variables, graded, and the product tables."""

    def __init__(self, n: int, order: int) -> None:
        self.n, self.order = n, order
        self.indices: list[Index] = [i for k in range(order + 1) for i in _of_degree(n, k)]
        self.place = {index: number for number, index in enumerate(self.indices)}
        self.degree = [sum(index) for index in self.indices]
        self.factorial = [math.prod(math.factorial(a) for a in index) for index in self.indices]
        self._plans: dict[tuple[tuple[int, ...], tuple[int, ...] | None], Plan] = {}

    def of_degree(self, k: int) -> list[int]:
        """Numbers of the multi-indices of one degree."""
        return [number for number, degree in enumerate(self.degree) if degree == k]

    def plan(self, left: tuple[int, ...], right: tuple[int, ...]) -> Plan:
        """Product table of two supports."""
        key = (left, right)
        if key not in self._plans:
            self._plans[key] = self._make_plan(left, right)
        return self._plans[key]

    def _make_plan(self, left: tuple[int, ...], right: tuple[int, ...]) -> Plan:
        pairs: dict[int, list[tuple[int, int]]] = {}
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                if self.degree[a] + self.degree[b] <= self.order:
                    target = self.place[tuple(p + q for p, q in zip(self.indices[a], self.indices[b]))]
                    pairs.setdefault(target, []).append((i, j))
        support = tuple(sorted(pairs))
        flat = [pair for target in support for pair in pairs[target]]
        counts = [len(pairs[target]) for target in support]
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
        return Plan(
            np.array([p[0] for p in flat], dtype=np.intp),
            np.array([p[1] for p in flat], dtype=np.intp),
            starts,
            support,
            max(counts, default=0),
        )


@lru_cache(maxsize=64)
def jet_space(n: int, order: int) -> JetSpace:
    """The jet space of a dimension and an order (tables are shared)."""
    return JetSpace(n, order)


def _of_degree(n: int, k: int) -> list[Index]:
    out = []
    for combo in itertools.combinations_with_replacement(range(n), k):
        index = [0] * n
        for i in combo:
            index[i] += 1
        out.append(tuple(index))
    return out


@dataclass(frozen=True, slots=True)
class Jet:
    """Coefficients (one row per stored multi-index, one column per box; one column if the same for all boxes)."""

    space: JetSpace
    support: tuple[int, ...]
    data: Interval

    def row(self, number: int) -> Interval | None:
        """Coefficient of one multi-index, None if it vanishes identically."""
        if number not in self.support:
            return None
        return self.data[self.support.index(number)]

    def constant_term(self) -> Interval:
        """The value over each box."""
        found = self.row(0)
        return Interval(np.zeros(1), np.zeros(1)) if found is None else found

    def without_constant(self) -> Jet:
        """The nilpotent part."""
        if not self.support or self.support[0] != 0:
            return self
        return Jet(self.space, self.support[1:], self.data[1:])


def zero_jet(space: JetSpace) -> Jet:
    """The jet that vanishes identically: no coefficient is stored."""
    nothing = np.zeros((0, 1))
    return Jet(space, (), Interval(nothing, nothing))


def _segment_sum(values: Interval, plan: Plan) -> Interval:
    """Sums of consecutive rows, with the rounding error of ``longest`` additions added outward."""
    if plan.longest <= 1:
        return values
    low = np.add.reduceat(values.lo, plan.starts, axis=0)
    high = np.add.reduceat(values.hi, plan.starts, axis=0)
    factor = plan.longest * UNIT * 1.01
    with np.errstate(invalid="ignore"):
        low_room = np.add.reduceat(np.abs(values.lo), plan.starts, axis=0) * factor
        high_room = np.add.reduceat(np.abs(values.hi), plan.starts, axis=0) * factor
        single = np.diff(np.append(plan.starts, len(values.lo))) == 1
        low_room[single] = 0.0
        high_room[single] = 0.0
        return clean(low - low_room, high + high_room)


def multiply(a: Jet, b: Jet) -> Jet:
    """Product of two jets."""
    if a is b:
        return _square(a)
    plan = a.space.plan(a.support, b.support)
    if not plan.support:
        return zero_jet(a.space)
    with np.errstate(invalid="ignore", over="ignore"):
        return Jet(a.space, plan.support, _segment_sum(a.data[plan.left] * b.data[plan.right], plan))


def _square(a: Jet) -> Jet:
    plan = a.space.plan(a.support, a.support)
    if not plan.support:
        return zero_jet(a.space)
    with np.errstate(invalid="ignore", over="ignore"):
        products = a.data[plan.left] * a.data[plan.right]
        same = plan.left == plan.right
        squares = a.data[plan.left[same]].square()
        products.lo[same], products.hi[same] = squares.lo, squares.hi
        return Jet(a.space, plan.support, _segment_sum(products, plan))


def add(a: Jet, b: Jet) -> Jet:
    """Sum of two jets."""
    if not a.support or not b.support:
        return b if not a.support else a
    if a.support == b.support:
        return Jet(a.space, a.support, a.data + b.data)
    support = tuple(sorted(set(a.support) | set(b.support)))
    place = {number: row for row, number in enumerate(support)}
    width = max(a.data.lo.shape[1], b.data.lo.shape[1])
    low, high = np.zeros((len(support), width)), np.zeros((len(support), width))
    rows_a = [place[s] for s in a.support]
    low[rows_a], high[rows_a] = a.data.lo, a.data.hi
    common = [s for s in b.support if s in set(a.support)]
    fresh = [s for s in b.support if s not in set(a.support)]
    for names, mixed in ((fresh, False), (common, True)):
        rows = [place[s] for s in names]
        part = b.data[[b.support.index(s) for s in names]]
        total = Interval(low[rows], high[rows]) + part if mixed else part
        low[rows], high[rows] = total.lo, total.hi
    return Jet(a.space, support, Interval(low, high))


def homogeneous(jet: Jet, degree: int) -> Jet:
    """The part of one degree."""
    rows = [row for row, number in enumerate(jet.support) if jet.space.degree[number] == degree]
    return Jet(jet.space, tuple(jet.support[row] for row in rows), jet.data[rows])


def quotient(a: Jet, b: Jet, series: Jet | None = None) -> Jet:
    """``a / b``: by the series of the reciprocal, and degree by degree from ``q b = a``,

    ``q_d = (a_d - sum_(j = 1..d) b_j q_(d-j)) / b_0``: lower derivatives of the quotient itself stand there, which are
    smaller than those of both factors where numerator and denominator grow together. Both hold, and so does their
    meet; for many boxes of many variables the second way alone is taken, which costs half as much and loses only where
    boxes are wide. ``series`` is what the first way gives, where that is known.
    """
    value, varying = b.constant_term(), b.without_constant().support
    by_series = not varying or not a.without_constant().support or bool(((value.lo <= 0) & (value.hi >= 0)).any())
    two_ways = a.space.n <= MEET or max(a.data.lo.shape[1], b.data.lo.shape[1]) <= FEW_BOXES
    if series is None and (by_series or two_ways):
        series = multiply(a, compose(_RECIPROCAL, b))
    if series is not None and by_series:
        return series
    inverse = Jet(b.space, (0,), as_row(_RECIPROCAL.ranges([0], value)[0]))
    parts: list[Jet] = []
    for degree in range(a.space.order + 1):
        top = homogeneous(a, degree)
        for j in range(1, degree + 1):
            term = multiply(homogeneous(b, j), parts[degree - j])
            top = add(top, Jet(term.space, term.support, -term.data))
        parts.append(multiply(top, inverse))
    found = functools.reduce(add, parts)
    return meet(found, series) if series is not None and two_ways else found


def meet(one: Jet, other: Jet) -> Jet:
    """What two jets of one function say together; a coefficient that is not stored in one of them vanishes."""
    support = tuple(number for number in one.support if number in other.support)
    rows = [[jet.support.index(number) for number in support] for jet in (one, other)]
    return Jet(one.space, support, one.data[rows[0]].meet(other.data[rows[1]]))


def compose(function: Scalar, inner: Jet, base_order: int = 0) -> Jet:
    """``phi^(base_order)`` of a jet: its Taylor coefficients over the range of the inner value, times powers."""
    space = inner.space
    value = inner.constant_term()
    coefficients = function.ranges([base_order + k for k in range(space.order + 1)], value)
    return substitute(coefficients, inner)


def substitute(derivatives: Sequence[Interval], inner: Jet) -> Jet:
    """``sum_k derivatives[k] / k! delta^k`` with ``delta`` the nilpotent part of ``inner``."""
    space = inner.space
    delta = inner.without_constant()
    total = Jet(space, (0,), as_row(derivatives[0]))
    power: Jet | None = None
    powers: dict[int, Jet] = {}
    for k in range(1, space.order + 1):
        power = delta if k == 1 else _power_of(powers, k)
        powers[k] = power
        if not power.support:
            break
        weight = derivatives[k] * point(Fraction(1, math.factorial(k))) if k > 1 else derivatives[k]
        if not (weight.lo.any() or weight.hi.any()):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            total = add(total, Jet(space, power.support, power.data * as_row(weight)))
    return total


def _power_of(powers: dict[int, Jet], k: int) -> Jet:
    half = k // 2
    return multiply(powers[half], powers[half]) if k % 2 == 0 else multiply(powers[k - 1], powers[1])


def as_row(values: Interval) -> Interval:
    return Interval(np.atleast_1d(values.lo)[None, :], np.atleast_1d(values.hi)[None, :])


def coefficients_of(jet: Jet, order: int) -> Interval:
    """Partial derivatives of one order, one row per multi-index of that degree (shape (count, boxes))."""
    space = jet.space
    numbers = space.of_degree(order)
    boxes = jet.data.lo.shape[1]
    low, high = np.zeros((len(numbers), boxes)), np.zeros((len(numbers), boxes))
    for row, number in enumerate(numbers):
        found = jet.row(number)
        if found is not None:
            entry = found * Interval.of(float(space.factorial[number])) if space.factorial[number] > 1 else found
            low[row], high[row] = entry.lo, entry.hi
    return Interval(low, high)
