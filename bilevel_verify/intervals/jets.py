"""Derivative tensors over boxes: truncated multivariate Taylor series with interval coefficients.

A jet of order K in n variables holds enclosures of ``D^alpha h / alpha!`` over every box of a batch, for all
multi-indices of degree at most K. Atoms enter with the exact ranges of their derivatives, affine inner functions stay
points, and coefficients that vanish identically are not stored. The class :class:`JetArithmetic` runs any
straight-line program on jets, so value, gradient, Hessian and higher tensors come out of one pass.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from bilevel_verify.intervals.batch import Interval, clean
from bilevel_verify.intervals.elementary import point_values
from bilevel_verify.intervals.rounding import UNIT, Array, enclose
from bilevel_verify.intervals.scalar import Scalar, point, scalar

Index = tuple[int, ...]


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
        self.factorial = [math.prod(math.factorial(a) for a in index if a > 1) for index in self.indices]
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
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp) if counts else np.zeros(0, np.intp)
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
        return Jet(a.space, (), Interval(np.zeros((0, 1)), np.zeros((0, 1))))
    with np.errstate(invalid="ignore", over="ignore"):
        return Jet(a.space, plan.support, _segment_sum(a.data[plan.left] * b.data[plan.right], plan))


def _square(a: Jet) -> Jet:
    plan = a.space.plan(a.support, a.support)
    if not plan.support:
        return Jet(a.space, (), Interval(np.zeros((0, 1)), np.zeros((0, 1))))
    with np.errstate(invalid="ignore", over="ignore"):
        products = a.data[plan.left] * a.data[plan.right]
        same = plan.left == plan.right
        if same.any():
            squares = a.data[plan.left[same]].square()
            low, high = products.lo.copy(), products.hi.copy()
            low[same], high[same] = squares.lo, squares.hi
            products = Interval(low, high)
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
        if not names:
            continue
        rows = [place[s] for s in names]
        part = b.data[[b.support.index(s) for s in names]]
        total = Interval(low[rows], high[rows]) + part if mixed else part
        low[rows], high[rows] = total.lo, total.hi
    return Jet(a.space, support, Interval(low, high))


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
    total = Jet(space, (0,), _row(derivatives[0]))
    power: Jet | None = None
    powers: dict[int, Jet] = {}
    for k in range(1, space.order + 1):
        if not delta.support:
            break
        power = delta if k == 1 else _power_of(powers, k)
        powers[k] = power
        if not power.support:
            break
        weight = derivatives[k] * point(Fraction(1, math.factorial(k))) if k > 1 else derivatives[k]
        if not (weight.lo.any() or weight.hi.any()):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            total = add(total, Jet(space, power.support, power.data * _row(weight)))
    return total


def _power_of(powers: dict[int, Jet], k: int) -> Jet:
    half = k // 2
    return multiply(powers[half], powers[half]) if k % 2 == 0 else multiply(powers[k - 1], powers[1])


def _row(values: Interval) -> Interval:
    return Interval(np.atleast_1d(values.lo)[None, :], np.atleast_1d(values.hi)[None, :])


class JetArithmetic:
    """Runs straight-line programs on jets (the arithmetic protocol of the expression programs).

    Parameters
    ----------
    n, order : number of variables and order of the jets.
    """

    def __init__(self, n: int, order: int) -> None:
        self.space = jet_space(n, order)

    def variables(self, lo: Array, hi: Array) -> list[Jet]:
        """The coordinate functions over boxes; ``lo`` and ``hi`` of shape (boxes, n)."""
        out = []
        for i in range(self.space.n):
            values = Interval(np.ascontiguousarray(lo[:, i]), np.ascontiguousarray(hi[:, i]))
            if self.space.order == 0:
                out.append(Jet(self.space, (0,), _row(values)))
                continue
            unit = self.space.place[tuple(int(j == i) for j in range(self.space.n))]
            low = np.stack([values.lo, np.ones_like(values.lo)])
            high = np.stack([values.hi, np.ones_like(values.hi)])
            out.append(Jet(self.space, (0, unit), Interval(low, high)))
        return out

    def constant(self, value: Any) -> Jet:
        low, high = enclose_value(value)
        if low == 0 == high:
            return Jet(self.space, (), Interval(np.zeros((0, 1)), np.zeros((0, 1))))
        return Jet(self.space, (0,), Interval(np.full((1, 1), low), np.full((1, 1), high)))

    def add(self, a: Jet, b: Jet) -> Jet:
        return add(a, b)

    def mul(self, a: Jet, b: Jet) -> Jet:
        return multiply(a, b)

    def neg(self, a: Jet) -> Jet:
        return Jet(a.space, a.support, -a.data)

    def div(self, a: Jet, b: Jet) -> Jet:
        return multiply(a, compose(scalar("power", Fraction(-1)), b))

    def power(self, a: Jet, exponent: Fraction) -> Jet:
        if exponent == 2:
            return multiply(a, a)
        return compose(scalar("power", Fraction(exponent)), a)

    def atom(self, name: str, order: int, a: Jet, parameters: tuple[Any, ...]) -> Jet:
        return compose(scalar(name, *(Fraction(p) for p in parameters)), a, order)

    def logsumexp(self, args: Sequence[Jet]) -> Jet:
        return logsumexp(list(args))

    def absolute(self, a: Jet) -> Jet:
        return compose(scalar("abspow", Fraction(1)), a)

    def sign(self, a: Jet) -> Jet:
        return compose(scalar("sgnpow", Fraction(0)), a)

    def floor(self, a: Jet) -> Jet:
        return self._step(a, np.floor)

    def ceil(self, a: Jet) -> Jet:
        return self._step(a, np.ceil)

    def _step(self, a: Jet, rounding: Callable[[Array], Array]) -> Jet:
        value = a.constant_term()
        low, high = rounding(value.lo), rounding(value.hi)
        jump = low != high
        blank = Interval(np.where(jump, -np.inf, 0.0), np.where(jump, np.inf, 0.0))
        return substitute([Interval(low, high), *[blank] * self.space.order], a)

    def maximum(self, a: Jet, b: Jet) -> Jet:
        return self.select(self.compare("le", b, a), a, b, kink=True)

    def minimum(self, a: Jet, b: Jet) -> Jet:
        return self.select(self.compare("le", a, b), a, b, kink=True)

    def compare(self, op: str, a: Jet, b: Jet) -> Any:
        difference = add(a, self.neg(b)).constant_term()
        if op == "eq":
            return (difference.lo == 0) & (difference.hi == 0), (difference.lo > 0) | (difference.hi < 0)
        if op == "lt":
            return difference.hi < 0, difference.lo >= 0
        return difference.hi <= 0, difference.lo > 0

    def logical(self, op: str, args: Sequence[Any]) -> Any:
        if op in ("true", "false"):
            return np.array([op == "true"]), np.array([op == "false"])
        if op == "not":
            return args[0][1], args[0][0]
        yes, no = [a[0] for a in args], [a[1] for a in args]
        if op == "and":
            return np.logical_and.reduce(np.broadcast_arrays(*yes)), np.logical_or.reduce(np.broadcast_arrays(*no))
        return np.logical_or.reduce(np.broadcast_arrays(*yes)), np.logical_and.reduce(np.broadcast_arrays(*no))

    def select(self, test: Any, yes: Jet, no: Jet, kink: bool = False) -> Jet:
        """Branch by box; where the test is undecided the hull of both (a jump of a derivative is the caller's care)."""
        true, false = test
        first, second = _aligned(yes, no)
        unsure = ~(true | false)
        low = np.where(true, first.data.lo, np.where(false, second.data.lo, np.minimum(first.data.lo, second.data.lo)))
        high = np.where(true, first.data.hi, np.where(false, second.data.hi, np.maximum(first.data.hi, second.data.hi)))
        if kink and unsure.any():
            curved = np.array([self.space.degree[s] >= 2 for s in first.support])[:, None]
            low, high = np.where(curved & unsure, -np.inf, low), np.where(curved & unsure, np.inf, high)
            if unsure.any() and not curved.all():
                return _full(Jet(self.space, first.support, Interval(low, high)), unsure)
        return Jet(self.space, first.support, Interval(low, high))


def _full(jet: Jet, where: Any) -> Jet:
    """All second and higher coefficients unknown on some boxes, also those that were not stored."""
    space = jet.space
    width = max(jet.data.lo.shape[1], np.size(where))
    support = tuple(range(len(space.indices)))
    low, high = np.zeros((len(support), width)), np.zeros((len(support), width))
    low[list(jet.support)], high[list(jet.support)] = jet.data.lo, jet.data.hi
    curved = np.array(space.degree)[:, None] >= 2
    return Jet(space, support, Interval(np.where(curved & where, -np.inf, low), np.where(curved & where, np.inf, high)))


def _aligned(a: Jet, b: Jet) -> tuple[Jet, Jet]:
    support = tuple(sorted(set(a.support) | set(b.support)))

    def spread(jet: Jet) -> Jet:
        width = jet.data.lo.shape[1]
        low, high = np.zeros((len(support), width)), np.zeros((len(support), width))
        rows = [support.index(s) for s in jet.support]
        low[rows], high[rows] = jet.data.lo, jet.data.hi
        return Jet(jet.space, support, Interval(low, high))

    return spread(a), spread(b)


def enclose_value(value: Any) -> tuple[float, float]:
    """Float ends of a constant of a program: Fraction, exact SymPy number, int or float."""
    if isinstance(value, Fraction):
        ends = point(value)
        return float(ends.lo), float(ends.hi)
    if isinstance(value, int | float):
        ends = point(Fraction(value))
        return float(ends.lo), float(ends.hi)
    return enclose(value)


def logsumexp(args: list[Jet]) -> Jet:
    """``log sum exp q_i`` on jets.

    With ``p`` the softmax weights (exact ranges: each is monotone in every argument), the Taylor series is built from
    cumulants of the differences ``q_i - q_m``: only differences of the gradients occur beyond first order.
    """
    space = args[0].space
    values = [a.constant_term() for a in args]
    weights = softmax_ranges(values)
    value = _value_of_logsumexp(values)
    last = args[-1]
    minus = Jet(space, last.support, -last.data)
    deltas = [add(a, minus).without_constant() for a in args[:-1]]
    total = add(Jet(space, (0,), _row(value)), last.without_constant())
    # Z = 1 + sum_i p_i (e^{delta_i} - 1); lse = value + (q_m part) + log Z, with Z = 1 at the base point
    ones = Interval(np.ones(1), np.ones(1))
    nilpotent: Jet | None = None
    for weight, delta in zip(weights[:-1], deltas):
        series = substitute([Interval(np.zeros(1), np.zeros(1)), *[ones] * space.order], delta).without_constant()
        term = Jet(space, series.support, series.data * _row(weight))
        nilpotent = term if nilpotent is None else add(nilpotent, term)
    if nilpotent is None or not nilpotent.support:
        return total
    signs = [Interval.of(np.array([(-1.0) ** (k - 1) * math.factorial(k - 1)])) for k in range(1, space.order + 1)]
    return add(total, substitute([Interval(np.zeros(1), np.zeros(1)), *signs], nilpotent).without_constant())


def softmax_ranges(values: list[Interval]) -> list[Interval]:
    """Exact range (up to rounding) of each softmax weight over a box of its arguments."""
    out = []
    for i, own in enumerate(values):
        low = _softmax_at(own.lo, [v.hi for j, v in enumerate(values) if j != i])
        high = _softmax_at(own.hi, [v.lo for j, v in enumerate(values) if j != i])
        out.append(Interval(np.clip(low.lo, 0.0, 1.0), np.clip(high.hi, 0.0, 1.0)))
    return out


def _softmax_at(own: Array, others: list[Array]) -> Interval:
    """``1 / (1 + sum exp(other - own))`` at float points."""
    total = Interval(np.ones_like(own), np.ones_like(own))
    for other in others:
        difference = clean(np.nextafter(other - own, -np.inf), np.nextafter(other - own, np.inf))
        total = total + Interval(point_values("exp", difference.lo).lo, point_values("exp", difference.hi).hi)
    return total.reciprocal()


def _value_of_logsumexp(values: list[Interval]) -> Interval:
    low = _lse_at([v.lo for v in values])
    high = _lse_at([v.hi for v in values])
    return Interval(low.lo, high.hi)


def _lse_at(points: list[Array]) -> Interval:
    top = np.maximum.reduce(np.broadcast_arrays(*points))
    total: Interval | None = None
    for own in points:
        with np.errstate(invalid="ignore"):
            difference = np.where(own == top, 0.0, own - top)
        term = Interval(
            point_values("exp", np.nextafter(difference, -np.inf)).lo,
            point_values("exp", np.minimum(np.nextafter(difference, np.inf), 0.0)).hi,
        )
        total = term if total is None else total + term
    assert total is not None
    logarithm = Interval(point_values("log", total.lo).lo, point_values("log", total.hi).hi)
    return Interval(top, top) + logarithm


def tensor_of(jet: Jet, order: int) -> Interval:
    """Full symmetric tensor of one order over the boxes, shape (boxes, n, ..., n)."""
    space = jet.space
    boxes = jet.data.lo.shape[1] if jet.support else 1
    shape = (boxes, *[space.n] * order)
    low, high = np.zeros(shape), np.zeros(shape)
    for row, number in enumerate(jet.support):
        if space.degree[number] != order:
            continue
        entry = (
            jet.data[row] * Interval.of(float(space.factorial[number]))
            if space.factorial[number] > 1
            else jet.data[row]
        )
        positions = [i for i, a in enumerate(space.indices[number]) for _ in range(a)]
        for place in set(itertools.permutations(positions)):
            where: Any = (slice(None), *place)
            low[where], high[where] = entry.lo, entry.hi
    return Interval(low, high)


def coefficients_of(jet: Jet, order: int) -> Interval:
    """Partial derivatives of one order, one row per multi-index of that degree (shape (count, boxes))."""
    space = jet.space
    numbers = space.of_degree(order)
    boxes = jet.data.lo.shape[1] if jet.support else 1
    low, high = np.zeros((len(numbers), boxes)), np.zeros((len(numbers), boxes))
    for row, number in enumerate(numbers):
        found = jet.row(number)
        if found is not None:
            entry = found * Interval.of(float(space.factorial[number])) if space.factorial[number] > 1 else found
            low[row], high[row] = entry.lo, entry.hi
    return Interval(low, high)
