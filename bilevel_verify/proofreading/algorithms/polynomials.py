"""Numbers of calls: polynomials in the lengths of loops."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from bilevel_verify.language import to_text, tree

Polynomial: TypeAlias = dict[tuple[str, ...], Fraction]
"""Sorted letters of a monomial -> coefficient, none of them 0."""


class NoCount(Exception):
    """Calls whose number cannot be told."""


def polynomial(node: tree.Node) -> Polynomial:
    """A sum of products of letters and numbers.

    Raises
    ------
    NoCount : it is none.
    """
    match node:
        case tree.Number(value=value):
            return {(): value} if value else {}
        case tree.Letter(name=name) if name != "oo":
            return {(name,): Fraction(1)}
        case tree.Negate(operand=inner):
            return plus({}, polynomial(inner), -1)
        case tree.Add(terms=terms):
            total: Polynomial = {}
            for term in terms:
                total = plus(total, polynomial(term))
            return total
        case tree.Multiply(factors=factors):
            product: Polynomial = {(): Fraction(1)}
            for factor in factors:
                product = times(product, polynomial(factor))
            return product
        case tree.Power(base=base, exponent=tree.Number(value=value)) if value in (2, 3):
            return polynomial(tree.Multiply((base,) * int(value)))
    raise NoCount(to_text(node))


def plus(one: Polynomial, other: Polynomial, factor: int = 1) -> Polynomial:
    """``one + factor*other``."""
    total = dict(one)
    for key, value in other.items():
        total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    """The product."""
    total: Polynomial = {}
    for a, x in one.items():
        total = plus(total, {tuple(sorted((*a, *b))): x * y for b, y in other.items()})
    return total


def shown(count: Polynomial) -> str:
    """``K*T + 1``."""
    parts = []
    for letters, value in sorted(count.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        text = "*".join([*([] if value == 1 and letters else [str(value)]), *letters])
        parts.append(text)
    return " + ".join(parts) or "0"
