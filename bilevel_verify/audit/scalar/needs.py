"""What must hold so that a formula is defined: denominators, logarithms, roots, real powers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import positive
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Domain, Expression
from bilevel_verify.theorems.rewrite import binder

ZERO = tree.Number(Fraction(0))


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must hold so that a part of a formula is defined: ``left op right`` under the open branches."""

    left: tree.Node
    op: str
    right: tree.Node
    what: str
    where: tuple[tree.Node, ...] = ()
    ranges: tuple[tuple[str, tree.Node, tree.Node], ...] = ()


def needs(node: tree.Node, inside: Need | None = None) -> Iterator[Need]:
    """Everything that must hold so that a tree is defined."""
    here = inside or Need(ZERO, "<=", ZERO, "")
    match node:
        case tree.Divide(denominator=bottom):
            yield replace(here, left=tree.Call("abs", (bottom,)), op=">", right=ZERO, what="a division by")
        case tree.Power(base=base, exponent=exponent):
            yield from _of_power(base, exponent, here)
        case tree.Call(function="sqrt", arguments=(inner,)):
            yield replace(here, left=inner, op=">=", right=ZERO, what="the square root of")
        case tree.Call(function="log", arguments=(inner,)):
            yield replace(here, left=inner, op=">", right=ZERO, what="the logarithm of")
    if isinstance(node, tree.Conditional):
        yield from needs(node.test, here)
        yield from needs(node.yes, replace(here, where=(*here.where, node.test)))
        yield from needs(node.no, replace(here, where=(*here.where, tree.Not(node.test))))
        return
    span = binder(node) if isinstance(node, tree.Call) else None
    if span is not None:
        yield from needs(span[1], here)
        yield from needs(span[2], here)
        for part in node.arguments[:-1]:  # type: ignore[attr-defined]
            yield from needs(part, replace(here, ranges=(*here.ranges, span)))
        return
    for child in node.children():
        yield from needs(child, here)


def _of_power(base: tree.Node, exponent: tree.Node, here: Need) -> Iterator[Need]:
    form = linear_form(exponent)
    number = form[0] if form is not None and not form[1] else None
    if number is not None and number.denominator == 1:
        if number < 0:
            yield replace(here, left=tree.Call("abs", (base,)), op=">", right=ZERO, what="a negative power of")
    elif number is not None:
        op, what = (">=", "a root of") if number > 0 else (">", "a negative power of")
        yield replace(here, left=base, op=op, right=ZERO, what=what)
    else:
        yield replace(here, left=base, op=">=", right=ZERO, what="a real power of")
        negative = tree.Compare((exponent, ZERO), ("<",))  # 0**0 is 1
        yield replace(here, left=base, op=">", right=ZERO, what="a negative power of", where=(*here.where, negative))


def claim_of(need: Need, claim: ScalarClaim) -> ScalarClaim | None:
    domains = dict(claim.domains)
    for index, low, high in need.ranges:
        if index in domains:
            return None
        domains[index] = Domain(index, "integers", Expression(low, ""), Expression(high, ""))
    return ScalarClaim(need.left, need.op, need.right, domains, (*claim.where, *need.where))


def defined_everywhere(claim: ScalarClaim, decide: Callable[[ScalarClaim], Decision]) -> bool:
    """Whether both sides are proved to be defined on the whole range."""
    for need in dict.fromkeys((*needs(claim.left), *needs(claim.right))):
        part = claim_of(need, claim)
        if part is None:
            return False
        if not positive(need.left, part.domains) and decide(part).outcome not in ("proved", "vacuous"):
            return False
    return True
