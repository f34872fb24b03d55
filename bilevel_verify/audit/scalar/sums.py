"""Sums over a range: written out, closed where a closed form exists, and compared by induction where none does.

A closed form of a sum is right only for integer limits with ``hi >= lo - 1``; both are proved first, otherwise the sum
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic, to_sympy
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Domain, Expression
from bilevel_verify.theorems.rewrite import binder, free_letters, rebuild, substitute

UNROLLED = 64
DEGREE_LIMIT = 20
ONE = tree.Number(Fraction(1))
Decide = Callable[[ScalarClaim], Decision]


def has_sum(node: tree.Node) -> bool:
    """Whether a sum over a range occurs."""
    return any(isinstance(part, tree.Call) and part.function == "sum" and binder(part) for part in node.walk())


def without_sums(claim: ScalarClaim) -> ScalarClaim:
    """The claim with every sum of its sides closed or written out that can be, innermost first."""
    if not (has_sum(claim.left) or has_sum(claim.right)):
        return claim
    return replace(claim, left=closed(claim.left, claim), right=closed(claim.right, claim))


def closed(node: tree.Node, claim: ScalarClaim) -> tree.Node:
    """A tree with its sums closed; ``claim`` gives the ranges of the letters."""
    if not isinstance(node, tree.Call) or node.function != "sum" or (span := binder(node)) is None:
        return rebuild(node, lambda part: closed(part, claim))
    index, low, high = span
    low, high = closed(low, claim), closed(high, claim)
    if index in claim.domains:
        return node
    inner = replace(claim, domains={**claim.domains, index: _index_domain(low, high)})
    body = closed(node.arguments[0], inner)
    again = _with_parts(node, body, low, high)
    terms = body.terms if isinstance(body, tree.Add) else (body,)
    if not has_sum(body) and (numbers := _numeric(low, high)) is not None:
        return _written_out(body, index, *numbers)
    if not _counts(low, high, claim):
        return again
    done = [_closed_term(term, index, low, high, inner, claim) for term in terms]
    if any(term is None for term in done):
        return again
    kept = tuple(term for term in done if term is not None)
    return kept[0] if len(kept) == 1 else tree.Add(kept)


def by_induction(claim: ScalarClaim, decide: Decide) -> Decision:
    """``c * sum(body, (i, lo, k + m)) <= T(k)``: at the first k, and from each k to the next."""
    undecided = Decision("undecided", "induction", "not of the form: one sum with one growing limit")
    if claim.op not in ("<=", ">=", "<", ">"):
        return undecided
    for side, other in (("left", "right"), ("right", "left")):
        found = _growing(getattr(claim, side), claim)
        if found is None or has_sum(getattr(claim, other)):
            continue
        letter, first, step = found
        rest: tree.Node = getattr(claim, other)
        if any(letter in free_letters(condition) for condition in _at(claim, letter).conditions()):
            continue
        start = tree.Number(Fraction(first))
        base = _at(replace(claim, left=_put(claim.left, letter, start), right=_put(claim.right, letter, start)), letter)
        following = tree.Add((tree.Letter(letter), ONE))
        growth = tree.Add((_put(rest, letter, following), tree.Negate(rest)))
        onward = replace(claim, **{side: step, other: growth})  # type: ignore[arg-type]
        if claim.op in ("<", ">"):
            onward = replace(onward, op=claim.op + "=")
        for part in (without_sums(base), without_sums(onward)):
            decision = decide(part)
            if decision.outcome != "proved":
                return Decision("undecided", "induction", f"a part is undecided: {decision.certificate}")
        return Decision("proved", "induction", f"true at {letter} = {first}, and each step adds no more than it may")
    return undecided


def _at(claim: ScalarClaim, letter: str) -> ScalarClaim:
    """The claim without a letter that was replaced by a number of its range."""
    return replace(claim, domains={n: d for n, d in claim.domains.items() if n != letter})


def _put(node: tree.Node, letter: str, value: tree.Node) -> tree.Node:
    return substitute(node, {letter: value})


def _growing(node: tree.Node, claim: ScalarClaim) -> tuple[str, int, tree.Node] | None:
    """(letter of the growing limit, its first value, the term that one more adds) of ``c * sum(...)``."""
    factors = _factors(node)
    sums = [f for f in factors if has_sum(f)]
    if len(sums) != 1 or not isinstance(sums[0], tree.Call) or (span := binder(sums[0])) is None:
        return None
    index, low, high = span
    body = sums[0].arguments[0]
    form = linear_form(high)
    if form is None or has_sum(body) or len(form[1]) != 1 or form[0].denominator != 1:
        return None
    letter, slope = next(iter(form[1].items()))
    domain = claim.domains.get(letter)
    if slope != 1 or domain is None or domain.kind != "integers" or domain.lower is None or domain.upper is not None:
        return None
    start = linear_form(domain.lower.tree)
    if start is None or start[1] or letter in free_letters(low) | free_letters(body) or not whole(low, claim.domains):
        return None
    others = [f for f in factors if f is not sums[0]]
    if any(letter in free_letters(f) for f in others):
        return None
    first = -(-start[0].numerator // start[0].denominator)
    least = linear_form(low)
    if least is None or least[1] or first + form[0] < least[0] - 1:
        return None
    following = substitute(body, {index: tree.Add((high, ONE))})
    return letter, first, tree.Multiply((*others, following)) if others else following


def _factors(node: tree.Node) -> tuple[tree.Node, ...]:
    match node:
        case tree.Multiply(factors=factors):
            return tuple(g for f in factors for g in _factors(f))
        case tree.Divide(numerator=top, denominator=bottom) if not has_sum(bottom):
            return (*_factors(top), tree.Divide(ONE, bottom))
    return (node,)


def _index_domain(low: tree.Node, high: tree.Node) -> Domain:
    return Domain("index", "integers", Expression(low, ""), Expression(high, ""))


def _with_parts(node: tree.Call, body: tree.Node, low: tree.Node, high: tree.Node) -> tree.Call:
    span = node.arguments[-1]
    assert isinstance(span, tree.Tuple)
    return replace(node, arguments=(body, replace(span, items=(span.items[0], low, high))))


def _numeric(low: tree.Node, high: tree.Node) -> tuple[int, int] | None:
    """Both limits as integers, if they are numbers and not too far apart."""
    a, b = linear_form(low), linear_form(high)
    if a is None or b is None or a[1] or b[1] or a[0].denominator != 1 or b[0].denominator != 1:
        return None
    return (int(a[0]), int(b[0])) if b[0] - a[0] < UNROLLED else None


def _written_out(body: tree.Node, index: str, low: int, high: int) -> tree.Node:
    terms = tuple(substitute(body, {index: tree.signed(i)}) for i in range(low, high + 1))
    return tree.Number(Fraction(0)) if not terms else terms[0] if len(terms) == 1 else tree.Add(terms)


def _counts(low: tree.Node, high: tree.Node, claim: ScalarClaim) -> bool:
    """Whether the limits are integers with ``high >= low - 1`` on the whole range."""
    if not (whole(low, claim.domains) and whole(high, claim.domains)):
        return False
    a, b = linear_form(low), linear_form(high)
    if a is not None and b is not None and not a[1] and not b[1]:
        return b[0] >= a[0] - 1
    return by_smt(replace(claim, left=low, op="<=", right=tree.Add((high, ONE))), 1000).outcome == "proved"


def _closed_term(
    term: tree.Node, index: str, low: tree.Node, high: tree.Node, inner: ScalarClaim, outer: ScalarClaim
) -> tree.Node | None:
    if index not in free_letters(term):
        length = tree.Add((high, tree.Negate(low), ONE))
        return tree.Multiply((length, term))
    return _polynomial(term, index, low, high, inner) or _geometric(term, index, low, high, outer)


def _polynomial(term: tree.Node, index: str, low: tree.Node, high: tree.Node, claim: ScalarClaim) -> tree.Node | None:
    """Faulhaber's closed form of a sum whose terms are polynomials of the index."""
    try:
        body = to_sympy(term, claim)
        found = [s for s in body.free_symbols if s.name == index]
        if len(found) != 1 or not body.is_polynomial(found[0]):
            return None
        if sympy.Poly(body, found[0]).degree() > DEGREE_LIMIT:
            return None
        top, plain = sympy.Symbol("_upper"), sympy.Symbol("_index", integer=True)
        total = sympy.expand(sympy.summation(sympy.expand(body.subs(found[0], plain)), (plain, 0, top)))
        below = to_sympy(low, claim) - 1
        return to_tree(sympy.factor(total.subs(top, to_sympy(high, claim)) - total.subs(top, below)))
    except (NotAlgebraic, ValueError):
        return None


