"""Interval branch and bound: a relation on a box of letters, outward rounded; hypotheses cut boxes away.

A letter that runs to infinity is turned into ``t`` in [0, 1] first and the difference is divided by its dominating
power, so that unbounded boxes are informative. Where the sides meet at an end of a range no box decides; there the
derivative does: monotone in one letter, so look at the end point.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from bilevel_verify.audit.scalar.integers import whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import nonnegative as plainly_nonnegative
from bilevel_verify.audit.scalar.work import spend
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY, Elementary
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.logic import Answer, conjunction
from bilevel_verify.numbers.rounding import ball, precision
from bilevel_verify.numbers.trees import Bound, Evaluate, Test, TreeEvaluator
from bilevel_verify.theorems.card_parts import Domain, Expression

if TYPE_CHECKING:
    from flint import arb

Ball: TypeAlias = "arb"
Found = TypeVar("Found")
Box = dict[str, tuple[Fraction, Fraction]]
Enclosed: TypeAlias = "Callable[[Bound[Ball]], Ball | None]"
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


class _Undefined(Exception):
    """No enclosure on this box: a pole, a root of what may be negative, an overflow."""


def enclose(node: tree.Node, domains: Mapping[str, Domain] = NOWHERE) -> Enclosed:
    """A function from boxes to an enclosure of the values wherever the tree is defined; None where there is none.

    ``domains`` say which exponents are integers.

    Raises
    ------
    NoEnclosure : a function outside the table.
    """
    return _or_none(_Hulls(domains).compile(node))


def truth(node: tree.Node, domains: Mapping[str, Domain] = NOWHERE) -> Callable[[Bound[Ball]], Answer]:
    """Whether a condition holds on a whole box, fails on a whole box, or neither (None).

    Raises
    ------
    NoEnclosure : not a comparison or a combination of comparisons.
    """
    return _or_none(_Hulls(domains).condition(node))


def _or_none(value: Callable[[Bound[Ball]], Found]) -> Callable[[Bound[Ball]], Found | None]:
    def on(box: Bound[Ball]) -> Found | None:
        try:
            return value(box)
        except _Undefined:
            return None

    return on


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
    value = enclose(node, {name: _closed(*ends) for name, ends in box.items()})
    with precision(PRECISION):
        found = value({n: _interval(a, b) for n, (a, b) in box.items()})
    return found is not None and bool(found > 0 or found < 0)


def _search(
    value: Enclosed,
    tests: list[Callable[[Bound[Ball]], Answer]],
    start: Box,
    strict: bool,
    slopes: list[tuple[str, Fraction, Enclosed]],
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
        false_here = not tests and not slopes and found is not None and found < 0
        if widest is None or box[widest][1] - box[widest][0] < SMALLEST or false_here:
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


def _interval(low: Fraction, high: Fraction) -> Ball:
    return ball(low) if low == high else ball(low).union(ball(high))


class _Boxed(ArbBalls):
    """Balls as hulls of the values over a box; where there is none, nothing goes on."""

    def div(self, a: Ball, b: Ball) -> Ball:
        if b.contains(0):
            raise _Undefined
        return _finite(a / b)

    def named(self, name: str) -> Ball:
        raise KeyError(name)

    def raised(self, a: Ball, exponent: Ball) -> Ball:
        raise NotImplementedError("a power depends on what is known of its exponent")

    def integer(self, value: Ball, what: str) -> int:
        raise NotImplementedError("no ranges")

    def compare(self, op: str, a: Ball, b: Ball) -> bool | None:
        """Strict and non-strict are treated alike when cutting: a box that touches the boundary is kept."""
        if op == "eq":
            return False if a < b or a > b else None
        return True if a < b or (op == "le" and a <= b) else False if a > b else None


class _Hulls(TreeEvaluator["Ball", Answer]):
    """Trees over boxes, with what is known of their exponents."""

    error = NoEnclosure

    def __init__(self, domains: Mapping[str, Domain]) -> None:
        super().__init__(_Boxed(), RULES)
        self.domains = domains

    def letter(self, name: str) -> Evaluate[Ball]:
        if name in ("pi", "E"):
            from flint import arb

            return lambda box: arb.pi() if name == "pi" else arb.const_e()
        if name == "oo":
            raise NoEnclosure("infinity")
        return itemgetter(name)

    def total(self, values: Sequence[Ball], negative: Sequence[bool]) -> Ball:
        """A signed sum; what overflowed stays so, hence one look at the end is enough."""
        found = -values[0] if negative[0] else values[0]
        for value, minus in zip(values[1:], negative[1:]):
            found = found - value if minus else found + value
        return _finite(found)

    def product_of(self, factors: Sequence[tree.Node]) -> Evaluate[Ball]:
        """Products; a factor that occurs twice is squared, not multiplied with itself."""
        kinds = Counter(factors)
        parts = [self.compile(f if n == 1 else tree.Power(f, tree.Number(Fraction(n)))) for f, n in kinds.items()]

        def multiplied(box: Bound[Ball]) -> Ball:
            found = parts[0](box)
            for part in parts[1:]:
                found = found * part(box)
            return _finite(found)

        return multiplied

    def power(self, node: tree.Power) -> Evaluate[Ball]:
        """A whole power, or the corners of a real one."""
        base, exponent, domains = node.base, node.exponent, self.domains
        form = linear_form(exponent)
        if form is not None and not form[1] and form[0].denominator == 1:
            n, inner = int(form[0]), self.compile(base)
            return lambda box: _finite(_whole_power(inner(box), n))
        growing = plainly_nonnegative(exponent, domains)
        signed = whole(exponent, domains) and not plainly_nonnegative(base, domains)
        raised = _signed_power if signed else _real_power
        return self.binary(lambda b, e: raised(b, e, growing), base, exponent)

    def chain(self, operands: Sequence[tree.Node], links: Sequence[tuple[str, bool]]) -> Test[Ball, Answer]:
        """Links of which a side has no enclosure are not decided."""
        sides, compare = [_or_none(self.compile(operand)) for operand in operands], self.arithmetic.compare

        def hold(box: Bound[Ball]) -> bool | None:
            values = [side(box) for side in sides]
            return conjunction(
                None if a is None or b is None else compare(op, b, a) if turned else compare(op, a, b)
                for a, (op, turned), b in zip(values, links, values[1:])
            )

        return hold

    def over_range(self, node: tree.Call, index: str, low: tree.Node, high: tree.Node) -> Evaluate[Ball]:
        raise NoEnclosure(node.function)

    def compile(self, node: tree.Node) -> Evaluate[Ball]:
        """The function of a tree; what jumps inside of a box has no rule here."""
        if isinstance(node, tree.Modulo):
            raise NoEnclosure("Modulo")
        return super().compile(node)


def _signed_power(base: Ball, exponent: Ball, growing: bool) -> Ball:
    """Hull of integer powers of a base of either sign: those of its absolute value, with both signs."""
    from flint import arb

    if base > 0:
        return _real_power(base, exponent, growing)
    size = abs(base) if base < 0 else arb(0).union(abs(base).upper())
    found = _real_power(size, exponent, growing)
    return found.union(-found)


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


def _real_power(base: Ball, exponent: Ball, growing: bool) -> Ball:
    """Hull of a real power: it is monotone in each argument, so the corners decide; negative bases are undefined.

    ``growing`` says that the exponent is known to be nonnegative, whatever the round radius of its ball says: only then
    are powers of bases near zero bounded.
    """
    from flint import arb

    low, high = base.lower(), base.upper()
    if low < -ROUNDING * high:
        raise _Undefined
    small, large = exponent.lower(), exponent.upper()
    if not low > 0:
        if not growing:
            raise _Undefined
        top = [arb(1), arb(0)]  # 0**0 is 1
        if high > 0:
            top += [high**small, high**large]
        return _hull(top)
    return _hull([low**small, low**large, high**small, high**large])


def _finite(value: Ball) -> Ball:
    if not value.is_finite():
        raise _Undefined
    return value


def _hull(values: list[Ball]) -> Ball:
    total = values[0]
    for value in values[1:]:
        total = total.union(value)
    return _finite(total)


def _logarithm(value: Ball) -> Ball:
    if not value > 0:
        raise _Undefined
    return _hull([value.lower().log(), value.upper().log()])


def _root(value: Ball) -> Ball:
    from flint import arb

    if value.lower() < -ROUNDING * value.upper():
        raise _Undefined
    low = value.lower() if value >= 0 else arb(0)
    return _hull([low.sqrt(), value.upper().sqrt()])


def _plus(value: Ball) -> Ball:
    from flint import arb

    return value.max(arb(0))


def _rule(function: Elementary) -> Callable[[Ball], Ball]:
    """An increasing function by its values at the two ends, any other by the library's enclosure."""
    if function.increasing:
        return lambda v: _hull([function.ball(v.lower()), function.ball(v.upper())])
    return lambda v: _finite(function.ball(v))


RULES: dict[str, Callable[[Ball], Ball]] = {
    "log": _logarithm,
    "sqrt": _root,
    **{name: _rule(one) for name, one in ELEMENTARY.items() if name not in ("log", "sqrt", "sign", "tan")},
    "abs": lambda v: abs(v),
    "plus": _plus,
}
