"""Squares that are not negative: of sums of two vectors (or numbers) of a relation, with the factors that stand there.

The inequality of Young, ``<u, v> <= a/2 |u|^2 + 1/(2a) |v|^2``, is ``|a u - v|^2 >= 0`` over ``2a``; which ``a`` is
meant is read off the factors before the squares and the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from bilevel_verify.language import tree
from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.facts import Fact
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.manuscript.proofs.polynomials import Polynomial
from bilevel_verify.manuscript.proofs.words import added

SIZES = ("norm", "abs")
MOST_SQUARES = 60
MOST_ARGUMENTS = 7
YOUNG = "a square is not negative"


@dataclass
class _Quadratic:
    """Arguments of squares and products of a relation, with the factors before them."""

    squares: dict[tree.Node, list[Polynomial]] = field(default_factory=dict)
    products: dict[tuple[tree.Node, tree.Node], list[Polynomial]] = field(default_factory=dict)

    def read(self, node: tree.Node, factor: Polynomial, forms: Forms) -> None:
        """Every term of a side, brackets multiplied out."""
        match node:
            case tree.Add(terms=terms):
                for term in terms:
                    self.read(term, factor, forms)
            case tree.Negate(operand=inner):
                self.read(inner, factor, forms)
            case tree.Divide(numerator=top, denominator=bottom):
                self.read(top, p.times(factor, forms.power(forms.scalar(bottom), -1)), forms)
            case tree.Multiply(factors=factors):
                self._product(factors, factor, forms)
            case tree.Power(base=base, exponent=tree.Number(value=value)) if value == 2:
                self.squares.setdefault(_inside(base), []).append(factor)
            case tree.Call(function="dot", arguments=(one, other)):
                self.products.setdefault((one, other), []).append(factor)

    def _product(self, factors: tuple[tree.Node, ...], factor: Polynomial, forms: Forms) -> None:
        last = [f for f in factors if _is_quadratic(f)]
        sizes = [f for f in factors if isinstance(f, tree.Call) and f.function in SIZES]
        if len(last) == 1:
            for other in factors:
                if other is not last[0]:
                    factor = p.times(factor, forms.scalar(other))
            self.read(last[0], factor, forms)
        elif len(sizes) == 2:
            for other in factors:
                if other not in sizes:
                    factor = p.times(factor, forms.scalar(other))
            self.products.setdefault((sizes[0], sizes[1]), []).append(factor)
            for one in sizes:
                self.squares.setdefault(one, [])


def _inside(base: tree.Node) -> tree.Node:
    """The vector or number that is squared; a norm of a vector counts as the vector."""
    return base.arguments[0] if isinstance(base, tree.Call) and base.function in SIZES else base


def _is_quadratic(node: tree.Node) -> bool:
    return any(
        (isinstance(q, tree.Power) and isinstance(q.exponent, tree.Number) and q.exponent.value == 2)
        or (isinstance(q, tree.Call) and q.function == "dot")
        for q in node.walk()
    )


def squares_in(sides: tuple[tree.Node, ...], forms: Forms) -> Iterator[Fact]:
    """Squares of ``u + t v`` and ``u - t v`` for what is squared or multiplied in the sides of a relation."""
    found = _Quadratic()
    for side in sides:
        try:
            found.read(side, p.number(1), forms)
        except ValueError:
            continue
    for one, other in found.products:
        for part in (one, other):
            found.squares.setdefault(part, [])
    arguments = list(found.squares)[:MOST_ARGUMENTS]
    count = 0
    for one, other in combinations(arguments, 2):
        for weight in _weights(found, one, other, forms):
            for sign in (1, -1):
                value = _square(one, other, p.plus({}, weight, sign), forms)
                if value:
                    yield Fact(value, YOUNG)
                    count += 1
        if count >= MOST_SQUARES:
            return


def _weights(found: _Quadratic, one: tree.Node, other: tree.Node, forms: Forms) -> list[Polynomial]:
    """Factors ``t``: 1, and those for which the square has the printed square and product."""
    weights = [p.number(1)]
    crossed = [*found.products.get((one, other), ()), *found.products.get((other, one), ())]
    for square in found.squares[one]:
        for cross in crossed or [p.number(1)]:
            weights += _ratios(cross, square, forms)
    for square in found.squares[other]:
        for cross in crossed or [p.number(1)]:
            weights += [w for ratio in _ratios(square, cross, forms) for w in (p.scaled(ratio, 4),)]
    unique = {p.key(w): w for w in weights if w}
    return list(unique.values())[:6]


def _ratios(top: Polynomial, bottom: Polynomial, forms: Forms) -> list[Polynomial]:
    try:
        return [p.scaled(p.times(top, forms.power(bottom, -1)), Fraction(1, 2))]
    except ValueError:
        return []


def _square(one: tree.Node, other: tree.Node, weight: Polynomial, forms: Forms) -> Polynomial:
    """``|one + weight * other|**2``, written out; empty where the two do not add up."""
    try:
        if forms.kind(one) == forms.kind(other) == "vector" and forms.euclidean:
            form = added(forms.linear(one), forms.linear(other), weight)
            return forms.inner(form, form)
        total = p.plus(forms.scalar(one), p.times(forms.scalar(other), weight))
        return p.times(total, total)
    except ValueError:
        return {}
