"""Proofs by cases: residue classes of integer letters, head and tail of unbounded ones, a zero end apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, lcm

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic, to_sympy
from bilevel_verify.audit.scalar.calculus import numeric_ends
from bilevel_verify.audit.scalar.claim import Decision, Outcome, ScalarClaim, mentions
from bilevel_verify.audit.scalar.integers import whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import rebuild

Decide = Callable[[ScalarClaim], Decision]
CLASS_LIMIT = 24
HEADS = (1, 4, 12, 24)
CASE_LIMIT = 40


def by_residues(claim: ScalarClaim, decide: Decide) -> Decision:
    """``floor(k/3)``: ``k = 3*m + r`` for every r, where the rounding is exact."""
    undecided = Decision("undecided", "residue classes")
    modulus = _modulus(claim)
    if modulus is None:
        return undecided
    name, q = modulus
    empty = 0
    for r in range(q):
        decision = decide(_class(claim, name, q, r))
        if decision.outcome not in ("proved", "vacuous"):
            text = f"{name} = {q}*m + {r} is undecided: {decision.certificate}"
            return replace(undecided, certificate=text)
        empty += decision.outcome == "vacuous"
    if empty == q:
        return Decision("vacuous", "residue classes", f"every class of {name} contradicts the hypotheses")
    return Decision("proved", "residue classes", f"{q} classes of {name}, each proved")


def by_head_and_tail(claim: ScalarClaim, decide: Decide) -> Decision:
    """An integer letter: its few values, or the first ones of an unbounded range and the rest as a real letter.

    A range without an integer says nothing about the relation (``vacuous``), as one whose values all contradict the
    hypotheses does.
    """
    undecided = Decision("undecided", "head and tail")
    for name in claim.letters:
        if name not in claim.integers:
            continue
        low, high = numeric_ends(claim, name)
        if low is None or any(mentions(claim.domains[other], name) for other in claim.letters if other != name):
            continue
        first, done = ceil(low), 0
        if high is not None:
            values = range(first, floor(high) + 1)
            if not values:
                return Decision("vacuous", "one by one", f"no integer {name} lies between {low} and {high}")
            if len(values) <= CASE_LIMIT and (shown := _shown(claim, name, values, decide)):
                if shown == {"vacuous"}:
                    return Decision("vacuous", "one by one", f"every value of {name} contradicts the hypotheses")
                return Decision("proved", "one by one", f"{len(values)} values of {name}, each proved")
            continue
        for cut in HEADS:
            if not _shown(claim, name, range(first + done, first + cut), decide):
                break
            done = cut
            tail = replace(claim, domains={**claim.domains, name: _integers_from(first + cut)})
            if decide(tail).outcome == "proved":
                text = f"{name} = {first}..{first + cut - 1} one by one, the rest as real numbers"
                return Decision("proved", "head and tail", text)
    return undecided


def by_zero_apart(claim: ScalarClaim, decide: Decide) -> Decision:
    """A letter whose range includes 0: the end by itself, and the positive numbers."""
    undecided = Decision("undecided", "zero apart")
    for name in claim.letters:
        domain = claim.domains[name]
        low = None if domain.lower is None else linear_form(domain.lower.tree)
        if domain.kind != "interval" or low is None or low[1] or low[0] != 0 or not domain.lower_closed:
            continue
        zero = decide(_drop(claim, name, tree.Number(Fraction(0))))
        if zero.outcome not in ("proved", "vacuous"):
            continue
        rest = decide(replace(claim, domains={**claim.domains, name: replace(domain, lower_closed=False)}))
        if rest.outcome == "proved":
            return Decision("proved", rest.engine, f"{name} = 0 apart; {rest.certificate}")
    return undecided


def _shown(claim: ScalarClaim, name: str, values: range, decide: Decide) -> set[Outcome]:
    """What is shown of the values of a letter (``proved``, ``vacuous``); empty if one of them is open."""
    found: set[Outcome] = set()
    for value in values:
        outcome = decide(_drop(claim, name, tree.signed(value))).outcome
        if outcome not in ("proved", "vacuous"):
            return set()
        found.add(outcome)
    return found


def _drop(claim: ScalarClaim, name: str, value: tree.Node) -> ScalarClaim:
    """A letter replaced by a number of its range."""
    return claim.with_values({name: value})


def _integers_from(low: int) -> Domain:
    return Domain(f"integers {low}..", "integers", Expression(tree.signed(low), str(low)))


def _roundings(claim: ScalarClaim) -> Iterator[tree.Node]:
    for side in (claim.left, claim.right, *claim.where):
        for part in side.walk():
            if isinstance(part, tree.Call) and part.function in ("floor", "ceil"):
                yield part.arguments[0]


def _remainders(claim: ScalarClaim) -> Iterator[tree.Modulo]:
    for side in (claim.left, claim.right, *claim.where):
        for part in side.walk():
            if isinstance(part, tree.Modulo):
                yield part


def _divisor(node: tree.Modulo) -> int | None:
    value = node.right.value if isinstance(node.right, tree.Number) else Fraction(0)
    return int(value) if value > 0 and value.denominator == 1 else None


def _remainder(node: tree.Modulo, claim: ScalarClaim) -> tree.Node:
    """``(6*j + 5) % 3`` as 2: a polynomial of integers whose growing part the divisor divides."""
    m = _divisor(node)
    try:
        inner = sympy.expand(to_sympy(node.left, claim))
    except NotAlgebraic:
        return node
    symbols = sorted(inner.free_symbols, key=str)
    if m is None or not all(_integer_letter(str(s), claim) for s in symbols) or not inner.is_polynomial(*symbols):
        return node
    terms = sympy.Poly(inner, *symbols).terms() if symbols else [((), inner)]
    constant = 0
    for powers, coefficient in terms:
        if not coefficient.is_Integer or (any(powers) and coefficient % m != 0):
            return node
        constant += 0 if any(powers) else int(coefficient)
    return tree.Number(Fraction(constant % m))


def _modulus(claim: ScalarClaim) -> tuple[str, int] | None:
    """An integer letter under a rounding and the common denominator of its slopes there."""
    found: dict[str, int] = {}
    for inner in _roundings(claim):
        form = linear_form(inner)
        if form is None or any(n not in claim.integers for n in form[1]):
            continue
        for name, slope in form[1].items():
            found[name] = lcm(found.get(name, 1), slope.denominator)
    for part in _remainders(claim):
        used = {p.name for p in part.walk() if isinstance(p, tree.Letter)}
        if len(used) == 1 and used <= claim.integers and (m := _divisor(part)) is not None:
            (name,) = used
            found[name] = lcm(found.get(name, 1), m)
    for name, q in found.items():
        if 1 < q <= CLASS_LIMIT:
            return name, q
    return None


def _class(claim: ScalarClaim, name: str, q: int, r: int) -> ScalarClaim:
    """The claim for ``name = q*m + r``, with m in place of the letter."""
    fresh = f"{name}_class"
    letter = tree.Letter(fresh)
    value = tree.Add((tree.Multiply((tree.Number(Fraction(q)), letter)), tree.Number(Fraction(r))))
    low, high = numeric_ends(claim, name)
    ends = [None if e is None else (e - r) / q for e in (low, high)]
    lower = None if ends[0] is None else ceil(ends[0])
    domain = _integers_from(lower) if lower is not None else Domain("integers", "integers")
    if ends[1] is not None:
        top = floor(ends[1])
        domain = replace(domain, upper=Expression(tree.signed(top), str(top)))
    moved = claim.with_values({name: value})
    moved = replace(moved, domains={**moved.domains, fresh: domain})

    def exact(node: tree.Node) -> tree.Node:
        return rounded_exactly(node, moved)

    where = tuple(exact(w) for w in moved.where)
    return replace(moved, left=exact(moved.left), right=exact(moved.right), where=where)


def rounded_exactly(node: tree.Node, claim: ScalarClaim) -> tree.Node:
    """``floor(3*m + 5/2)`` as ``3*m + 2``, ``(3*m + 5) % 3`` as 2 for integers m; other roundings stay."""
    node = rebuild(node, lambda part: rounded_exactly(part, claim))
    if isinstance(node, tree.Modulo):
        return _remainder(node, claim)
    if not (isinstance(node, tree.Call) and node.function in ("floor", "ceil")):
        return node
    form = linear_form(node.arguments[0])
    if form is None or not all(_integer_letter(n, claim) for n in form[1]):
        return node
    if any(v.denominator != 1 for v in form[1].values()):
        return node
    constant = Fraction(floor(form[0]) if node.function == "floor" else ceil(form[0]))
    terms: list[tree.Node] = [tree.Multiply((tree.signed(v), tree.Letter(n))) for n, v in form[1].items()]
    return tree.Add((*terms, tree.signed(constant))) if terms else tree.signed(constant)


def _integer_letter(name: str, claim: ScalarClaim) -> bool:
    return whole(tree.Letter(name), claim.domains)


__all__ = ["by_head_and_tail", "by_residues", "by_zero_apart", "rounded_exactly"]
