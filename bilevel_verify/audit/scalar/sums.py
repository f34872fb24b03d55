"""Sums over a range: written out, closed where a closed form exists, and compared by induction where none does.

A closed form of a sum is right only for integer limits with ``hi >= lo - 1``; both are proved first, otherwise the sum
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic, to_sympy
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.integers import index_domain, whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute

RANGED = ("sum", "prod")
UNROLLED = 64
STEPS = 4
"""Largest slope of the argument of a factorial whose steps are written out."""
DEGREE_LIMIT = 20
ZERO, ONE = tree.Number(Fraction(0)), tree.Number(Fraction(1))
Decide = Callable[[ScalarClaim], Decision]


def has_sum(node: tree.Node) -> bool:
    """Whether a sum or a product over a range occurs."""
    return any(isinstance(part, tree.Call) and part.function in RANGED and binder(part) for part in node.walk())


def without_sums(claim: ScalarClaim) -> ScalarClaim:
    """The claim with every sum of its sides closed or written out that can be, innermost first."""
    if not (has_sum(claim.left) or has_sum(claim.right)):
        return claim
    return replace(claim, left=closed(claim.left, claim), right=closed(claim.right, claim))


def closed(node: tree.Node, claim: ScalarClaim) -> tree.Node:
    """A tree with its sums closed; ``claim`` gives the ranges of the letters."""
    if not isinstance(node, tree.Call) or node.function not in RANGED or (span := binder(node)) is None:
        return rebuild(node, lambda part: closed(part, claim))
    index, low, high = span
    low, high = closed(low, claim), closed(high, claim)
    if index in claim.domains:
        return node
    inner = replace(claim, domains={**claim.domains, index: index_domain(low, high)})
    body = closed(node.arguments[0], inner)
    again = _with_parts(node, body, low, high)
    terms = body.terms if isinstance(body, tree.Add) else (body,)
    if not has_sum(body) and (numbers := _numeric(low, high)) is not None:
        return _written_out(body, index, *numbers, node.function == "prod")
    if node.function == "prod" or not _counts(low, high, claim):
        return again
    done = [_closed_term(term, index, low, high, inner, claim) for term in terms]
    if any(term is None for term in done):
        return again
    kept = tuple(term for term in done if term is not None)
    return kept[0] if len(kept) == 1 else tree.Add(kept)


def by_induction(claim: ScalarClaim, decide: Decide) -> Decision:
    """``c * sum(body, (i, lo, k + m)) <= T(k)``: at the first k, and from each k to the next.

    Both sides may be sums of such terms. Where one side is a product over a range or a power ``base**(k + m)``, a step
    multiplies both sides.
    """
    undecided = Decision("undecided", "induction")
    for letter, onward, how in _steps(claim):
        if claim.tied(letter):
            continue
        first = _first(letter, claim)
        assert first is not None
        for part in map(without_sums, (claim.at(letter, Fraction(first)), *onward)):
            decision = decide(part)
            if decision.outcome not in ("proved", "vacuous"):
                undecided = replace(undecided, certificate=f"a part is undecided: {decision.certificate}")
                break
        else:
            text = f"true at {letter} = {first}, and each step {how} no more than it may"
            return Decision("proved", "induction", text)
    return undecided


def _steps(claim: ScalarClaim) -> Iterator[tuple[str, list[ScalarClaim], str]]:
    """A letter, what must be true of one step of it, and what a step does."""
    weak = {"<": "<=", ">": ">="}.get(claim.op, claim.op)
    if has_sum(claim.left) or has_sum(claim.right):
        for letter in sorted(claim.integers):
            left, right = (_increment(side, letter, claim) for side in (claim.left, claim.right))
            if _first(letter, claim) is not None and left is not None and right is not None:
                yield letter, [replace(claim, left=left, op=weak, right=right)], "adds"
    for side, other in (("left", "right"), ("right", "left")):
        found, rest = _growing(getattr(claim, side), claim), getattr(claim, other)
        if found is not None and found.multiplies and not has_sum(rest):
            following = _put(rest, found.letter, tree.Add((tree.Letter(found.letter), ONE)))
            sides = {side: tree.Multiply((rest, found.step)), other: following}
            moved = replace(claim, op=weak, **sides)  # type: ignore[arg-type]
            sign = "<" if claim.op in ("<", ">") else "<="
            yield found.letter, [moved, replace(claim, left=ZERO, op=sign, right=found.step)], "multiplies by"


def _increment(node: tree.Node, letter: str, claim: ScalarClaim) -> tree.Node | None:
    """What a side grows by when an integer letter grows by one; None where that is not plain."""
    if letter not in free_letters(node):
        return ZERO
    if not has_sum(node):
        return tree.Add((_put(node, letter, tree.Add((tree.Letter(letter), ONE))), tree.Negate(node)))
    match node:
        case tree.Add(terms=terms):
            parts = [_increment(term, letter, claim) for term in terms]
            known = tuple(part for part in parts if part is not None)
            return tree.Add(known) if len(known) == len(parts) else None
        case tree.Negate(operand=operand):
            inner = _increment(operand, letter, claim)
            return None if inner is None else tree.Negate(inner)
    found = _growing(node, claim)
    return found.step if found is not None and found.letter == letter and not found.multiplies else None


def _put(node: tree.Node, letter: str, value: tree.Node) -> tree.Node:
    return substitute(node, {letter: value})


@dataclass(frozen=True, slots=True)
class Growing:
    """A side that grows with a letter: by adding ``step``, or by multiplying with it."""

    letter: str
    step: tree.Node
    multiplies: bool


def _growing(node: tree.Node, claim: ScalarClaim) -> Growing | None:
    """What one more adds to ``c * sum(...)``, or multiplies ``c * prod(...)`` or ``c * base**(k + m)`` with."""
    factors = _factors(node)
    ranged = [f for f in factors if has_sum(f)]
    if not ranged:
        return _growing_power(factors, claim)
    if len(ranged) != 1 or not isinstance(ranged[0], tree.Call) or (span := binder(ranged[0])) is None:
        return None
    index, low, high = span
    body = ranged[0].arguments[0]
    form, least = linear_form(high), linear_form(low)
    if form is None or least is None or has_sum(body) or len(form[1]) != 1 or form[0].denominator != 1:
        return None
    letter, slope = next(iter(form[1].items()))
    others = [f for f in factors if f is not ranged[0]]
    if slope != 1 or any(letter in free_letters(f) for f in (low, body, *others)) or not whole(low, claim.domains):
        return None
    first = _first(letter, claim)
    if first is None or least[1] or first + form[0] < least[0] - 1:
        return None
    following = substitute(body, {index: tree.Add((high, ONE))})
    if ranged[0].function == "prod":
        return Growing(letter, following, True)
    return Growing(letter, tree.Multiply((*others, following)) if others else following, False)


def _growing_power(factors: tuple[tree.Node, ...], claim: ScalarClaim) -> Growing | None:
    """A product whose factors are free of a letter, or powers, factorials and binomials that grow with it."""
    for letter in sorted(claim.integers):
        first = _first(letter, claim)
        if first is None:
            continue
        steps = [_step(factor, letter, first) for factor in factors if letter in free_letters(factor)]
        known = tuple(step for step in steps if step is not None)
        if known and len(known) == len(steps):
            return Growing(letter, known[0] if len(known) == 1 else tree.Multiply(known), True)
    return None


def _step(node: tree.Node, letter: str, first: int) -> tree.Node | None:
    """What a factor is multiplied with when the letter grows by one, from its first value on."""
    match node:
        case tree.Power(base=base, exponent=exponent) if letter not in free_letters(base):
            form = linear_form(exponent)
            return base if form is not None and form[1].get(letter) == 1 else None
        case tree.Divide(numerator=tree.Number(value=Fraction(numerator=1, denominator=1)), denominator=bottom):
            below = _step(bottom, letter, first)
            return None if below is None else tree.Divide(ONE, below)
        case tree.Call(function="factorial", arguments=(inner,)):
            return _rising(inner, letter, first)
        case tree.Call(function="binomial", arguments=(whole_set, part)):
            rest = tree.Add((whole_set, tree.Negate(part)))
            steps = [_rising(inner, letter, first) for inner in (whole_set, part, rest)]
            known = [step for step in steps if step is not None]
            return tree.Divide(known[0], tree.Multiply((known[1], known[2]))) if len(known) == 3 else None
    return None


def _rising(inner: tree.Node, letter: str, first: int) -> tree.Node | None:
    """``factorial(a*k + b)`` at the next k over that at k: a product of a factors; the argument is never negative."""
    form = linear_form(inner)
    if form is None or form[1].keys() - {letter}:
        return None
    slope, constant = form[1].get(letter, Fraction(0)), form[0]
    if any(part.denominator != 1 for part in (slope, constant)) or not 0 <= slope <= STEPS:
        return None
    if slope * first + constant < 0:
        return None
    factors = tuple(tree.Add((inner, tree.Number(Fraction(i)))) for i in range(1, int(slope) + 1))
    return ONE if not factors else factors[0] if len(factors) == 1 else tree.Multiply(factors)


def _first(letter: str, claim: ScalarClaim) -> int | None:
    """The first value of an integer letter without a last one."""
    domain = claim.domains.get(letter)
    if domain is None or domain.kind != "integers" or domain.lower is None or domain.upper is not None:
        return None
    start = linear_form(domain.lower.tree)
    return None if start is None or start[1] else -(-start[0].numerator // start[0].denominator)


def _factors(node: tree.Node) -> tuple[tree.Node, ...]:
    match node:
        case tree.Multiply(factors=factors):
            return tuple(g for f in factors for g in _factors(f))
        case tree.Divide(numerator=top, denominator=bottom):
            return (*_factors(top), tree.Divide(ONE, bottom))
    return (node,)


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


def _written_out(body: tree.Node, index: str, low: int, high: int, times: bool) -> tree.Node:
    terms = tuple(substitute(body, {index: tree.signed(i)}) for i in range(low, high + 1))
    empty = tree.Number(Fraction(1 if times else 0))
    join = tree.Multiply if times else tree.Add
    return empty if not terms else terms[0] if len(terms) == 1 else join(terms)


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
        top, plain = sympy.Symbol("_upper"), sympy.Symbol("_index")
        total = sympy.expand(sympy.summation(sympy.expand(body.subs(found[0], plain)), (plain, 0, top)))
        below = to_sympy(low, claim) - 1
        return to_tree(sympy.factor(total.subs(top, to_sympy(high, claim)) - total.subs(top, below)))
    except (NotAlgebraic, ValueError):
        return None


def _geometric(term: tree.Node, index: str, low: tree.Node, high: tree.Node, claim: ScalarClaim) -> tree.Node | None:
    """``sum c * r**(a*i + b)`` with integer exponents and a constant ratio that is never 1.

    The ratio may be 0 where no exponent is negative: ``0**0`` is 1 on both sides.
    """
    powers = [f for f in _factors(term) if index in free_letters(f)]
    if len(powers) != 1 or not isinstance(powers[0], tree.Power):
        return None
    base, exponent = powers[0].base, powers[0].exponent
    form = linear_form(exponent)
    if form is None or index in free_letters(base):
        return None
    slope, inner = form[1].get(index, Fraction(0)), {**claim.domains, index: index_domain(low, high)}
    if slope.denominator != 1 or not 0 < abs(slope) <= STEPS or not whole(exponent, inner):
        return None
    first = substitute(powers[0], {index: low if slope > 0 else high})
    ratio = base if abs(slope) == 1 else tree.Power(base, tree.Number(abs(slope)))
    if not isinstance(first, tree.Power) or not _apart(ratio, first.exponent, claim):
        return None
    count = tree.Add((high, tree.Negate(low), ONE))
    sum_of_powers = tree.Divide(
        tree.Add((ONE, tree.Negate(tree.Power(ratio, count)))), tree.Add((ONE, tree.Negate(ratio)))
    )
    others = [f for f in _factors(term) if f is not powers[0]]
    return tree.Multiply((*others, first, sum_of_powers))


def _apart(base: tree.Node, least: tree.Node, claim: ScalarClaim) -> bool:
    """Whether a ratio is never 1 on the range, and never 0 unless the least exponent is nowhere negative."""

    def holds(one: tree.Node, op: str, two: tree.Node) -> bool:
        return by_smt(replace(claim, left=one, op=op, right=two), 1000).outcome == "proved"

    if holds(base, "<", ZERO):
        return True
    if holds(ZERO, "<", base):
        return holds(base, "<", ONE) or holds(ONE, "<", base)
    return holds(base, "<", ONE) and holds(ZERO, "<=", least)
