"""What is plain for all to see: signs of products and sums of letters, zeros folded, common parts cancelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.integers import even
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS

ENGINE = "signs"
ZERO = tree.Number(Fraction(0))
Domains = Mapping[str, Domain]
Decide = Callable[[ScalarClaim], Decision]


def positive(node: tree.Node, domains: Domains) -> bool:
    """Plainly positive wherever it is defined."""
    return _sign(node, domains, strict=True)


def nonnegative(node: tree.Node, domains: Domains) -> bool:
    """Plainly nonnegative wherever it is defined."""
    return _sign(node, domains, strict=False)


def _sign(node: tree.Node, domains: Domains, strict: bool) -> bool:
    match node:
        case tree.Number(value=value):
            return value > 0 or (value == 0 and not strict)
        case tree.Letter(name=name):
            return name in NUMBERS or _range(name, domains, strict)
        case tree.Add(terms=terms):
            if all(_sign(t, domains, False) for t in terms):
                return not strict or any(_sign(t, domains, True) for t in terms)
            form = linear_form(node)
            return form is not None and _affine(*form, domains, strict)
        case tree.Multiply(factors=factors):
            return all(_sign(f, domains, strict) for f in factors)
        case tree.Divide(numerator=top, denominator=bottom):
            return _sign(top, domains, strict) and _sign(bottom, domains, False)
        case tree.Power(base=base, exponent=exponent):
            return _sign(base, domains, strict) or (not strict and even(exponent, domains))
        case tree.Call(function="sqrt" | "max" | "min", arguments=arguments):
            return all(_sign(a, domains, strict) for a in arguments)
        case tree.Call(function="abs", arguments=arguments):
            return not strict or _sign(arguments[0], domains, True)
        case tree.Call(function="exp"):
            return True
    return False


def _range(name: str, domains: Domains, strict: bool) -> bool:
    domain = domains.get(name)
    if domain is None or domain.lower is None:
        return False
    low = linear_form(domain.lower.tree)
    if low is None or low[1]:  # from another letter on, whose range does not need this one
        return _sign(domain.lower.tree, {n: d for n, d in domains.items() if n != name}, strict)
    open_ = not domain.lower_closed and domain.kind != "integers"
    return low[0] > 0 or (low[0] == 0 and (open_ or not strict))


def _affine(constant: Fraction, slopes: Mapping[str, Fraction], domains: Domains, strict: bool) -> bool:
    """An affine form is smallest at the ends of its letters."""
    least, open_ = constant, False
    for name, slope in slopes.items():
        domain = domains.get(name)
        end = None if domain is None else domain.lower if slope > 0 else domain.upper
        form = None if end is None else linear_form(end.tree)
        if domain is None or form is None or form[1]:
            return False
        least += slope * form[0]
        closed = domain.lower_closed if slope > 0 else domain.upper_closed
        open_ = open_ or not (closed or domain.kind == "integers")
    return least > 0 or (least == 0 and (open_ or not strict))


def folded(node: tree.Node, domains: Domains) -> tree.Node:
    """Zeros folded: ``0*a``, ``0/a``, ``0**p`` with p > 0, ``a + 0`` (wherever the whole is defined)."""
    node = rebuild(node, lambda part: folded(part, domains))
    match node:
        case tree.Multiply(factors=factors) if any(tree.is_zero(f) for f in factors):
            return ZERO
        case tree.Divide(numerator=top) if tree.is_zero(top):
            return ZERO
        case tree.Negate(operand=operand) if tree.is_zero(operand):
            return ZERO
        case tree.Power(base=base, exponent=exponent) if tree.is_zero(base) and positive(exponent, domains):
            return ZERO
        case tree.Call(function="sqrt", arguments=(inner,)) if tree.is_zero(inner):
            return ZERO
        case tree.Add(terms=terms):
            form = linear_form(node)
            if form is not None and not form[1]:
                return tree.signed(form[0])
            kept = tuple(t for t in terms if not tree.is_zero(t))
            return kept[0] if len(kept) == 1 else tree.Add(kept)
    return node


def impossible(condition: tree.Node, domains: Domains) -> bool:
    """A hypothesis ``0 >= something positive`` (or ``0 > something nonnegative``)."""
    if not isinstance(condition, tree.Compare):
        return False
    sides = [folded(o, domains) for o in condition.operands]
    for one, op, other in zip(sides, condition.operators, sides[1:]):
        small, big = (one, other) if op in ("<=", "<", "==") else (other, one)
        if tree.is_zero(big) and (positive(small, domains) or (op in ("<", ">") and nonnegative(small, domains))):
            return True
        if op == "==" and tree.is_zero(small) and positive(big, domains):
            return True
    return False


def by_signs(claim: ScalarClaim) -> Decision:
    """``0 <= a*b/c`` for all to see; ``vacuous`` where a hypothesis is plainly impossible."""
    if any(impossible(c, claim.domains) for c in claim.where):
        return Decision("vacuous", ENGINE, "a hypothesis contradicts the ranges")
    if claim.op == "==":
        return Decision("undecided", ENGINE, "")
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    low, high = folded(low, claim.domains), folded(high, claim.domains)
    strict = claim.op in ("<", ">")
    if low == high and not strict:
        return Decision("proved", ENGINE, "both sides are the same")
    if tree.is_zero(low) and _sign(high, claim.domains, strict):
        return Decision("proved", ENGINE, "the larger side is plainly positive, the other 0")
    return Decision("undecided", ENGINE, "")


def by_cancelling(claim: ScalarClaim, decide: Decide) -> Decision:
    """Common terms of two sums and common nonnegative factors of two products left out."""
    left, right = _without_common(claim.left, claim.right, claim.domains, claim.op in ("<", ">"))
    if (left, right) == (claim.left, claim.right):
        return Decision("undecided", "cancelling", "")
    decision = decide(replace(claim, left=left, right=right))
    if decision.outcome in ("proved", "vacuous"):
        return replace(decision, certificate=f"common parts left out; {decision.certificate}")
    return Decision("undecided", "cancelling", decision.certificate)


def _without_common(left: tree.Node, right: tree.Node, domains: Domains, strict: bool) -> tuple[tree.Node, tree.Node]:
    while True:
        before = (left, right)
        if isinstance(left, tree.Add) and isinstance(right, tree.Add):
            left, right = _apart(left.terms, right.terms, lambda _: True, tree.Add, 0)
        if isinstance(left, tree.Multiply) and isinstance(right, tree.Multiply):
            left, right = _apart(left.factors, right.factors, lambda f: _sign(f, domains, strict), tree.Multiply, 1)
        if (left, right) == before:
            return left, right


def _apart(
    one: tuple[tree.Node, ...],
    two: tuple[tree.Node, ...],
    may_go: Callable[[tree.Node], bool],
    join: Callable[[tuple[tree.Node, ...]], tree.Node],
    neutral: int,
) -> tuple[tree.Node, tree.Node]:
    first, second = list(one), list(two)
    for part in one:
        if part in second and may_go(part):
            first.remove(part)
            second.remove(part)

    def whole(parts: list[tree.Node]) -> tree.Node:
        return tree.Number(Fraction(neutral)) if not parts else parts[0] if len(parts) == 1 else join(tuple(parts))

    return whole(first), whole(second)
