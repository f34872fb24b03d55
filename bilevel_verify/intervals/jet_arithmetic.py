"""Straight-line programs on jets: value, gradient, Hessian and higher tensors of any formula in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.batch import Interval, clean
from bilevel_verify.intervals.elementary import point_values
from bilevel_verify.intervals.jets import Jet, add, as_row, compose, jet_space, multiply, quotient, substitute, zero_jet
from bilevel_verify.intervals.scalar import scalar
from bilevel_verify.numbers.arithmetic import Exact
from bilevel_verify.numbers.logic import Answers, logical_batch
from bilevel_verify.numbers.rounding import Array, down, enclose, fraction, up


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
                out.append(Jet(self.space, (0,), as_row(values)))
                continue
            unit = self.space.place[tuple(int(j == i) for j in range(self.space.n))]
            low = np.stack([values.lo, np.ones_like(values.lo)])
            high = np.stack([values.hi, np.ones_like(values.hi)])
            out.append(Jet(self.space, (0, unit), Interval(low, high)))
        return out

    def constant(self, value: Exact) -> Jet:
        low, high = enclose(value)
        if low == 0 == high:
            return zero_jet(self.space)
        return Jet(self.space, (0,), as_row(Interval(np.asarray(low), np.asarray(high))))

    def add(self, a: Jet, b: Jet) -> Jet:
        return add(a, b)

    def mul(self, a: Jet, b: Jet) -> Jet:
        return multiply(a, b)

    def neg(self, a: Jet) -> Jet:
        return Jet(a.space, a.support, -a.data)

    def div(self, a: Jet, b: Jet) -> Jet:
        return quotient(a, b)

    def power(self, a: Jet, exponent: Fraction) -> Jet:
        if exponent == 2:
            return multiply(a, a)
        return compose(scalar("power", exponent), a)

    def atom(self, name: str, order: int, a: Jet, parameters: tuple[Fraction, ...]) -> Jet:
        return compose(scalar(name, *(fraction(p) for p in parameters)), a, order)

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

    def compare(self, op: str, a: Jet, b: Jet) -> Answers:
        difference = add(a, self.neg(b)).constant_term()
        if op == "eq":
            return (difference.lo == 0) & (difference.hi == 0), (difference.lo > 0) | (difference.hi < 0)
        if op == "lt":
            return difference.hi < 0, difference.lo >= 0
        return difference.hi <= 0, difference.lo > 0

    def logical(self, op: str, args: Iterable[Answers]) -> Answers:
        return logical_batch(op, args)

    def select(self, test: Answers, yes: Jet, no: Jet, kink: bool = False) -> Jet:
        """Branch by box; where the test is undecided the hull of both (a jump of a derivative is the caller's care)."""
        true, false = test
        first, second = _aligned(yes, no)
        unsure = ~(true | false)
        low = np.where(true, first.data.lo, np.where(false, second.data.lo, np.minimum(first.data.lo, second.data.lo)))
        high = np.where(true, first.data.hi, np.where(false, second.data.hi, np.maximum(first.data.hi, second.data.hi)))
        chosen = Jet(self.space, first.support, Interval(low, high))
        return _full(chosen, unsure) if kink and unsure.any() else chosen


def _full(jet: Jet, where: NDArray[np.bool_]) -> Jet:
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


def logsumexp(args: list[Jet]) -> Jet:
    """``log sum exp q_i`` on jets.

    With ``p`` the softmax weights (exact ranges: each is monotone in every argument), the Taylor series is built from
    cumulants of the differences ``q_i - q_m``: only differences of the gradients occur beyond first order.
    """
    space = args[0].space
    values = [a.constant_term() for a in args]
    weights = softmax_ranges(values)
    value = value_of_logsumexp(values)
    last = args[-1]
    minus = Jet(space, last.support, -last.data)
    deltas = [add(a, minus).without_constant() for a in args[:-1]]
    total = add(Jet(space, (0,), as_row(value)), last.without_constant())
    # Z = 1 + sum_i p_i (e^{delta_i} - 1); lse = value + (q_m part) + log Z, with Z = 1 at the base point
    zero, one = Interval.of(np.zeros(1)), Interval.of(np.ones(1))
    nilpotent: Jet | None = None
    for weight, delta in zip(weights[:-1], deltas, strict=True):
        series = substitute([zero, *[one] * space.order], delta).without_constant()
        term = Jet(space, series.support, series.data * as_row(weight))
        nilpotent = term if nilpotent is None else add(nilpotent, term)
    if nilpotent is None:
        return total
    signs = [Interval.of(np.array([(-1.0) ** (k - 1) * math.factorial(k - 1)])) for k in range(1, space.order + 1)]
    return add(total, substitute([zero, *signs], nilpotent).without_constant())


def softmax_ranges(values: list[Interval]) -> list[Interval]:
    """Exact range (up to rounding) of each softmax weight over a box of its arguments."""
    out = []
    for i, own in enumerate(values):
        low = _softmax_at(own.lo, [v.hi for j, v in enumerate(values) if j != i])
        high = _softmax_at(own.hi, [v.lo for j, v in enumerate(values) if j != i])
        out.append(Interval(np.maximum(low.lo, 0.0), np.minimum(high.hi, 1.0)))
    return out


def _softmax_at(own: Array, others: list[Array]) -> Interval:
    """``1 / (1 + sum exp(other - own))`` at float points."""
    total = Interval(np.ones_like(own), np.ones_like(own))
    for other in others:
        difference = clean(down(other - own), up(other - own))
        total = total + Interval(point_values("exp", difference.lo).lo, point_values("exp", difference.hi).hi)
    return total.reciprocal()


def value_of_logsumexp(values: list[Interval]) -> Interval:
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
            point_values("exp", down(difference)).lo,
            point_values("exp", up(difference)).hi,
        )
        total = term if total is None else total + term
    assert total is not None
    logarithm = Interval(point_values("log", total.lo).lo, point_values("log", total.hi).hi)
    return Interval(top, top) + logarithm
