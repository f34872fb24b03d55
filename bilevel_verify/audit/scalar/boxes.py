"""Interval branch and bound: a relation on a box of letters, outward rounded; hypotheses cut boxes away.

A letter that runs to infinity is turned into ``t`` in [0, 1] first and the difference is divided by its dominating
power, so that unbounded boxes are informative. Where the sides meet at an end of a range no box decides; there the
derivative does: monotone in one letter, so look at the end point.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from types import MappingProxyType
from typing import Any

from bilevel_verify.audit.scalar.integers import whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import nonnegative as plainly_nonnegative
from bilevel_verify.audit.scalar.work import spend
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY, Elementary
from bilevel_verify.theorems.card_parts import Domain, Expression

Ball = Any
Box = dict[str, tuple[Fraction, Fraction]]
Evaluate = Callable[[Mapping[str, Ball]], "Ball | None"]
NOWHERE: Mapping[str, Domain] = MappingProxyType({})
PRECISION = 90
BOX_LIMIT = 3_000
NODE_WORK = 0.002
"""What the enclosure of one node on one box costs."""
SMALLEST = Fraction(1, 10**7)
ROUNDING = 1e-8
"""Bases that reach below zero by less than this share of their size are cut at zero: balls have round radii, and real
powers and roots of negative numbers are not defined."""


class NoEnclosure(Exception):
    """The expression cannot be enclosed on boxes (a sum with a variable limit, a matrix ...)."""


def enclose(node: tree.Node, domains: Mapping[str, Domain] = NOWHERE) -> Evaluate:
    """A function from boxes to an enclosure of the values wherever the tree is defined; None where there is none.

    ``domains`` say which exponents are integers.

    Raises
    ------
    NoEnclosure : a function outside the table.
    """
    match node:
        case tree.Number(value=value):
            number = _ball(value)
            return lambda box: number
        case tree.Letter(name=name):
            return _letter(name)
        case tree.Add(terms=terms):
            return _fold(terms, domains, lambda a, b: a + b)
        case tree.Multiply(factors=factors):
            return _product(factors, domains)
        case tree.Divide(numerator=top, denominator=bottom):
            return _binary(top, bottom, domains, lambda a, b: None if b.contains(0) else a / b)
        case tree.Negate(operand=operand):
            inner = enclose(operand, domains)
            return lambda box: None if (v := inner(box)) is None else -v
        case tree.Power(base=base, exponent=exponent):
            return _power_of(base, exponent, domains)
        case tree.Conditional(test=test, yes=yes, no=no):
            return _conditional(test, yes, no, domains)
        case tree.Call():
            return _call(node, domains)
    raise NoEnclosure(type(node).__name__)


def truth(node: tree.Node, domains: Mapping[str, Domain] = NOWHERE) -> Callable[[Mapping[str, Ball]], bool | None]:
    """Whether a condition holds on a whole box, fails on a whole box, or neither (None).

    Raises
    ------
    NoEnclosure : not a comparison or a combination of comparisons.
    """
    match node:
        case tree.Compare(operands=operands, operators=operators):
            sides = [enclose(o, domains) for o in operands]
            return lambda box: _chain([s(box) for s in sides], operators)
        case tree.Logical(operator=word, operands=operands):
            parts = [truth(o, domains) for o in operands]
            return lambda box: _joined([p(box) for p in parts], word)
        case tree.Not(operand=operand):
            inner = truth(operand, domains)
            return lambda box: None if (v := inner(box)) is None else not v
    raise NoEnclosure("not a comparison")


@dataclass(frozen=True)
class Search:
    """Result of a branch and bound: proved, or the worst box met."""

    proved: bool
    boxes: int
    worst: str = ""


@dataclass(frozen=True)
class Slope:
    """An end of a letter at which the expression is known to be nonnegative, and its derivative away from there."""

    name: str
    end: Fraction
    away: tree.Node


def nonnegative(
    node: tree.Node,
    box: Box,
    conditions: tuple[tree.Node, ...] = (),
    strict: bool = False,
    slopes: tuple[Slope, ...] = (),
    domains: Mapping[str, Domain] = NOWHERE,
) -> Search:
    """Prove ``node >= 0`` (``> 0`` if strict) on a box wherever it is defined and the conditions hold.

    ``slopes`` help at boxes that touch an end: nonnegative there and growing away from it is nonnegative. Letters that
    ``domains`` leave out range over the box.
    """
    from bilevel_verify.theorems.exact import precision

    domains = {**{name: _closed(*ends) for name, ends in box.items()}, **domains}
    value, tests = enclose(node, domains), [truth(c, domains) for c in conditions]
    with precision(PRECISION):
        ends = [] if strict else [(s.name, s.end, enclose(s.away, domains)) for s in slopes]
        found = _search(value, tests, box, strict, ends)
    spend(found.boxes * sum(1 for part in (node, *conditions) for _ in part.walk()) * NODE_WORK)
    return found


def away_from_zero(node: tree.Node, box: Box) -> bool:
    """Whether the enclosure of a tree on the whole box is of one sign.

    Raises
    ------
    NoEnclosure : a function outside the table.
    """
    from bilevel_verify.theorems.exact import precision

    value = enclose(node, {name: _closed(*ends) for name, ends in box.items()})
    with precision(PRECISION):
        found = value({n: _interval(a, b) for n, (a, b) in box.items()})
    return found is not None and bool(found > 0 or found < 0)


def _search(
    value: Evaluate,
    tests: list[Callable[[Mapping[str, Ball]], bool | None]],
    start: Box,
    strict: bool,
    slopes: list[tuple[str, Fraction, Evaluate]],
) -> Search:
    order, done = count(), 0
    queue: list[tuple[float, int, Box]] = [(0.0, next(order), start)]
    while queue:
        done += 1
        depth, _, box = heapq.heappop(queue)
        if done > BOX_LIMIT:
            return Search(False, done, _shown(box))
        balls = {n: _interval(a, b) for n, (a, b) in box.items()}
        if any(test(balls) is False for test in tests):
            continue
        found = value(balls)
        if found is not None and (found > 0 if strict else found >= 0):
            continue
        if any(end in box[name] and _holds(away(balls)) for name, end, away in slopes):
            continue
        widest = max(box, key=lambda n: box[n][1] - box[n][0], default=None)
        hopeless = not tests and not slopes and found is not None and found < 0
        if widest is None or box[widest][1] - box[widest][0] < SMALLEST or hopeless:
            return Search(False, done, _shown(box))
        a, b = box[widest]
        middle = (a + b) / 2
        for half in ((a, middle), (middle, b)):
            heapq.heappush(queue, (depth - 1.0, next(order), {**box, widest: half}))
    return Search(True, done)


def _holds(value: Ball | None) -> bool:
    return value is not None and bool(value >= 0)


def _shown(box: Box) -> str:
    return ", ".join(f"{n} in [{float(a):.4g}, {float(b):.4g}]" for n, (a, b) in box.items())


def _closed(low: Fraction, high: Fraction) -> Domain:
    return Domain("box", "interval", Expression(tree.signed(low), ""), Expression(tree.signed(high), ""))


def _ball(value: Fraction) -> Ball:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _interval(low: Fraction, high: Fraction) -> Ball:
    return _ball(low) if low == high else _ball(low).union(_ball(high))


def _letter(name: str) -> Evaluate:
    if name in ("pi", "E"):
        from flint import arb

        return lambda box: arb.pi() if name == "pi" else arb.const_e()
    if name == "oo":
        raise NoEnclosure("infinity")
    return lambda box: box[name]


def _binary(
    left: tree.Node, right: tree.Node, domains: Mapping[str, Domain], combine: Callable[[Ball, Ball], Ball | None]
) -> Evaluate:
    one, two = enclose(left, domains), enclose(right, domains)

    def value(box: Mapping[str, Ball]) -> Ball | None:
        a, b = one(box), two(box)
        return None if a is None or b is None else _finite(combine(a, b))

    return value


def _fold(
    parts: tuple[tree.Node, ...], domains: Mapping[str, Domain], combine: Callable[[Ball, Ball], Ball | None]
) -> Evaluate:
    values = [enclose(part, domains) for part in parts]

    def value(box: Mapping[str, Ball]) -> Ball | None:
        total = values[0](box)
        for part in values[1:]:
            other = part(box)
            total = None if total is None or other is None else combine(total, other)
        return _finite(total)

    return value


def _finite(value: Ball | None) -> Ball | None:
    return value if value is not None and value.is_finite() else None


def _product(factors: tuple[tree.Node, ...], domains: Mapping[str, Domain]) -> Evaluate:
    """Products; a factor that occurs twice is squared, not multiplied with itself."""
    kinds: dict[tree.Node, int] = {}
    for factor in factors:
        kinds[factor] = kinds.get(factor, 0) + 1
    parts = tuple(f if n == 1 else tree.Power(f, tree.Number(Fraction(n))) for f, n in kinds.items())
    return _fold(parts, domains, lambda a, b: a * b)


def _power_of(base: tree.Node, exponent: tree.Node, domains: Mapping[str, Domain]) -> Evaluate:
    form = linear_form(exponent)
    if form is not None and not form[1] and form[0].denominator == 1:
        n, inner = int(form[0]), enclose(base, domains)
        return lambda box: None if (v := inner(box)) is None else _finite(_whole_power(v, n))
    growing = plainly_nonnegative(exponent, domains)
    if whole(exponent, domains) and not plainly_nonnegative(base, domains):
        return _binary(base, exponent, domains, lambda b, e: _signed_power(b, e, growing))
    return _binary(base, exponent, domains, lambda b, e: _real_power(b, e, growing))


def _signed_power(base: Ball, exponent: Ball, growing: bool) -> Ball | None:
    """Hull of integer powers of a base of either sign: those of its absolute value, with both signs."""
    from flint import arb

    if base > 0:
        return _real_power(base, exponent, growing)
    size = abs(base) if base < 0 else arb(0).union(abs(base).upper())
    found = _real_power(size, exponent, growing)
    return None if found is None else found.union(-found)


def _whole_power(value: Ball, n: int) -> Ball:
    """Hull of a whole power; not finite where there is a pole."""
    from flint import arb

    if n == 0:
        return arb(1)
    if n < 0:
        return 1 / _whole_power(value, -n)
    low, high = value.lower(), value.upper()
    if n % 2 == 0 and value.contains(0):
        return arb(0).union((abs(value).upper()) ** n)
    return (low**n).union(high**n)


def _real_power(base: Ball, exponent: Ball, growing: bool) -> Ball | None:
    """Hull of a real power: it is monotone in each argument, so the corners decide; negative bases are undefined.

    ``growing`` says that the exponent is known to be nonnegative, whatever the round radius of its ball says: only then
    are powers of bases near zero bounded.
    """
    from flint import arb

    low, high = base.lower(), base.upper()
    if low < -ROUNDING * high:
        return None
    small, large = exponent.lower(), exponent.upper()
    if not low > 0:
        if not growing:
            return None
        top = [arb(1), arb(0)]  # 0**0 is 1
        if high > 0:
            top += [high**small, high**large]
        return _hull(top)
    return _hull([low**small, low**large, high**small, high**large])


def _hull(values: list[Ball]) -> Ball | None:
    total = values[0]
    for value in values[1:]:
        total = total.union(value)
    return _finite(total)


def _conditional(test: tree.Node, yes: tree.Node, no: tree.Node, domains: Mapping[str, Domain]) -> Evaluate:
    holds, one, two = truth(test, domains), enclose(yes, domains), enclose(no, domains)

    def value(box: Mapping[str, Ball]) -> Ball | None:
        answer = holds(box)
        if answer is not None:
            return one(box) if answer else two(box)
        a, b = one(box), two(box)
        return None if a is None or b is None else a.union(b)

    return value


def _call(node: tree.Call, domains: Mapping[str, Domain]) -> Evaluate:
    if node.function in ("max", "min"):
        best = (lambda a, b: a.max(b)) if node.function == "max" else (lambda a, b: a.min(b))
        return _fold(node.arguments, domains, best)
    rule = RULES.get(node.function)
    if rule is None or len(node.arguments) != 1:
        raise NoEnclosure(node.function)
    inner = enclose(node.arguments[0], domains)
    return lambda box: None if (v := inner(box)) is None else _finite(rule(v))


def _logarithm(value: Ball) -> Ball | None:
    return _hull([value.lower().log(), value.upper().log()]) if value > 0 else None


def _root(value: Ball) -> Ball | None:
    from flint import arb

    if value.lower() < -ROUNDING * value.upper():
        return None
    low = value.lower() if value >= 0 else arb(0)
    return _hull([low.sqrt(), value.upper().sqrt()])


def _plus(value: Ball) -> Ball:
    from flint import arb

    return value.max(arb(0))


def _rule(function: Elementary) -> Callable[[Ball], Ball | None]:
    """An increasing function by its values at the two ends, any other by the library's enclosure."""
    if function.increasing:
        return lambda v: _hull([function.ball(v.lower()), function.ball(v.upper())])
    return function.ball


RULES: dict[str, Callable[[Ball], Ball | None]] = {
    "log": _logarithm,
    "sqrt": _root,
    **{name: _rule(one) for name, one in ELEMENTARY.items() if name not in ("log", "sqrt", "sign", "tan")},
    "abs": lambda v: abs(v),
    "plus": _plus,
}


def _chain(values: list[Ball | None], operators: tuple[str, ...]) -> bool | None:
    answers = [
        None if a is None or b is None else _relation(a, op, b) for a, op, b in zip(values, operators, values[1:])
    ]
    return _joined(answers, "and")


def _relation(a: Ball, op: str, b: Ball) -> bool | None:
    """Strict and non-strict are treated alike when cutting: a box that touches the boundary is kept."""
    if op in (">", ">="):
        a, b = b, a
    if op == "==":
        return False if a < b or a > b else None
    return True if a < b or (op in ("<=", ">=") and a <= b) else False if a > b else None


def _joined(answers: list[bool | None], word: str) -> bool | None:
    decisive = word == "or"
    if any(answer is decisive for answer in answers):
        return decisive
    return None if any(answer is None for answer in answers) else not decisive
