"""Two rigorous arithmetics for straight-line programs: interval batches, and ``arb`` balls of any precision.

Interval batches take the exact ranges of atoms from the intervals room. Balls take derivatives of smooth atoms from
truncated power series; atoms with kinks are split where the ball meets a kink and the pieces joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
import sympy

from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval, integer_power
from bilevel_verify.intervals.rounding import ball, enclose, float_above, float_below


class IntervalBatch(IntervalArithmetic):
    """Programs over batches of boxes, with whole powers as products and one pass for ``logsumexp``."""

    def constant(self, value: Any) -> Interval:
        low, high = (float_below(value), float_above(value)) if isinstance(value, Fraction) else enclose(value)
        return Interval(np.asarray(low), np.asarray(high))

    def power(self, a: Interval, exponent: Fraction) -> Interval:
        if exponent.denominator == 1:
            return integer_power(a, int(exponent))
        return super().power(a, exponent)

    def atom(self, name: str, order: int, a: Interval, parameters: tuple[Any, ...]) -> Interval:
        return super().atom(name, order, a, tuple(_fraction(p) for p in parameters))

    def logsumexp(self, args: Sequence[Interval]) -> Interval:
        """Monotone in every argument: the ends of the result come from the ends of the arguments."""
        low, high = _logsumexp_end([a.lo for a in args], -1), _logsumexp_end([a.hi for a in args], 1)
        return Interval(low, high)


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


class ArbBalls:
    """Programs over single ``arb`` balls at the precision of ``flint.ctx``; a truth value is True, False or None."""

    def constant(self, value: Any) -> Any:
        return _constant(value, _bits())

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def neg(self, a: Any) -> Any:
        return -a

    def div(self, a: Any, b: Any) -> Any:
        return a / b

    def power(self, a: Any, exponent: Fraction) -> Any:
        import flint

        if exponent.denominator == 1:
            return ball_power(a, int(exponent))
        if exponent == Fraction(1, 2):
            return a.sqrt()
        if exponent > 0 and a.contains(0):
            top = abs(a).upper() ** flint.arb(flint.fmpq(exponent.numerator, exponent.denominator))
            return flint.arb(0).union(top.upper())
        return a ** flint.arb(flint.fmpq(exponent.numerator, exponent.denominator))

    def atom(self, name: str, order: int, a: Any, parameters: tuple[Any, ...]) -> Any:
        return ball_atom(name, order, a, tuple(_fraction(p) for p in parameters))

    def logsumexp(self, args: Sequence[Any]) -> Any:
        top = max(args, key=lambda a: float(a.mid())).mid()
        total = (args[0] - top).exp()
        for other in args[1:]:
            total = total + (other - top).exp()
        return top + total.log()

    def absolute(self, a: Any) -> Any:
        return abs(a)

    def sign(self, a: Any) -> Any:
        return a.sgn()

    def floor(self, a: Any) -> Any:
        return a.floor()

    def ceil(self, a: Any) -> Any:
        return a.ceil()

    def maximum(self, a: Any, b: Any) -> Any:
        return a.max(b)

    def minimum(self, a: Any, b: Any) -> Any:
        return a.min(b)

    def compare(self, op: str, a: Any, b: Any) -> bool | None:
        if op == "eq":
            if a.is_exact() and b.is_exact():
                return bool(a == b)
            return None if a.overlaps(b) else False
        true, false = (a < b, a >= b) if op == "lt" else (a <= b, a > b)
        return True if true else False if false else None

    def logical(self, op: str, args: Sequence[Any]) -> bool | None:
        match op:
            case "not":
                return None if args[0] is None else not args[0]
            case "true" | "false":
                return op == "true"
        decisive = op == "or"
        if decisive in args:
            return decisive
        return None if None in args else not decisive

    def select(self, test: bool | None, yes: Any, no: Any) -> Any:
        return yes.union(no) if test is None else yes if test else no


def ball_power(a: Any, n: int) -> Any:
    """``a ** n`` by repeated squaring (FLINT's general power has no answer for balls around 0)."""
    if n < 0:
        return 1 / ball_power(a, -n)
    result = None
    while n:
        if n & 1:
            result = a if result is None else result * a
        n >>= 1
        if n:
            a = a * a
    return 1 if result is None else result


def _bits() -> int:
    import flint

    return int(flint.ctx.prec)


@lru_cache(maxsize=4096)
def _constant(value: Any, bits: int) -> Any:
    import flint

    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return ball(value, bits)


def _fraction(parameter: Any) -> Fraction:
    if isinstance(parameter, Fraction):
        return parameter
    number = sympy.nsimplify(parameter) if isinstance(parameter, float) else sympy.sympify(parameter)
    if not number.is_Rational:
        raise MathematicalError(f"the parameter {parameter} of an atom must be rational")
    return Fraction(int(number.p), int(number.q))


def ball_atom(name: str, order: int, a: Any, parameters: tuple[Fraction, ...]) -> Any:
    """Derivative of the given order of an atom over a ball."""
    if name in ("abspow", "sgnpow", "pluspow"):
        return _power_atom(name, order, a, parameters[0])
    if name == "psi":
        return _pieces(a, lambda t, near: _psi(parameters[0], order, t, near), 1)
    if name == "huber":
        return _huber(order, a, parameters[0])
    if order == 0:
        return _smooth(name, a)
    import flint

    saved = flint.ctx.cap
    flint.ctx.cap = order + 2
    try:
        series = _smooth(name, flint.arb_series([a, 1], prec=order + 1))
        return series[order] * factorial(order)
    except ValueError:  # a ball so wide that a denominator may be 0: nothing is known, as for a quotient of balls
        return flint.arb("nan")
    finally:
        flint.ctx.cap = saved


def _smooth(name: str, t: Any) -> Any:
    """A smooth atom on a ball or on a power series of balls."""
    match name:
        case "sigmoid":
            return 1 / (1 + (-t).exp())
        case "softplus":
            return (1 + t.exp()).log()
        case "logcosh":
            return ((t.exp() + (-t).exp()) / 2).log()
        case "sqrt":
            return t.sqrt()
        case "sinh" | "cosh" | "tanh" if not hasattr(t, "sinh"):
            up, down = t.exp(), (-t).exp()
            return (
                (up - down) / 2 if name == "sinh" else (up + down) / 2 if name == "cosh" else (up - down) / (up + down)
            )
        case "asinh" if not hasattr(t, "asinh"):
            return (t + (1 + t * t).sqrt()).log()
        case "log1psquare":
            return (1 + t * t).log()
    method: Callable[[], Any] | None = getattr(t, name, None)
    if method is None:
        raise MathematicalError(f"the atom {name} is not known to ball arithmetic")
    return method()


def _power_atom(name: str, order: int, a: Any, p: Fraction) -> Any:
    """``|t|^p``, ``sgn(t)|t|^p`` or ``max(t, 0)^p``, differentiated ``order`` times (weakly)."""
    import flint

    factor = Fraction(1)
    for j in range(order):
        factor *= p - j
    scale = flint.arb(flint.fmpq(factor.numerator, factor.denominator))
    rest = p - order
    odd = (name == "sgnpow") != bool(order % 2)

    def side(size: Any, positive: bool) -> Any:
        if name == "pluspow" and not positive:
            return flint.arb(0)
        if factor == 0:
            return flint.arb(0)
        value = scale * (flint.arb(1) if rest == 0 else _nonnegative_power(size, rest))
        return -value if odd and not positive and name != "pluspow" else value

    if a > 0:
        return side(a, True)
    if a < 0:
        return side(-a, False)
    right = side(flint.arb(0).union(a.upper().max(flint.arb(0))), True)
    left = side(flint.arb(0).union((-a.lower()).max(flint.arb(0))), False)
    if a.is_zero() and rest > 0:
        return flint.arb(0)
    return left.union(right)


def _nonnegative_power(size: Any, exponent: Fraction) -> Any:
    """``s ** q`` over a ball of non-negative numbers (the ball may reach below 0 by rounding)."""
    import flint

    q = flint.arb(flint.fmpq(exponent.numerator, exponent.denominator))
    if exponent.denominator == 1 and exponent > 0:
        return ball_power(size, int(exponent))
    if size > 0:
        return size**q
    if exponent < 0:
        return flint.arb.nan()
    top = size.upper().max(flint.arb(0))
    return flint.arb(0) if top.is_zero() else flint.arb(0).union((top**q).upper())


def _huber(order: int, a: Any, delta: Fraction) -> Any:
    import flint

    d = flint.arb(flint.fmpq(delta.numerator, delta.denominator))
    inner = [a * a / 2, a, flint.arb(1), flint.arb(0)][min(order, 3)]
    upper = [d * a - d * d / 2, d, flint.arb(0), flint.arb(0)][min(order, 3)]
    lower = [-d * a - d * d / 2, -d, flint.arb(0), flint.arb(0)][min(order, 3)]
    parts = [v for v, out in ((inner, a > d or a < -d), (upper, a < d), (lower, a > -d)) if not out]
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    return result


def _pieces(a: Any, value: Callable[[Any, int], Any], width: int) -> Any:
    """Union of ``value`` over the unit intervals ``[k, k+1]`` that the ball meets."""
    import flint

    low, high = int(np.floor(float(a.lower()))), int(np.floor(float(a.upper())))
    if not -(2**40) < low <= high < 2**40 or high - low > 8:
        return flint.arb.nan()
    result = None
    for k in range(low - 1, high + 2):
        if a < k or a > k + 1:
            continue
        piece = value(a if k < a < k + 1 else _clip(a, k, k + 1), k)
        result = piece if result is None else result.union(piece)
    return result


def _clip(a: Any, low: int, high: int) -> Any:
    import flint

    return a.max(flint.arb(low)).min(flint.arb(high))


def _psi(nu: Fraction, order: int, t: Any, k: int) -> Any:
    """The period-4 function of ragd-gs section 9.6 on ``[k, k+1]``: ``psi''' = sgn(s)|s|^nu``, s the triangle wave."""
    import flint

    def q(value: Fraction) -> Any:
        return flint.arb(flint.fmpq(value.numerator, value.denominator))

    quarter = k % 4
    base = k - quarter
    s = t - base if quarter == 0 else (2 + base) - t if quarter in (1, 2) else t - base - 4
    rising = quarter in (0, 3)
    sign = 1 if quarter in (0, 1) else -1
    size = s if sign > 0 else -s

    def power(exponent: Fraction) -> Any:
        return flint.arb(1) if exponent == 0 else _nonnegative_power(size, exponent)

    match order:
        case 4:
            slope = flint.arb(1) if nu == 1 else q(nu) * _nonnegative_power(size, nu - 1) if nu else flint.arb(0)
            return slope if rising else -slope
        case 3:
            return sign * power(nu)
        case 2:
            value = (power(1 + nu) - 1) / q(1 + nu)
            return value if rising else -value
        case 1:
            return sign * power(2 + nu) / q((1 + nu) * (2 + nu)) - s / q(1 + nu)
        case 0:
            first, second = 1 / ((1 + nu) * (2 + nu) * (3 + nu)), Fraction(1, 2) / (1 + nu)
            value = power(3 + nu) * q(first) - size * size * q(second)
            return value if rising else q(2 * (first - second)) - value
    raise MathematicalError(f"the derivative of order {order} of psi(nu, t) is not a function")