def _geometric(term: tree.Node, index: str, low: tree.Node, high: tree.Node, claim: ScalarClaim) -> tree.Node | None:
    """``sum c * r**(a*i + b)`` with a constant ratio that is never 1 and never 0."""
    powers = [f for f in _factors(term) if index in free_letters(f)]
    if len(powers) != 1 or not isinstance(powers[0], tree.Power):
        return None
    base, exponent = powers[0].base, powers[0].exponent
    form = linear_form(exponent)
    if form is None or index in free_letters(base) or abs(slope := form[1].get(index, Fraction(0))) != 1:
        return None
    if not whole(exponent, {**claim.domains, index: _index_domain(low, high)}) or not _apart(base, claim):
        return None
    first = substitute(powers[0], {index: low if slope == 1 else high})
    count = tree.Add((high, tree.Negate(low), ONE))
    sum_of_powers = tree.Divide(
        tree.Add((ONE, tree.Negate(tree.Power(base, count)))), tree.Add((ONE, tree.Negate(base)))
    )
    others = [f for f in _factors(term) if f is not powers[0]]
    return tree.Multiply((*others, first, sum_of_powers))


def _apart(base: tree.Node, claim: ScalarClaim) -> bool:
    """Whether a ratio is positive and never 1 on the range."""
    zero = tree.Number(Fraction(0))
    if by_smt(replace(claim, left=zero, op="<", right=base), 1000).outcome != "proved":
        return False
    return any(by_smt(replace(claim, left=base, op=op, right=ONE), 1000).outcome == "proved" for op in ("<", ">"))
