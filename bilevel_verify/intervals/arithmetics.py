"""Batches of intervals as an arithmetic: any program (a value, a gradient, a Hessian) enclosed over boxes.

Atoms enter with their exact ranges. Truth values are pairs of arrays (surely true, surely false).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bilevel_verify.intervals.batch import Interval, integer_power
from bilevel_verify.intervals.elementary import balls_in_use
from bilevel_verify.intervals.jet_arithmetic import value_of_logsumexp
from bilevel_verify.intervals.scalar import scalar
from bilevel_verify.numbers.arithmetic import Exact
from bilevel_verify.numbers.logic import Answers, logical_batch
from bilevel_verify.numbers.rounding import enclose, fraction


class IntervalArithmetic:
    """Outward-rounded intervals over a batch of boxes; atoms enter with their exact ranges."""

    def constant(self, value: Exact) -> Interval:
        low, high = enclose(value)
        return Interval(np.asarray(low), np.asarray(high))

    def add(self, a: Interval, b: Interval) -> Interval:
        return a + b

    def mul(self, a: Interval, b: Interval) -> Interval:
        return a.square() if a is b else a * b

    def neg(self, a: Interval) -> Interval:
        return -a

    def div(self, a: Interval, b: Interval) -> Interval:
        return a / b

    def power(self, a: Interval, exponent: Fraction) -> Interval:
        if exponent.denominator == 1:
            return integer_power(a, int(exponent))
        return scalar("power", exponent).range(0, a)

    def atom(self, name: str, order: int, a: Interval, parameters: tuple[Fraction, ...]) -> Interval:
        return scalar(name, *(fraction(p) for p in parameters)).range(order, a)

    def logsumexp(self, args: Sequence[Interval]) -> Interval:
        """Monotone in every argument: the ends of the result come from the ends of the arguments.

        One pass of NumPy with room for its rounding; inside :func:`ball_ends` point values are proved, one by one.
        """
        if balls_in_use():
            return value_of_logsumexp(list(args))
        return Interval(_logsumexp_end([a.lo for a in args], -1), _logsumexp_end([a.hi for a in args], 1))

    def absolute(self, a: Interval) -> Interval:
        return a.absolute()

    def sign(self, a: Interval) -> Interval:
        return Interval(np.sign(a.lo), np.sign(a.hi))

    def floor(self, a: Interval) -> Interval:
        return Interval(np.floor(a.lo), np.floor(a.hi))

    def ceil(self, a: Interval) -> Interval:
        return Interval(np.ceil(a.lo), np.ceil(a.hi))

    def maximum(self, a: Interval, b: Interval) -> Interval:
        return Interval(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi))

    def minimum(self, a: Interval, b: Interval) -> Interval:
        return Interval(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi))

    def compare(self, op: str, a: Interval, b: Interval) -> Answers:
        if op == "lt":
            return a.hi < b.lo, a.lo >= b.hi
        if op == "le":
            return a.hi <= b.lo, a.lo > b.hi
        return (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo), (a.hi < b.lo) | (b.hi < a.lo)

    def logical(self, op: str, args: Iterable[Answers]) -> Answers:
        return logical_batch(op, args)

    def select(self, test: Answers, yes: Interval, no: Interval) -> Interval:
        true, false = test
        both = yes.hull(no)
        low = np.where(true, yes.lo, np.where(false, no.lo, both.lo))
        return Interval(low, np.where(true, yes.hi, np.where(false, no.hi, both.hi)))


def _logsumexp_end(ends: list[Any], side: int) -> Any:
    arrays = np.broadcast_arrays(*ends)
    top = np.maximum.reduce(arrays)
    infinite = np.isinf(top)
    safe = np.where(infinite, 0.0, top)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum([np.exp(np.where(infinite, 0.0, a - safe)) for a in arrays], axis=0)
        value = safe + np.log(total)
        room = (np.abs(value) + np.abs(safe) + 4 * len(ends)) * 2.0**-49
    return np.where(infinite, top, value + side * room)


INTERVALS = IntervalArithmetic()
