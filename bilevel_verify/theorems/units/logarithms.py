"""Logarithms of quantities with units: which of them stand in sums where the units cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from bilevel_verify.language import tree

Term = tuple[Fraction, tuple[tree.Node, ...], tree.Call]
"""``coefficient * rest * log(...)``."""


def cancelling(sides: tuple[tree.Node, ...], fits: Callable[[list[tuple[Fraction, tree.Node]]], bool]) -> set[int]:
    """Identities of the logarithms whose sum does not depend on units: ``log(L) - log(mu)``, ``log(a) <= log(b) + 3``.

    Parameters
    ----------
    fits : whether the product of the arguments, each to a power, has no unit.
    """
    free: set[int] = set()
    for terms in _sums(sides):
        groups: dict[tuple[tree.Node, ...], list[Term]] = {}
        for term in terms:
            found = _logarithm(term)
            if found is not None:
                groups.setdefault(found[1], []).append(found)
        for group in groups.values():
            if len(group) > 1 and fits([(power, log.arguments[0]) for power, _, log in group]):
                free |= {id(log) for _, _, log in group}
    return free


def under_powers(sides: tuple[tree.Node, ...]) -> set[int]:
    """Identities of the logarithms inside exponents, where they are powers of what they are of."""
    powers = [
        part.exponent if isinstance(part, tree.Power) else part
        for side in sides
        for part in side.walk()
        if isinstance(part, tree.Power) or (isinstance(part, tree.Call) and part.function == "exp")
    ]
    return {id(part) for power in powers for part in power.walk() if isinstance(part, tree.Call)}


def _sums(sides: tuple[tree.Node, ...]) -> Iterator[list[tree.Node]]:
    """The terms of the difference of two sides, and those of every sum inside."""
    if len(sides) == 2:
        yield [*_terms(sides[0]), *(tree.Negate(term) for term in _terms(sides[1]))]
    for side in sides:
        for part in side.walk():
            if isinstance(part, tree.Add):
                yield list(_terms(part))


def _terms(node: tree.Node) -> Iterator[tree.Node]:
    if isinstance(node, tree.Add):
        for term in node.terms:
            yield from _terms(term)
    else:
        yield node


def _logarithm(term: tree.Node) -> Term | None:
    """A term with one logarithm among its factors."""
    match term:
        case tree.Call(function="log"):
            return Fraction(1), (), term
        case tree.Negate(operand=operand):
            found = _logarithm(operand)
            return None if found is None else (-found[0], *found[1:])
        case tree.Divide(numerator=top, denominator=bottom):
            found = _logarithm(top)
            if found is None or (isinstance(bottom, tree.Number) and bottom.value == 0):
                return None
            if isinstance(bottom, tree.Number):
                return found[0] / bottom.value, *found[1:]
            return found[0], (*found[1], tree.Divide(tree.Number(Fraction(1)), bottom)), found[2]
        case tree.Multiply(factors=factors):
            return _product(factors)
    return None


def _product(factors: tuple[tree.Node, ...]) -> Term | None:
    found = [(place, inner) for place, factor in enumerate(factors) if (inner := _logarithm(factor)) is not None]
    if len(found) != 1:
        return None
    place, (power, rest, log) = found[0]
    for other in (*factors[:place], *factors[place + 1 :]):
        if isinstance(other, tree.Number):
            power *= other.value
        else:
            rest = (*rest, other)
    return power, rest, log
