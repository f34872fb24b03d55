"""Exact scalar formulas as they were before there was one evaluator of trees: an oracle.

``4*(eps*rho*eta**2)**(1/4)`` is a rational number whenever the root is one; everything else becomes a ball of 200 bits
that contains the true value. A ball that straddles an integer makes ``floor`` and ``ceil`` a ball of both answers, and
a comparison that the balls do not decide is None.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeAlias

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.numbers.powers import LONGEST, rational_power

Scalar: TypeAlias = Any
"""``fractions.Fraction`` or ``flint.arb``."""
BITS = 200
MAXIMAL_TERMS = 1_000_000
LARGEST = sys.float_info.max


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Work with balls of so many bits inside the block."""
    from flint import ctx

    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Scalar) -> Any:
    """A rational as a ball; a ball as it is."""
    from flint import arb, fmpq

    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return value


def hull(low: Scalar, high: Scalar) -> Scalar:
    """The smallest ball that contains both."""
    if isinstance(low, Fraction) and low == high:
        return low
    return ball(low).union(ball(high))


def ends(value: Scalar) -> tuple[float, float]:
    """Floats below and above every number that the value may be."""
    if isinstance(value, Fraction):
        near = _nearest_float(value)
        if not math.isfinite(near):
            return _beyond(near, near)
        if Fraction(near) == value:
            return near, near
        low = near if Fraction(near) < value else math.nextafter(near, -math.inf)
        return low, math.nextafter(low, math.inf)
    low, high = value.lower(), value.upper()
    bottom, top = _float_of_ball(low), _float_of_ball(high)
    if not ball(Fraction(bottom)) <= low if math.isfinite(bottom) else False:
        bottom = math.nextafter(bottom, -math.inf)
    if not ball(Fraction(top)) >= high if math.isfinite(top) else False:
        top = math.nextafter(top, math.inf)
    return _beyond(bottom, top)


def _beyond(low: float, high: float) -> tuple[float, float]:
    """Ends beyond all floats rounded outwards: no infinity is below a number, none above one."""
    return LARGEST if low == math.inf else low, -LARGEST if high == -math.inf else high


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _float_of_ball(value: Any) -> float:
    """The float nearest to a ball without width; infinities for what is beyond all floats."""
    if not abs(value) < LARGEST:
        return math.nan if value.is_nan() else math.inf if value > 0 else -math.inf
    return float(value)


def middle(value: Scalar) -> float:
    """The float nearest to the middle."""
    return _nearest_float(value) if isinstance(value, Fraction) else _float_of_ball(value.mid())


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
            return _whole_power(ball(base), int(exponent))
    wide = ball(base)
    if bool(wide == 0) and bool(ball(exponent) > 0):
        return Fraction(0)
    if not bool(wide > 0):
        if bool(wide >= 0) and bool(ball(exponent) > 0):
            top = wide.upper() ** ball(exponent)
            return ball(Fraction(0)).union(top)
        raise MathematicalError("a broken power of a number that may be negative")
    return (wide.log() * ball(exponent)).exp() if not isinstance(exponent, Fraction) else wide ** ball(exponent)


def _whole_power(base: Any, exponent: int) -> Any:
    """By repeated squaring: ``arb ** int`` itself is NaN for a ball that contains 0."""
    if exponent < 0:
        return 1 / _whole_power(base, -exponent)
    result, square = ball(Fraction(1)), base
    while exponent:
        if exponent & 1:
            result = result * square
        exponent >>= 1
        square = square * square if exponent else square
    return result


def divide(top: Scalar, bottom: Scalar) -> Scalar:
    """Quotient.

    Raises
    ------
    MathematicalError : the denominator is, or may be, 0.
    """
    if isinstance(top, Fraction) and isinstance(bottom, Fraction):
        if bottom == 0:
            raise MathematicalError("division by zero")
        return _trim(top / bottom)
    if ball(bottom).contains(0):
        raise MathematicalError("division by a number that may be 0")
    return ball(top) / ball(bottom)


def _trim(value: Scalar) -> Scalar:
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() > LONGEST:
        return ball(value)
    return value


def add(left: Scalar, right: Scalar) -> Scalar:
    """Sum."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return _trim(left + right)
    return ball(left) + ball(right)


def multiply(left: Scalar, right: Scalar) -> Scalar:
    """Product; 0 times anything is 0."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return _trim(left * right)
    if any(isinstance(side, Fraction) and side == 0 for side in (left, right)):
        return Fraction(0)
    return ball(left) * ball(right)


