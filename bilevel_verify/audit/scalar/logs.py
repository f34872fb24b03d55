"""Logarithms: written out over products and powers, or removed by comparing exponentials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import tree
from bilevel_verify.theorems.rewrite import rebuild

Decide = Callable[[ScalarClaim], Decision]
ENGINE = "logarithms"
ZERO = tree.Number(Fraction(0))
SECOND = 1_000


def by_logarithms(claim: ScalarClaim, decide: Decide) -> Decision:
    """Both sides logarithms: compare the arguments; one side: compare exponentials; else write the logarithms out."""
    undecided = Decision("undecided", ENGINE, "")
    if not any(_is_log(p) for side in (claim.left, claim.right, *claim.where) for p in side.walk()):
        return undecided
    for candidate, text in _removed(claim):
        if decide(candidate).outcome == "proved":
            return Decision("proved", ENGINE, text)
    expanded = replace(
        claim,
        left=_expand(claim.left, claim),
        right=_expand(claim.right, claim),
        where=tuple(_expand(w, claim) for w in claim.where),
    )
    changed = (expanded.left, expanded.right, expanded.where) != (claim.left, claim.right, claim.where)
    if changed and decide(expanded).outcome == "proved":
        return Decision("proved", ENGINE, "the logarithms of products written out")
    return undecided


def _removed(claim: ScalarClaim) -> list[tuple[ScalarClaim, str]]:
    """The claim without its outer logarithm, where the arguments are positive (else the sides are not defined)."""
    left, right = claim.left, claim.right
    if claim.op == "==":
        return []
    if _is_log(left) and _is_log(right):
        moved = replace(claim, left=left.arguments[0], right=right.arguments[0])
        return [(moved, "the logarithm is increasing: the arguments compared")]
    found = []
    for side, other in (("left", "right"), ("right", "left")):
        here = getattr(claim, side)
        if _is_log(here):
            power = tree.Call("exp", (getattr(claim, other),))
            moved = replace(claim, **{side: here.arguments[0], other: power})  # type: ignore[arg-type]
            found.append((moved, "the exponentials of both sides compared"))
    return found


def _is_log(node: tree.Node) -> TypeGuard[tree.Call]:
    return isinstance(node, tree.Call) and node.function == "log" and len(node.arguments) == 1


def _expand(node: tree.Node, claim: ScalarClaim) -> tree.Node:
    node = rebuild(node, lambda part: _expand(part, claim))
    return _log_of(node.arguments[0], claim) if _is_log(node) else node


def _log_of(inner: tree.Node, claim: ScalarClaim) -> tree.Node:
    match inner:
        case tree.Number(value=value) if value == 1:
            return ZERO
        case tree.Multiply(factors=factors) if all(_positive(f, claim) for f in factors):
            return tree.Add(tuple(_log_of(f, claim) for f in factors))
        case tree.Divide(numerator=top, denominator=bottom) if _positive(top, claim) and _positive(bottom, claim):
            return tree.Add((_log_of(top, claim), tree.Negate(_log_of(bottom, claim))))
        case tree.Power(base=base, exponent=exponent) if _positive(base, claim):
            return tree.Multiply((exponent, _log_of(base, claim)))
        case tree.Call(function="sqrt", arguments=(base,)) if _positive(base, claim):
            return tree.Divide(_log_of(base, claim), tree.Number(Fraction(2)))
    return tree.Call("log", (inner,))


def _positive(node: tree.Node, claim: ScalarClaim) -> bool:
    if isinstance(node, tree.Number):
        return node.value > 0
    return by_smt(replace(claim, left=ZERO, op="<", right=node), SECOND).outcome == "proved"
