"""Signs of combinations of logarithms in one letter, by Rolle's theorem: exact, also where both sides meet at infinity.

The logarithm of a quotient of positive sides, divided by one of its coefficients, has a derivative with a logarithm
less; the signs of a derivative and the limits at both ends of the range give the signs of the function. At the bottom
stands a rational function, whose sign changes are counted by Sturm's theorem. Limits are read off exact expansions.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from bilevel_verify.audit.scalar.calculus import numeric_ends
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.combination import (
    FIELD,
    Combination,
    NotACombination,
    Range,
    Rational,
    Reader,
    has_root,
    odd_roots,
)
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.work import spend
from bilevel_verify.language import tree
from bilevel_verify.numbers.rounding import ball, precision
from bilevel_verify.theorems.card_parts import Expression

if TYPE_CHECKING:
    from sympy.polys.rings import PolyElement

ENGINE = "rolle"
LOGARITHMS = 5
ROOT = 6
STEP_WORK = 20.0
PRECISIONS = (64, 256, 1024, 4096)
Signs = tuple[int, ...]
"""Signs on the successive parts of a range: ``(1,)``, ``(-1, 1)`` ..; ``(0,)`` for the function 0."""
Series = dict[int, Fraction]
Number = tuple[Fraction, Mapping[Fraction, Fraction]]
"""``q + sum of r*log(c)``: the number q, and c -> r."""


def by_rolle(claim: ScalarClaim) -> Decision:
    """One letter: the difference of the sides, or of their logarithms, has one sign on the whole range."""
    if claim.op == "==" or len(claim.letters) != 1 or any(_rounds(side) for side in (claim.left, claim.right)):
        return _undecided("an equality, a rounding, or not one letter")
    (name,) = claim.letters
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    reader = _reader(claim, name, _root(name, low, high))
    if reader is None:
        return _undecided("no lower end")
    reasons = []
    for how in (reader.of, reader.logarithm):
        try:
            difference = how(high).plus(how(low).times(-FIELD.one))
            if _holds(difference, reader, claim.op in ("<", ">")):
                what = "logarithms of both sides" if how == reader.logarithm else "both sides"
                return Decision("proved", ENGINE, f"{what} compared: signs of derivatives in {name}, limits at ends")
            reasons.append("the signs are not settled")
        except NotACombination as reason:
            reasons.append(str(reason))
    return _undecided("; ".join(dict.fromkeys(reasons)))


def _undecided(reason: str) -> Decision:
    return Decision("undecided", ENGINE, reason)


def _rounds(side: tree.Node) -> bool:
    return any(isinstance(part, tree.Modulo) for part in side.walk())


def _root(name: str, *sides: tree.Node) -> int:
    """Common denominator of the powers of the letter by itself."""
    found = 1
    for side in sides:
        for part in side.walk():
            match part:
                case tree.Power(base=tree.Letter(name=base), exponent=tree.Number(value=value)) if base == name:
                    found = lcm(found, value.denominator)
                case tree.Power(
                    base=tree.Letter(name=base),
                    exponent=tree.Divide(numerator=tree.Number(value=top), denominator=tree.Number(value=bottom)),
                ) if base == name and bottom:
                    found = lcm(found, (top / bottom).denominator)
                case tree.Call(function="sqrt", arguments=(tree.Letter(name=base),)) if base == name:
                    found = lcm(found, 2)
    return found if found <= ROOT else 1


def _reader(claim: ScalarClaim, name: str, root: int) -> Reader | None:
    """The range between the numeric ends of the letter, in the variable whose power the letter is."""
    low, high = numeric_ends(claim, name)
    if low is None or (high is not None and not low < high):
        return None
    domain = claim.domains[name]
    closed = (
        domain.lower_closed or not _is_end(domain.lower, low),
        domain.upper_closed or not _is_end(domain.upper, high),
    )
    first, last = _exact_root(low, root), None if high is None else _exact_root(high, root)
    if first is None or (high is not None and last is None):
        return Reader(name, Range(low, high, closed))
    return Reader(name, Range(first, last, closed), root)


def _is_end(end: Expression | None, value: Fraction | None) -> bool:
    """Whether the end of a range is this number (a hypothesis may be narrower)."""
    form = None if end is None else linear_form(end.tree)
    return form is not None and not form[1] and form[0] == value


def _exact_root(value: Fraction, root: int) -> Fraction | None:
    if root == 1:
        return value
    if value < 0:
        return None
    found = Fraction(round(value.numerator ** (1 / root)), round(value.denominator ** (1 / root)))
    return found if found**root == value else None


def _holds(difference: Combination, reader: Reader, strict: bool) -> bool:
    """Whether the difference is >= 0 (> 0) on the range; at an end that belongs to it, it must be defined."""
    where = reader.where
    for upper, end in ((False, where.low), (True, where.high)):
        if end is None or not where.closed[upper]:
            continue
        if not all(_value(poly, end) for poly in reader.nonzero):
            return False
        if strict and _limit(difference, where, upper) <= 0:
            return False
    try:
        return _positive(difference, where, strict)
    except NotACombination:
        points = _candidates(difference, where)
        if not points:
            raise
    parts = [
        (Range(where.low, point), Range(point, where.high))
        for point in points
        if not strict or _limit(difference, Range(where.low, point), True) > 0
    ]
    return any(all(_quietly(difference, part, strict) for part in pair) for pair in parts)


def _positive(value: Combination, where: Range, strict: bool) -> bool:
    """Whether a combination is >= 0 (> 0) on an open range."""
    signs = _signs(value, where)
    if strict and not value.logs and has_root(value.rest.numer, where):
        return False
    return signs == (1,) or (signs == (0,) and not strict)


def _quietly(value: Combination, where: Range, strict: bool) -> bool:
    with suppress(NotACombination):
        return _positive(value, where, strict)
    return False


def _candidates(value: Combination, where: Range) -> list[Fraction]:
    """Rational points inside the range where the argument of a logarithm is 1: the sides may touch there."""
    found = set()
    for inner in value.logs:
        for factor, _ in (inner - 1).factor_list()[1]:
            if factor.degree() == 1:
                slope = _value(factor, Fraction(1)) - _value(factor, Fraction(0))
                found.add(-_value(factor, Fraction(0)) / slope)
    return sorted(c for c in found if c > where.low and (where.high is None or c < where.high))


def _signs(value: Combination, where: Range) -> Signs:
    """The signs on the open range.

    Raises
    ------
    NotACombination : they are not settled by the ends.
    """
    spend(STEP_WORK)
    if not value.logs:
        return _signs_of_rational(value.rest, where)
    if len(value.logs) > LOGARITHMS:
        raise NotACombination("too many logarithms")
    reason = NotACombination("the signs of a derivative are not settled")
    for factor in value.logs.values():
        try:
            (sign,) = _signs_of_rational(factor, where)
            if has_root(factor.numer, where):
                continue
            target = value.times(sign / factor)
            return _from_slope(_signs(target.derivative(), where), target, where)
        except (NotACombination, ValueError) as other:
            reason = other if isinstance(other, NotACombination) else reason
    raise reason


def _signs_of_rational(value: Rational, where: Range) -> Signs:
    if not value:
        return (0,)
    if has_root(value.denom, where):
        raise NotACombination("a pole in the range")
    first = _near(value, where, upper=False)
    return tuple(first * (-1) ** part for part in range(odd_roots(value.numer, where) + 1))


def _from_slope(slope: Signs, value: Combination, where: Range) -> Signs:
    """The signs of a function from those of its derivative and from its limits at both ends."""
    low, high = _limit(value, where, False), _limit(value, where, True)
    match slope:
        case (0,):
            return (low,)
        case (1,) if low >= 0:
            return (1,)
        case (1,) if high <= 0:
            return (-1,)
        case (-1,) if high >= 0:
            return (1,)
        case (-1,) if low <= 0:
            return (-1,)
        case (1,) | (-1,):
            return (low, high)
        case (1, -1) if low >= 0 and high >= 0:
            return (1,)
        case (-1, 1) if low <= 0 and high <= 0:
            return (-1,)
        case (1, -1) if low >= 0 or high >= 0:
            return (1, -1) if low >= 0 else (-1, 1)
        case (-1, 1) if low <= 0 or high <= 0:
            return (-1, 1) if low <= 0 else (1, -1)
    raise NotACombination("an extremum between the ends decides")


# --- limits -----------------------------------------------------------------------------------------------------------


def _limit(value: Combination, where: Range, upper: bool) -> int:
    """The sign of the limit at an end of the range; infinite limits have one too."""
    parts = {inner: _expansion(factor, where, upper, 0) for inner, factor in value.logs.items()}
    depth = max((-min(series, default=0) for series in parts.values()), default=0)
    constants: dict[int, dict[Fraction, Fraction]] = {}
    growing: Series = {}
    numbers = dict(_expansion(value.rest, where, upper, 0))
    for inner, series in parts.items():
        order, first, tail = _logarithm(inner, where, upper, max(depth, 0))
        for power, factor in series.items():
            growing[power] = growing.get(power, Fraction(0)) + factor * order
            here = constants.setdefault(power, {})
            here[first] = here.get(first, Fraction(0)) + factor
            for more, term in tail.items():
                if power + more <= 0:
                    numbers[power + more] = numbers.get(power + more, Fraction(0)) + factor * term
    for power in sorted({*growing, *constants, *numbers}):
        if growing.get(power):
            return -1 if growing[power] > 0 else 1  # log(t) falls to minus infinity
        sign = _sign_of((numbers.get(power, Fraction(0)), constants.get(power, {})))
        if sign:
            return sign
    return 0


def _near(value: Rational, where: Range, *, upper: bool) -> int:
    """The sign of a rational function close to an end."""
    signs = []
    for part in (value.numer, value.denom):
        series = _polynomial(part, where, upper)
        signs.append(1 if series[min(series)] > 0 else -1)
    return signs[0] * signs[1]


def _polynomial(poly: PolyElement, where: Range, upper: bool) -> Series:
    """A polynomial in t -> 0+ with ``x = low + t``, ``high - t`` or ``1/t``."""
    terms = {power: Fraction(int(c.numerator), int(c.denominator)) for (power,), c in poly.terms()}
    end = where.high if upper else where.low
    if end is None:
        return {-power: c for power, c in terms.items()}
    found: Series = {0: Fraction(0)}
    side = -1 if upper else 1
    for power in range(max(terms), -1, -1):  # Horner's rule in end +- t
        shifted = {k: c * end for k, c in found.items()}
        for k, c in found.items():
            shifted[k + 1] = shifted.get(k + 1, Fraction(0)) + side * c
        shifted[0] = shifted.get(0, Fraction(0)) + terms.get(power, Fraction(0))
        found = shifted
    return {k: c for k, c in found.items() if c}


def _expansion(value: Rational, where: Range, upper: bool, last: int) -> Series:
    """The terms up to ``t**last`` of a rational function."""
    if not value:
        return {}
    top, bottom = _polynomial(value.numer, where, upper), _polynomial(value.denom, where, upper)
    start, pole = min(top), min(bottom)
    found: Series = {}
    for power in range(start - pole, last + 1):
        rest = sum((found.get(power - k + pole, Fraction(0)) * c for k, c in bottom.items() if k > pole), Fraction(0))
        found[power] = (top.get(power + pole, Fraction(0)) - rest) / bottom[pole]
    return {k: c for k, c in found.items() if c}


def _logarithm(inner: object, where: Range, upper: bool, last: int) -> tuple[int, Fraction, Series]:
    """``m*log(t) + log(c) + tail`` for a polynomial ``c*t**m*(1 + ..)``: m, c, and the tail up to ``t**last``."""
    series = _polynomial(inner, where, upper)
    order = min(series)
    first = series[order]
    if first <= 0:
        raise NotACombination("the argument of a logarithm is not positive near an end")
    u = {k - order: c / first for k, c in series.items()}
    tail: Series = {}
    for n in range(1, last + 1):  # n*u_n = n*l_n + sum of k*l_k*u_(n-k)
        rest = sum((k * tail.get(k, Fraction(0)) * u.get(n - k, Fraction(0)) for k in range(1, n)), Fraction(0))
        tail[n] = u.get(n, Fraction(0)) - rest / n
    return order, first, {k: c for k, c in tail.items() if c}


def _value(poly: PolyElement, at: Fraction) -> Fraction:
    found = Fraction(0)
    for (power,), c in poly.terms():
        found += Fraction(int(c.numerator), int(c.denominator)) * at**power
    return found


def _sign_of(value: Number) -> int:
    """The sign of ``q + sum of r*log(c)``; it is 0 only where the logarithms cancel and q is 0 (Lindemann)."""
    constant, logs = value
    shares = {c: r for c, r in logs.items() if r and c != 1}
    if not shares or _cancel(shares):
        return (constant > 0) - (constant < 0)
    for bits in PRECISIONS:
        with precision(bits):
            total = ball(constant)
            for c, r in shares.items():
                total += ball(r) * ball(c).log()
            if not total.contains(0):
                return 1 if total > 0 else -1
    raise NotACombination("a number too close to 0")


def _cancel(shares: Mapping[Fraction, Fraction]) -> bool:
    """Whether the product of all ``c**r`` is 1, exactly."""
    scale = lcm(*(r.denominator for r in shares.values()))
    powers = [(c, int(r * scale)) for c, r in shares.items()]
    if sum(abs(n) * max(c.numerator, c.denominator).bit_length() for c, n in powers) > 1_000_000:
        raise NotACombination("numbers too large")
    product = Fraction(1)
    for c, n in powers:
        product *= c**n
    return product == 1


__all__ = ["by_rolle"]
