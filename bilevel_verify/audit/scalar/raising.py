"""Fractional powers removed: both sides raised to a power, letters replaced by powers of their roots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import lcm

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.powers import Term, collected, surely, total
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain

Decide = Callable[[ScalarClaim], Decision]
ENGINE = "raising"
HIGHEST = 6


def by_raising(claim: ScalarClaim, decide: Decide) -> Decision:
    """``(a + b)**(3/2) <= a**(3/2) + ...``: both sides squared, and ``a = r**2``; all sides nonnegative."""
    undecided = Decision("undecided", ENGINE, "")
    if claim.op == "==":
        return undecided
    try:
        small, large = collected(claim)
    except (NotAlgebraic, ValueError):
        return undecided
    terms = small + large
    if not small or not large or not all(power.is_Rational for term in terms for power in term.powers.values()):
        return undecided
    orders = _orders(terms, claim)
    q = _order_of_sums(small, large)
    if q is None or q > HIGHEST or max(orders.values(), default=1) > HIGHEST or (q == 1 and not orders):
        return undecided
    if not all(surely(base, claim, strict=False) for term in terms for base in term.powers):
        return undecided
    sides = (_raised(small, q), _raised(large, q))
    moved = ScalarClaim(sides[0], "<" if claim.op in ("<", ">") else "<=", sides[1], claim.domains, claim.where)
    roots = {name: _root(name, claim) for name in orders}
    values = {name: tree.Power(tree.Letter(roots[name]), tree.Number(Fraction(p))) for name, p in orders.items()}
    fresh = {roots[name]: _half_line(claim.domains[name]) for name in orders}
    moved = moved.with_values(values)
    decision = decide(replace(moved, domains={**moved.domains, **fresh}))
    if decision.outcome not in ("proved", "vacuous"):
        return undecided
    letters = "".join(f", {name} = {roots[name]}**{p}" for name, p in orders.items())
    return replace(decision, engine=ENGINE, certificate=f"both sides to the power {q}{letters}; {decision.certificate}")


def _orders(terms: list[Term], claim: ScalarClaim) -> dict[str, int]:
    """Real letters under roots -> the common denominator of their exponents."""
    found: dict[str, int] = {}
    for term in terms:
        for base, power in term.powers.items():
            known = claim.domains.get(base.name) if isinstance(base, tree.Letter) else None
            if isinstance(base, tree.Letter) and known is not None and known.kind == "interval":
                found[base.name] = lcm(found.get(base.name, 1), int(sympy.Rational(power).q))
    return {name: order for name, order in found.items() if order > 1 and _from_zero(claim.domains[name])}


def _from_zero(domain: Domain) -> bool:
    low = None if domain.lower is None else linear_form(domain.lower.tree)
    return low is not None and not low[1] and low[0] >= 0


def _order_of_sums(small: list[Term], large: list[Term]) -> int | None:
    """The power that clears the roots of sums, where one side is a single term; None where roots would remain."""
    orders = []
    for side in (small, large):
        powers = [
            p for term in side for base, p in term.powers.items() if not isinstance(base, tree.Letter | tree.Number)
        ]
        orders.append(lcm(1, *(int(sympy.Rational(p).q) for p in powers)))
    for own, other, side in ((orders[0], orders[1], small), (orders[1], orders[0], large)):
        if own > 1 and other == 1 and len(side) == 1:
            return own
    if len(small) == len(large) == 1:
        return lcm(*orders)
    return 1 if orders == [1, 1] else None


def _raised(side: list[Term], q: int) -> tree.Node:
    if len(side) == 1:
        return side[0].raised(sympy.Integer(q)).tree()
    return total(side) if q == 1 else tree.Power(total(side), tree.Number(Fraction(q)))


def _root(name: str, claim: ScalarClaim) -> str:
    """A name that no letter of the claim has."""
    root = f"{name}_root_"
    while root in claim.domains:
        root += "_"
    return root


def _half_line(domain: Domain) -> Domain:
    """The range of a root; the ends of the letter itself become conditions."""
    low = domain.lower
    assert low is not None
    positive = not domain.lower_closed
    zero = replace(low, tree=tree.Number(Fraction(0)), text="0")
    return Domain("root", "interval", zero, None, not positive, False)
