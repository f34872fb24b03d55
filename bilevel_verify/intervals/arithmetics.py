"""Arithmetics for straight-line programs: batches of intervals, and ``arb`` balls.

Both follow the arithmetic protocol of the expression programs, so that any program (a value, a gradient, a Hessian by
automatic differentiation) can be enclosed over boxes. Truth values are pairs of arrays (surely true, surely false).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bilevel_verify.errors import CertificationError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import enclose_value, value_of_logsumexp
from bilevel_verify.intervals.rounding import PRECISION, ball, floats_of
from bilevel_verify.intervals.scalar import scalar
from bilevel_verify.language.elementary import ELEMENTARY, TRANSCENDENTAL

Verdict = tuple[Any, Any]


class IntervalArithmetic:
    """Outward-rounded intervals over a batch of boxes; atoms enter with their exact ranges."""

    def constant(self, value: Any) -> Interval:
        low, high = enclose_value(value)
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
        return scalar("power", Fraction(exponent)).range(0, a)

    def atom(self, name: str, order: int, a: Interval, parameters: tuple[Any, ...]) -> Interval:
        return scalar(name, *(Fraction(p) for p in parameters)).range(order, a)

    def logsumexp(self, args: Sequence[Interval]) -> Interval:
        return value_of_logsumexp(list(args))

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

    def compare(self, op: str, a: Interval, b: Interval) -> Verdict:
        if op == "lt":
            return a.hi < b.lo, a.lo >= b.hi
        if op == "le":
            return a.hi <= b.lo, a.lo > b.hi
        return (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo), (a.hi < b.lo) | (b.hi < a.lo)

    def logical(self, op: str, args: Sequence[Verdict]) -> Verdict:
        match op:
            case "not":
                return args[0][1], args[0][0]
            case "and":
                return _all([a[0] for a in args]), _any([a[1] for a in args])
            case "or":
                return _any([a[0] for a in args]), _all([a[1] for a in args])
        return np.asarray(op == "true"), np.asarray(op != "true")

    def select(self, test: Verdict, yes: Interval, no: Interval) -> Interval:
        true, false = test
        both = yes.hull(no)
        low = np.where(true, yes.lo, np.where(false, no.lo, both.lo))
        return Interval(low, np.where(true, yes.hi, np.where(false, no.hi, both.hi)))


def _all(parts: list[Any]) -> Any:
    return np.logical_and.reduce(np.broadcast_arrays(*parts))


def _any(parts: list[Any]) -> Any:
    return np.logical_or.reduce(np.broadcast_arrays(*parts))


class ArbArithmetic:
    """Ball arithmetic of python-flint, one point (or ball) at a time, at a working precision of ``bits``.

    Wide balls are legal; atoms with kinks and derivatives of special atoms go through float ranges, so the result is
    always an enclosure but, there, of float64 sharpness only.
    """

    def __init__(self, bits: int = PRECISION) -> None:
        self.bits = bits

    def constant(self, value: Any) -> Any:
        import flint

        if isinstance(value, Fraction):
            return flint.arb(flint.fmpq(value.numerator, value.denominator))
        return ball(value, self.bits)

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def neg(self, a: Any) -> Any:
        return -a

    def div(self, a: Any, b: Any) -> Any:
        return a / b

    def power(self, a: Any, exponent: Fraction) -> Any:
        if exponent.denominator != 1:
            return (
                self._by_floats("power", 0, a, (exponent,))
                if _touches_zero(a)
                else (self.constant(exponent) * a.log()).exp()
            )
        # repeated products: powers of a ball centred at 0 come back as NaN from the library
        result, base, count = None, a, int(exponent)
        while count:
            if count & 1:
                result = base if result is None else result * base
            base, count = base * base, count >> 1
        return self.constant(Fraction(1)) if result is None else result

    def atom(self, name: str, order: int, a: Any, parameters: tuple[Any, ...]) -> Any:
        narrow = float(a.rad()) < 1e-3
        if name in ("sin", "cos") and narrow:
            phase = (order + (name == "cos")) % 4
            value = a.cos() if phase % 2 else a.sin()
            return -value if phase >= 2 else value
        if name == "exp" and narrow:
            return a.exp()
        if order == 0 and narrow and name in TRANSCENDENTAL and name not in ("log", "tan"):  # these two have poles
            return ELEMENTARY[name].ball(a)
        if name == "log" and order == 0 and narrow and not _touches_zero(a):
            return a.log()
        return self._by_floats(name, order, a, parameters)

    def _by_floats(self, name: str, order: int, a: Any, parameters: tuple[Any, ...]) -> Any:
        import flint

        low, high = floats_of(a)
        value = scalar(name, *(Fraction(p) for p in parameters)).range(
            order, Interval(np.asarray([low]), np.asarray([high]))
        )
        ends = float(value.lo[0]), float(value.hi[0])
        if not np.isfinite(ends).all():
            raise CertificationError(f"{name} of order {order} is unbounded on [{low}, {high}]")
        return flint.arb(ends[0]).union(flint.arb(ends[1]))

    def logsumexp(self, args: Sequence[Any]) -> Any:
        top = max(args, key=lambda a: float(a.mid()))
        total = self.constant(Fraction(0))
        for a in args:
            total = total + (a - top).exp()
        return top + total.log()

    def absolute(self, a: Any) -> Any:
        return abs(a) if not _touches_zero(a) else self._by_floats("abspow", 0, a, (Fraction(1),))

    def sign(self, a: Any) -> Any:
        return self._by_floats("sgnpow", 0, a, (Fraction(0),))

    def floor(self, a: Any) -> Any:
        return a.floor()

    def ceil(self, a: Any) -> Any:
        return a.ceil()

    def maximum(self, a: Any, b: Any) -> Any:
        return a.max(b)

    def minimum(self, a: Any, b: Any) -> Any:
        return a.min(b)

    def compare(self, op: str, a: Any, b: Any) -> Verdict:
        if op == "lt":
            return bool(a < b), bool(a >= b)
        if op == "le":
            return bool(a <= b), bool(a > b)
        return bool(a == b), not a.overlaps(b)

    def logical(self, op: str, args: Sequence[Verdict]) -> Verdict:
        match op:
            case "not":
                return args[0][1], args[0][0]
            case "and":
                return all(a[0] for a in args), any(a[1] for a in args)
            case "or":
                return any(a[0] for a in args), all(a[1] for a in args)
        return op == "true", op != "true"

    def select(self, test: Verdict, yes: Any, no: Any) -> Any:
        return yes if test[0] else no if test[1] else yes.union(no)


def _touches_zero(a: Any) -> bool:
    return bool(a.contains(0))


INTERVALS = IntervalArithmetic()
BALLS = ArbArithmetic()
