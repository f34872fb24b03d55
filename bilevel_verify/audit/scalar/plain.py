"""What integers say of themselves: powers of -1, roundings of what stays between two integers, small binomials."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import factorial, floor

from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.integers import even, least_value, odd, whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import Domains, nonnegative, positive
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.rewrite import rebuild

ONE = tree.Number(Fraction(1))
CHOSEN = 8
"""Largest number chosen in a binomial that is written out."""


def plain(claim: ScalarClaim) -> ScalarClaim:
    """The claim with such parts of its sides written as numbers and polynomials, where both mean the same."""
    left, right = (_plain(side, claim.domains) for side in (claim.left, claim.right))
    return claim if (left, right) == (claim.left, claim.right) else replace(claim, left=left, right=right)


def _plain(node: tree.Node, domains: Domains) -> tree.Node:
    if isinstance(node, tree.Call) and binder(node) is not None:
        return node  # its index has a range of its own
    node = rebuild(node, lambda part: _plain(part, domains))
    match node:
        case tree.Power(base=base, exponent=exponent) if linear_form(base) == (Fraction(-1), {}):
            return ONE if even(exponent, domains) else tree.Negate(ONE) if odd(exponent, domains) else node
        case tree.Call(function="floor" | "ceil" as name, arguments=(inner,)):
            return _rounded(name, inner, domains) or node
        case tree.Call(function="binomial", arguments=(inner, tree.Number(value=chosen))):
            if chosen.denominator == 1 and 0 <= chosen <= CHOSEN and whole(inner, domains):
                return _falling(inner, int(chosen)) if nonnegative(inner, domains) else node
    return node


def _rounded(name: str, inner: tree.Node, domains: Domains) -> tree.Node | None:
    """The one value of a rounding on the whole range; ``ceil(a)`` is ``-floor(-a)``."""
    if name == "ceil":
        found = _rounded("floor", tree.Negate(inner), domains)
        return tree.Negate(found) if found is not None else None
    form = linear_form(inner)
    least = None if form is None else least_value(form, domains)
    if least is None:
        return None
    low, next_one = floor(least), tree.Number(Fraction(floor(least) + 1))
    return tree.signed(low) if positive(tree.Add((next_one, tree.Negate(inner))), domains) else None


def _falling(inner: tree.Node, chosen: int) -> tree.Node:
    """``n*(n - 1)*...*(n - m + 1)/m!``."""
    factors = tuple(tree.Add((inner, tree.signed(-i))) for i in range(chosen))
    top = ONE if not factors else factors[0] if len(factors) == 1 else tree.Multiply(factors)
    return tree.Divide(top, tree.Number(Fraction(factorial(chosen))))
