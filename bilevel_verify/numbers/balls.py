"""Balls (``arb`` of python-flint) as an arithmetic, at whatever precision holds when it is used.

Derivatives of smooth atoms come from truncated power series; atoms with kinks are split where the ball meets a kink and
the pieces joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import factorial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers.arithmetic import Exact
from bilevel_verify.numbers.logic import Answer, logical
from bilevel_verify.numbers.powers import whole_power
from bilevel_verify.numbers.rounding import ball, constant_ball, fraction

if TYPE_CHECKING:
    from flint import arb, arb_series

    Smooth = TypeVar("Smooth", arb, arb_series)


class ArbBalls:
    """Programs over single ``arb`` balls at the precision of ``flint.ctx``; a truth value is True, False or None."""

    operators = True
    """``+``, ``*`` and the sign of the numbers are those of the arithmetic, constants depend on the precision alone."""

    def constant(self, value: Exact) -> arb:
        import flint

        return ball(value) if isinstance(value, Fraction) else _constant(value, int(flint.ctx.prec))

    def add(self, a: arb, b: arb) -> arb:
        return a + b

    def mul(self, a: arb, b: arb) -> arb:
        return a * b

    def neg(self, a: arb) -> arb:
        return -a

    def div(self, a: arb, b: arb) -> arb:
        return a / b

    def power(self, a: arb, exponent: Fraction) -> arb:
        import flint

        if exponent.denominator == 1:
            return ball(whole_power(a, int(exponent)))
        if exponent == Fraction(1, 2):
            return a.sqrt()
        if exponent > 0 and a.contains(0):
            return flint.arb(0).union((abs(a).upper() ** ball(exponent)).upper())
        return a ** ball(exponent)

    def atom(self, name: str, order: int, a: arb, parameters: tuple[object, ...]) -> arb:
        return ball_atom(name, order, a, tuple(fraction(p) for p in parameters))

    def logsumexp(self, args: Sequence[arb]) -> arb:
        top = max(args, key=lambda a: float(a.mid())).mid()
        total = (args[0] - top).exp()
        for other in args[1:]:
            total = total + (other - top).exp()
        return top + total.log()

    def absolute(self, a: arb) -> arb:
        return abs(a)

    def sign(self, a: arb) -> arb:
        return a.sgn()

    def floor(self, a: arb) -> arb:
        return a.floor()

    def ceil(self, a: arb) -> arb:
        return a.ceil()

    def maximum(self, a: arb, b: arb) -> arb:
        return a.max(b)

    def minimum(self, a: arb, b: arb) -> arb:
        return a.min(b)

    def compare(self, op: str, a: arb, b: arb) -> Answer:
        return compare(op, a, b)

    def logical(self, op: str, args: Iterable[Answer]) -> Answer:
        return logical(op, args)

    def select(self, test: Answer, yes: arb, no: arb) -> arb:
        return yes.union(no) if test is None else yes if test else no


BALLS = ArbBalls()


def compare(op: str, a: arb, b: arb) -> Answer:
    """``lt``, ``le`` or ``eq`` of two balls: True, False, or None where they overlap. NaN is never True or False."""
    if op == "eq":
        return False if not a.overlaps(b) else True if a == b else None
    true, false = (a < b, a >= b) if op == "lt" else (a <= b, a > b)
    return True if true else False if false else None


@lru_cache(maxsize=4096)
def _constant(value: object, bits: int) -> arb:
    return constant_ball(value, bits)


def ball_atom(name: str, order: int, a: arb, parameters: tuple[Fraction, ...]) -> arb:
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
        return _smooth(name, flint.arb_series([a, 1], prec=order + 1))[order] * factorial(order)
    except ValueError:  # a ball so wide that a denominator may be 0: nothing is known, as for a quotient of balls
        return flint.arb("nan")
    finally:
        flint.ctx.cap = saved


def _smooth(name: str, t: Smooth) -> Smooth:
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
    method: Callable[[], Smooth] | None = getattr(t, name, None)
    if method is None:
        raise MathematicalError(f"the atom {name} is not known to ball arithmetic")
    return method()


def _power_atom(name: str, order: int, a: arb, p: Fraction) -> arb:
    """``|t|^p``, ``sgn(t)|t|^p`` or ``max(t, 0)^p``, differentiated ``order`` times (weakly)."""
    import flint

    factor = Fraction(1)
    for j in range(order):
        factor *= p - j
    scale = ball(factor)
    rest = p - order
    odd = (name == "sgnpow") != bool(order % 2)

    def side(size: arb, positive: bool) -> arb:
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


def _nonnegative_power(size: arb, exponent: Fraction) -> arb:
    """``s ** q`` over a ball of non-negative numbers (the ball may reach below 0 by rounding)."""
    import flint

    q = ball(exponent)
    if exponent.denominator == 1 and exponent > 0:
        return ball(whole_power(size, int(exponent)))
    if size > 0:
        return size**q
    if exponent < 0:
        return flint.arb.nan()
    top = size.upper().max(flint.arb(0))
    return flint.arb(0) if top.is_zero() else flint.arb(0).union((top**q).upper())


def _huber(order: int, a: arb, delta: Fraction) -> arb:
    import flint

    d = ball(delta)
    inner = [a * a / 2, a, flint.arb(1), flint.arb(0)][min(order, 3)]
    upper = [d * a - d * d / 2, d, flint.arb(0), flint.arb(0)][min(order, 3)]
    lower = [-d * a - d * d / 2, -d, flint.arb(0), flint.arb(0)][min(order, 3)]
    parts = [v for v, out in ((inner, a > d or a < -d), (upper, a < d), (lower, a > -d)) if not out]
    return reduce(flint.arb.union, parts)


def _pieces(a: arb, value: Callable[[arb, int], arb], width: int) -> arb:
    """Union of ``value`` over the unit intervals ``[k, k+1]`` that the ball meets."""
    import flint

    low, high = int(np.floor(float(a.lower()))), int(np.floor(float(a.upper())))
    if not -(2**40) < low <= high < 2**40 or high - low > 8:
        return flint.arb.nan()
    met = [k for k in range(low - 1, high + 2) if not (a < k or a > k + 1)]
    return reduce(flint.arb.union, [value(a if k < a < k + 1 else _clip(a, k, k + 1), k) for k in met])


def _clip(a: arb, low: int, high: int) -> arb:
    import flint

    return a.max(flint.arb(low)).min(flint.arb(high))


def _psi(nu: Fraction, order: int, t: arb, k: int) -> arb:
    """The period-4 function of ragd-gs section 9.6 on ``[k, k+1]``: ``psi''' = sgn(s)|s|^nu``, s the triangle wave."""
    import flint

    quarter = k % 4
    base = k - quarter
    s = t - base if quarter == 0 else (2 + base) - t if quarter in (1, 2) else t - base - 4
    rising = quarter in (0, 3)
    sign = 1 if quarter in (0, 1) else -1
    size = s if sign > 0 else -s

    def power(exponent: Fraction) -> arb:
        return flint.arb(1) if exponent == 0 else _nonnegative_power(size, exponent)

    match order:
        case 4:
            slope = flint.arb(1) if nu == 1 else ball(nu) * _nonnegative_power(size, nu - 1) if nu else flint.arb(0)
            return slope if rising else -slope
        case 3:
            return sign * power(nu)
        case 2:
            value = (power(1 + nu) - 1) / ball(1 + nu)
            return value if rising else -value
        case 1:
            return sign * power(2 + nu) / ball((1 + nu) * (2 + nu)) - s / ball(1 + nu)
        case 0:
            first, second = 1 / ((1 + nu) * (2 + nu) * (3 + nu)), Fraction(1, 2) / (1 + nu)
            value = power(3 + nu) * ball(first) - size * size * ball(second)
            return value if rising else ball(2 * (first - second)) - value
    raise MathematicalError(f"the derivative of order {order} of psi(nu, t) is not a function")
