"""Where a formula as typed has no value, and its simplified form has one: ``exp(log(x1))`` is read as ``x1``.

SymPy simplifies while a formula is built. What a text needs in order to have a value (the argument of a logarithm is
positive, a denominator is not zero, the base of a root is not negative) is noted on the way; a need that the result no
longer shows is tried at points of the declared ranges. Only a point at which the text has no value and the result has
one is held against a formula, so nothing is refused without a witness.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import sympy

VALUES = [sympy.Rational(*v) for v in ((0,), (-1,), (1,), (1, 2), (-1, 2), (2,), (-2,), (3,), (-3,), (7, 3), (-5, 3))]
"""Coordinates that are tried, as far as they lie in the range; its ends and its middle besides."""
DRAWS = 40
"""Points that mix the coordinates, besides those on the diagonal."""
MOST_NEEDS = 64
"""Needs of one formula that are tried: those that the result does not show are few."""
Range = tuple[sympy.Expr, sympy.Expr]
Membership = Callable[[Mapping[sympy.Symbol, sympy.Expr]], bool]
"""Whether a point (letters that it lacks at will) counts."""
MISSED = {"positive": "not positive", "nonnegative": "negative", "nonzero": "0"}


@dataclass(frozen=True, slots=True)
class Need:
    """``argument`` must be ``sign``: "positive", "nonnegative" or "nonzero"; ``text`` says so at ``column``."""

    argument: sympy.Expr
    sign: str
    text: str
    column: int

    def __str__(self) -> str:
        return f"{str(self.argument)[:60]} is {MISSED[self.sign]}"

    def broken(self, value: sympy.Expr) -> bool:
        """Whether the argument certainly misses its sign."""
        match self.sign:
            case "positive":
                return value.is_positive is False
            case "nonzero":
                return value.is_zero is True
        return value.is_negative is True


@dataclass(frozen=True, slots=True)
class Reading:
    """A formula as it was read, and what it needed before it was simplified.

    Attributes
    ----------
    expression : of the symbols of the problem.
    needs : in order to have a value, as far as the expression does not show them.
    has_value : of a formula of another program, whether that gives a finite number at a point; None of a text.
    """

    expression: sympy.Expr
    needs: Sequence[Need]
    has_value: Membership | None = None


def sign_of_base(base: sympy.Expr, exponent: sympy.Expr) -> str | None:
    """What ``base**exponent`` needs of its base; None if it has a value everywhere."""
    if (exponent.is_integer and exponent.is_nonnegative) or base.is_number:  # the cheap question first
        return None
    if exponent.is_integer:
        return "nonzero"
    return "nonnegative" if exponent.is_nonnegative else "positive"


def unshown(needs: Sequence[Need], result: sympy.Expr) -> list[Need]:
    """The needs that the result does not show, by a logarithm or a power of the same argument or of its factors."""
    if not needs:
        return []
    seen, shown, stack = {result}, set[sympy.Expr](), [result]
    while stack:  # a graph: what is shared is seen once
        node = stack.pop()
        if isinstance(node, sympy.log) or (isinstance(node, sympy.Pow) and sign_of_base(node.base, node.exp)):
            shown.add(node.args[0])
        fresh = [part for part in node.args if part not in seen]
        seen.update(fresh)
        stack.extend(fresh)
    found = dict[tuple[sympy.Expr, str], Need]()
    for need in needs:
        if need.argument not in shown and not {f.as_base_exp()[0] for f in sympy.Mul.make_args(need.argument)} <= shown:
            found.setdefault((need.argument, need.sign), need)
    return list(found.values())[:MOST_NEEDS]


def witness(
    reading: Reading, ranges: Mapping[sympy.Symbol, Range], inside: Membership
) -> tuple[Need, dict[sympy.Symbol, sympy.Expr]] | None:
    """A need that fails at a point of the ranges (and ``inside``) at which what was read is a real number all the same.

    Of another program's formula it is the program itself that has no value there (other letters in their ranges).
    """
    result, asked = reading.expression, reading.has_value
    for need in reading.needs:
        letters = sorted(need.argument.free_symbols, key=str)
        if not letters or any(letter not in ranges for letter in letters):
            continue
        others = result.free_symbols - set(letters)
        for point in points(sorted({*letters, *others}, key=str), ranges):
            lost = inside(point) and need.broken(need.argument.xreplace(point)) and _real(result.xreplace(point))
            if lost and not (asked is not None and asked({**next(points(list(ranges), ranges)), **point})):
                return need, {letter: point[letter] for letter in letters}
    return None


def points(
    letters: Sequence[sympy.Symbol], ranges: Mapping[sympy.Symbol, Range]
) -> Iterator[dict[sympy.Symbol, sympy.Expr]]:
    """Points of a box: the same place of each list of coordinates first, then mixtures with a fixed seed."""
    lists = [_coordinates(*ranges.get(letter, (-sympy.oo, sympy.oo))) for letter in letters]
    for place in range(max(map(len, lists))):
        yield {letter: values[place % len(values)] for letter, values in zip(letters, lists)}
    draw = random.Random(0)
    for _ in range(DRAWS if len(letters) > 1 else 0):
        yield {letter: draw.choice(values) for letter, values in zip(letters, lists)}


def _coordinates(low: sympy.Expr, high: sympy.Expr) -> list[sympy.Expr]:
    ends = [end for end in (low, high) if end.is_finite]
    middle = [(low + high) / 2] if len(ends) == 2 else []
    return [v for v in VALUES if (low <= v) == True and (v <= high) == True] + ends + middle  # noqa: E712 (SymPy's own)


def _real(value: sympy.Expr) -> bool:
    if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
        return False
    number = value.evalf(20)
    return bool(number.is_Float or number.is_Rational)