def compare(left: Scalar, operator: str, right: Scalar) -> bool | None:
    """True, False, or None where the balls overlap."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        answers = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
        return answers.get(operator, left == right)
    a, b = ball(left), ball(right)
    if operator == "==":
        return False if not a.overlaps(b) else (True if bool(a == b) else None)
    yes, no = {"<": (a < b, a >= b), "<=": (a <= b, a > b), ">": (a > b, a <= b), ">=": (a >= b, a < b)}[operator]
    return True if bool(yes) else (False if bool(no) else None)


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


def _sign(value: Scalar) -> Scalar:
    for number, operator in ((1, ">"), (-1, "<"), (0, "==")):
        if compare(value, operator, Fraction(0)):
            return Fraction(number)
    return hull(Fraction(-1), Fraction(1))


def _transcendental(name: str, value: Scalar) -> Scalar:
    known = {("exp", 0): 1, ("log", 1): 0, ("sin", 0): 0, ("cos", 0): 1, ("cosh", 0): 1}
    if isinstance(value, Fraction) and value in (0, 1) and (name, int(value)) in known:
        return Fraction(known[name, int(value)])
    if name == "log" and not bool(ball(value) > 0):
        raise MathematicalError("the logarithm of a number that may not be positive")
    return getattr(ball(value), name)()


UNARY: dict[str, Callable[[Scalar], Scalar]] = {
    "sqrt": lambda v: power(v, Fraction(1, 2)),
    "abs": lambda v: larger(v, multiply(Fraction(-1), v)),
    "plus": lambda v: larger(v, Fraction(0)),
    "floor": lambda v: rounded(v, False),
    "ceil": lambda v: rounded(v, True),
    "sign": _sign,
    **{
        name: (lambda v, name=name: _transcendental(name, v))  # type: ignore[misc]
        for name in TRANSCENDENTAL
    },
}


class Formula:
    """Evaluates scalar trees with given letters.

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
        KeyError : a letter without a value.
        """
        match node:
            case tree.Number(value=value):
                return value
            case tree.Letter(name=name):
                return self.letter(name)
            case tree.Add(terms=terms):
                return _fold(add, [self.value(t) for t in terms])
            case tree.Multiply(factors=factors):
                return _fold(multiply, [self.value(f) for f in factors])
            case tree.Divide(numerator=a, denominator=b):
                return divide(self.value(a), self.value(b))
            case tree.Power(base=a, exponent=b):
                return power(self.value(a), self.value(b))
            case tree.Negate(operand=a):
                return multiply(Fraction(-1), self.value(a))
            case tree.Modulo(left=a, right=b):
                left, right = self.value(a), self.value(b)
                whole = rounded(divide(left, right), False)
                return add(left, multiply(Fraction(-1), multiply(right, whole)))
            case tree.Conditional(test=test, yes=yes, no=no):
                return self.branch(test, yes, no)
            case tree.Call(function=name, arguments=arguments):
                return self.call(node, name, arguments)
        raise MathematicalError(f"{type(node).__name__} is not a scalar formula")

    def letter(self, name: str) -> Scalar:
        """A letter, pi or E."""
        if name in self.letters:
            return self.letters[name]
        if name in ("pi", "E"):
            from flint import arb

            return arb.pi() if name == "pi" else arb.const_e()
        raise KeyError(name)

    def branch(self, test: tree.Node, yes: tree.Node, no: tree.Node) -> Scalar:
        """A conditional; the hull of both branches where the test is not decided."""
        answer = self.answer(test)
        if answer is None:
            return hull(self.value(yes), self.value(no))
        return self.value(yes if answer else no)

    def call(self, node: tree.Call, name: str, arguments: tuple[tree.Node, ...]) -> Scalar:
        """A function of the scalar whitelist, or one that runs over an index range."""
        span = binder(node)
        if span is not None:
            return self.over_range(name, arguments[0], *span)
        values = [self.value(a) for a in arguments]
        if name in ("max", "min") and values:
            return _fold(larger if name == "max" else smaller, values)
        if name in UNARY and len(values) == 1:
            return UNARY[name](values[0])
        if name in ("binomial", "factorial"):
            return _combinatorial(name, values)
        raise MathematicalError(f"{name} of {len(values)} arguments is not a scalar function")

    def over_range(self, name: str, body: tree.Node, index: str, lo: tree.Node, hi: tree.Node) -> Scalar:
        """Sum, product, maximum, minimum, argmin, argmax over all integers between two ends."""
        first, last = rounded(self.value(lo), True), rounded(self.value(hi), False)
        if not all(isinstance(e, Fraction) for e in (first, last)):
            raise MathematicalError(f"the range of {index}: an end cannot be told from an integer next to it")
        if last - first > MAXIMAL_TERMS:
            raise MathematicalError(f"more than {MAXIMAL_TERMS} terms")
        terms = [Formula({**self.letters, index: Fraction(i)}).value(body) for i in range(int(first), int(last) + 1)]
        if name in ("sum", "prod"):
            return _fold(add, terms) if name == "sum" and terms else _fold(multiply, [Fraction(name == "prod"), *terms])
        if not terms:
            raise MathematicalError(f"{name} over an empty range")
        if name in ("max", "min"):
            return _fold(larger if name == "max" else smaller, terms)
        return Fraction(int(first) + _arg(terms, name == "argmax"))

    def answer(self, node: tree.Node) -> bool | None:
        """A condition: True, False, or None where the enclosures do not decide."""
        match node:
            case tree.Truth(value=value):
                return value
            case tree.Not(operand=part):
                found = self.answer(part)
                return None if found is None else not found
            case tree.Logical(operator=word, operands=parts):
                answers = [self.answer(p) for p in parts]
                decisive = word == "or"
                if decisive in answers:
                    return decisive
                return None if None in answers else not decisive
            case tree.Compare(operands=parts, operators=signs):
                values = [self.value(p) for p in parts]
                links = [compare(values[i], sign, values[i + 1]) for i, sign in enumerate(signs)]
                return False if False in links else (None if None in links else True)
        raise MathematicalError("a condition was expected")


def _fold(operation: Callable[[Scalar, Scalar], Scalar], values: list[Scalar]) -> Scalar:
    total = values[0]
    for value in values[1:]:
        total = operation(total, value)
    return total


def _arg(terms: list[Scalar], largest: bool) -> int:
    best = 0
    for number, term in enumerate(terms[1:], 1):
        better = compare(term, ">" if largest else "<", terms[best])
        if better is None:
            raise MathematicalError("the order of two terms is not decided")
        best = number if better else best
    return best


def _combinatorial(name: str, values: list[Scalar]) -> Scalar:
    if not all(isinstance(v, Fraction) and v.denominator == 1 and 0 <= v <= 1000 for v in values):
        raise MathematicalError(f"{name} needs integers between 0 and 1000")
    numbers = [int(v) for v in values]
    return Fraction(math.factorial(numbers[0]) if name == "factorial" else math.comb(*numbers))
