"""Scalar formulas in exact arithmetic: rationals while they stay rational, outward-rounded balls otherwise.

``4*(eps*rho*eta**2)**(1/4)`` is a rational number whenever the root is one; everything else becomes a ball of 200 bits
that contains the true value. A ball that straddles an integer makes ``floor`` and ``ceil`` a ball of both answers, and
a comparison that the balls do not decide is None.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from bilevel_verify.errors import MathematicalError, UnboundError
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY, TRANSCENDENTAL
from bilevel_verify.numbers.balls import BALLS
from bilevel_verify.numbers.balls import compare as compare_balls
from bilevel_verify.numbers.logic import Answer, logical
from bilevel_verify.numbers.powers import LONGEST, rational_power, whole_power
from bilevel_verify.numbers.rounding import ball, constant_ball, float_above, float_below, floats_of, nearest
from bilevel_verify.numbers.trees import RELATIONS, TreeEvaluator, is_condition

if TYPE_CHECKING:
    from flint import arb

Scalar: TypeAlias = "Fraction | arb"
"""``fractions.Fraction`` or ``flint.arb``."""
BITS = 200
LARGEST_WHOLE = 2000
"""Integers of which a factorial or a binomial coefficient is written out."""
LARGEST = sys.float_info.max


def hull(low: Scalar, high: Scalar) -> Scalar:
    """The smallest ball that contains both."""
    if isinstance(low, Fraction) and low == high:
        return low
    return ball(low).union(ball(high))


def ends(value: Scalar) -> tuple[float, float]:
    """Floats below and above every number that the value may be; no infinity is below a number, none above one.

    NaN stays NaN.
    """
    if isinstance(value, Fraction):
        return float_below(value), float_above(value)
    if value.is_nan():
        return math.nan, math.nan
    low, high = floats_of(value)
    return LARGEST if low == math.inf else low, -LARGEST if high == -math.inf else high


def middle(value: Scalar) -> float:
    """The float nearest to the middle."""
    return nearest(value) if isinstance(value, Fraction) else float(value.mid())


def rational(value: Scalar) -> Fraction:
    """An exact rational as it is, or the middle of a ball with all its bits."""
    if isinstance(value, Fraction):
        return value
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * (Fraction(2) ** int(exponent))


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """``base ** exponent``; a rational where it is one.

    Raises
    ------
    MathematicalError : 0 to a negative power, or a root of a number that may be negative.
    """
    if isinstance(exponent, Fraction):
        if isinstance(base, Fraction):
            exact = rational_power(base, exponent)
            if exact is not None:
                return exact
        if exponent.denominator == 1:
            if exponent < 0 and ball(base).contains(0):
                raise MathematicalError("a negative power of a number that may be 0")
            return whole_power(ball(base), int(exponent)) if exponent else Fraction(1)
    wide = ball(base)
    if bool(wide == 0) and bool(ball(exponent) > 0):
        return Fraction(0)
    if not bool(wide > 0):
        if bool(wide >= 0) and bool(ball(exponent) > 0):
            top = wide.upper() ** ball(exponent)
            return ball(Fraction(0)).union(top)
        raise MathematicalError("a broken power of a number that may be negative")
    return (wide.log() * ball(exponent)).exp() if not isinstance(exponent, Fraction) else wide ** ball(exponent)


def divide(top: Scalar, bottom: Scalar) -> Scalar:
    """Quotient.

    Raises
    ------
    MathematicalError : the denominator is, or may be, 0.
    """
    if type(top) is type(bottom) is Fraction:
        if bottom == 0:
            raise MathematicalError("division by zero")
        return _trim(top / bottom)
    if ball(bottom).contains(0):
        raise MathematicalError("division by a number that may be 0")
    return ball(top) / ball(bottom)


def _trim(value: Scalar) -> Scalar:
    if type(value) is Fraction and value.numerator.bit_length() + value.denominator.bit_length() > LONGEST:
        return ball(value)
    return value


def add(left: Scalar, right: Scalar) -> Scalar:
    """Sum."""
    if type(left) is type(right) is Fraction:
        return _trim(left + right)
    return ball(left) + ball(right)


def multiply(left: Scalar, right: Scalar) -> Scalar:
    """Product; 0 times anything is 0."""
    if type(left) is type(right) is Fraction:
        return _trim(left * right)
    if any(type(side) is Fraction and not side.numerator for side in (left, right)):
        return Fraction(0)
    return ball(left) * ball(right)


def relation(op: str, a: Scalar, b: Scalar) -> Answer:
    """``lt``, ``le`` or ``eq``: True, False, or None where the balls overlap."""
    if type(a) is type(b) is Fraction:
        return a < b if op == "lt" else a <= b if op == "le" else a == b
    return compare_balls(op, ball(a), ball(b))


def compare(left: Scalar, operator: str, right: Scalar) -> Answer:
    """An operator of the language: True, False, or None where the balls overlap."""
    op, turned = RELATIONS[operator]
    return relation(op, right, left) if turned else relation(op, left, right)


def larger(left: Scalar, right: Scalar) -> Scalar:
    """Maximum."""
    answer = compare(left, ">=", right)
    if answer is not None:
        return left if answer else right
    return ball(left).max(ball(right))


def smaller(left: Scalar, right: Scalar) -> Scalar:
    """Minimum."""
    answer = compare(left, "<=", right)
    if answer is not None:
        return left if answer else right
    return ball(left).min(ball(right))


def rounded(value: Scalar, up: bool) -> Scalar:
    """``ceil`` or ``floor``; a ball of both answers where the value straddles an integer."""
    if isinstance(value, Fraction):
        return Fraction(math.ceil(value) if up else math.floor(value))
    low, high = (side.ceil() if up else side.floor() for side in (value.lower(), value.upper()))
    first, last = low.unique_fmpz(), high.unique_fmpz()
    if first is None or last is None:
        raise MathematicalError("too wide to round")
    return hull(Fraction(int(first)), Fraction(int(last)))


def sign(value: Scalar) -> Scalar:
    """1, 0 or -1; the ball of all of them where it is not decided."""
    for number, operator in ((1, ">"), (-1, "<"), (0, "==")):
        if compare(value, operator, Fraction(0)):
            return Fraction(number)
    return hull(Fraction(-1), Fraction(1))


def integer(value: Scalar, what: str) -> int:
    """An index or a range end; a ball that holds one integer only is that integer if it is exact.

    Raises
    ------
    MathematicalError : it is no integer, or cannot be told from its neighbours.
    """
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return value.numerator
        raise MathematicalError(f"{what} is {value}, not an integer")
    whole = value.unique_fmpz()
    if whole is None or not value.is_exact():
        raise MathematicalError(f"precision: {what} cannot be told from its neighbours")
    return int(whole)


def transcendental(name: str, value: Scalar) -> Scalar:
    """An elementary function that is no root; a rational where everybody knows it.

    Raises
    ------
    MathematicalError : the logarithm of a number that may not be positive.
    """
    known = {("exp", 0): 1, ("log", 1): 0, ("sin", 0): 0, ("cos", 0): 1, ("cosh", 0): 1}
    if isinstance(value, Fraction) and value in (0, 1) and (name, int(value)) in known:
        return Fraction(known[name, int(value)])
    if name == "log" and not bool(ball(value) > 0):
        raise MathematicalError("the logarithm of a number that may not be positive")
    found: Scalar = ELEMENTARY[name].ball(ball(value))
    return found


class Exact:
    """Rationals while they stay rational, balls otherwise: an instance of the protocol for programs and trees."""

    add, mul, div = staticmethod(add), staticmethod(multiply), staticmethod(divide)
    power, raised = staticmethod(power), staticmethod(power)
    maximum, minimum = staticmethod(larger), staticmethod(smaller)
    compare, logical, integer = staticmethod(relation), staticmethod(logical), staticmethod(integer)
    sign = staticmethod(sign)

    def constant(self, value: object) -> Scalar:
        import flint

        if type(value) is Fraction:
            return value
        return Fraction(value) if isinstance(value, Fraction | int) else constant_ball(value, flint.ctx.prec)

    def named(self, name: str) -> Scalar:
        import flint

        if name not in ("pi", "E"):
            raise UnboundError(name)
        return flint.arb.pi() if name == "pi" else flint.arb.const_e()

    def neg(self, a: Scalar) -> Scalar:
        return -a

    def absolute(self, a: Scalar) -> Scalar:
        return larger(a, -a)

    def floor(self, a: Scalar) -> Scalar:
        return rounded(a, up=False)

    def ceil(self, a: Scalar) -> Scalar:
        return rounded(a, up=True)

    def atom(self, name: str, order: int, a: Scalar, parameters: tuple[object, ...]) -> Scalar:
        if order == 0 and name in TRANSCENDENTAL:
            return transcendental(name, a)
        return BALLS.atom(name, order, ball(a), parameters)

    def logsumexp(self, args: Sequence[Scalar]) -> Scalar:
        return BALLS.logsumexp([ball(a) for a in args])

    def select(self, test: Answer, yes: Scalar, no: Scalar) -> Scalar:
        return hull(yes, no) if test is None else yes if test else no


EXACT = Exact()


def _whole(function: Callable[..., int]) -> Callable[..., Scalar]:
    def apply(*arguments: Scalar) -> Scalar:
        numbers = [integer(a, "an argument") for a in arguments]
        if any(number < 0 for number in numbers):
            raise MathematicalError("a factorial or binomial of a negative number")
        if any(number > LARGEST_WHOLE for number in numbers):
            raise MathematicalError("budget: a factorial or binomial of a large number")
        return Fraction(function(*numbers))

    return apply


FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    "sqrt": lambda v: power(v, Fraction(1, 2)),
    "abs": EXACT.absolute,
    "plus": lambda v: larger(v, Fraction(0)),
    "floor": EXACT.floor,
    "ceil": EXACT.ceil,
    "sign": sign,
    "binomial": _whole(math.comb),
    "factorial": _whole(math.factorial),
    **{name: partial(transcendental, name) for name in TRANSCENDENTAL},
}
"""Functions of scalars, by their names in the language."""


class _Formulas(TreeEvaluator[Scalar, Answer]):
    """Scalar trees; what is no scalar is refused where it is reached."""

    lazy = True


_FORMULAS = _Formulas(EXACT, FUNCTIONS)


class Formula:
    """Scalar trees with given letters.

    Parameters
    ----------
    letters : name -> rational or ball.
    """

    def __init__(self, letters: Mapping[str, Scalar]) -> None:
        self.letters = dict(letters)

    def value(self, node: tree.Node) -> Scalar:
        """The enclosure of a scalar expression.

        Raises
        ------
        MathematicalError : undefined here (division by zero, root of a negative number), names what.
        UnboundError : a letter without a value.
        """
        found: Scalar = self._of(node, condition=False)
        return found

    def answer(self, node: tree.Node) -> Answer:
        """A condition: True, False, or None where the enclosures do not decide."""
        answer: Answer = self._of(node, condition=True)
        return answer

    def _of(self, node: tree.Node, condition: bool) -> Any:
        if is_condition(node) is not condition:
            raise MathematicalError("a condition was expected" if condition else "a number was expected")
        return _FORMULAS.compiled(node)(self.letters)
