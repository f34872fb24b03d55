"""Relations between two monomials, exponents with letters included, as products of powers of facts.

After logarithms everything is linear: which facts and which powers is a linear programme at a sample of the letters,
the powers as formulas are a linear system (the engine of ``audit/scalar/monomials``). The lines say it in the checker's
rules: each fact raised to its power, then one telescoping identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import mul

import sympy

from bilevel_check.ring import Atom, Exponent, Poly, names, number, power_of
from bilevel_check.terms import Refused, tree
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.monomials import Monomial, active_facts, powers_of
from bilevel_verify.certificates.draft import Draft, atom, atoms_in, goal, sides, written
from bilevel_verify.certificates.products import quotient
from bilevel_verify.certificates.statement import data_of, node_of

VALUES = tuple(sympy.Rational(n, 7) for n in (3, 5, 1, 14, 35, 70))
SAMPLES, MOST = 9, 40
Prove = Callable[[Poly, str], bool]


class _NoMonomial(Exception):
    """What has no logarithm that is linear in those of its atoms."""


@dataclass(frozen=True, slots=True)
class Bound:
    """``0 <= small op large`` between monomials or compounds, for a line and as a monomial ``large/small``."""

    small: Poly
    op: str
    large: Poly
    ratio: Monomial

    @property
    def relation(self) -> list[object]:
        """As a line of the checker."""
        return [self.op, written(self.small), written(self.large)]


def by_powers(prove: Prove, draft: Draft, element: Poly, op: str) -> bool:
    """``element op 0`` with two terms of opposite sign, from powers of facts.

    Parameters
    ----------
    prove : adds lines that show the sign of an element, as far as the search may go.
    """
    pair = _pair(element)
    if pair is None or op == "==":
        return False
    try:
        aim = _monomial(pair[1]).times(_monomial(pair[0]), sympy.S.NegativeOne)
    except _NoMonomial:
        return False
    bounds = list({(b.small, b.op, b.large): b for b in _bounds(draft, element)}.values())[:MOST]
    for sample in _samples(draft, element, bounds):
        chosen = active_facts(aim, [b.ratio for b in bounds], sample)
        powers = None if not chosen else powers_of(aim, [bounds[i].ratio for i in chosen])
        if chosen and powers and _lines(prove, draft, element, op, [bounds[i] for i in chosen], powers):
            return True
    return False


def _pair(p: Poly) -> tuple[Poly, Poly] | None:
    """Both sides if they have one term each."""
    small, large = sides(p)
    return (small, large) if len(small.terms) == len(large.terms) == 1 else None


def _monomial(p: Poly) -> Monomial:
    """A monomial of the ring as one of the engine: its atoms are trees, its exponents SymPy expressions."""
    if len(p.terms) != 1:
        return Monomial({node_of(written(p)): sympy.S.One})
    [(m, c)] = p.terms.items()
    total = Monomial({})
    for value, sign in ((c.numerator, 1), (c.denominator, -1)):
        for prime, times in sympy.factorint(value, limit=10**6).items():
            total = total.times(Monomial({node_of(int(prime)): sympy.Integer(sign * times)}))
    for a, e in m:
        total = total.times(Monomial({node_of(atom(a)): _exponent(e)}))
    return total


def _exponent(e: Exponent) -> sympy.Expr:
    if isinstance(e, Fraction):
        return sympy.Rational(e.numerator, e.denominator)
    total = sympy.S.Zero
    for m, c in e.terms.items():
        part = sympy.Rational(c.numerator, c.denominator)
        for a, power in m:
            part *= _base(a) ** _exponent(power)
        total += part
    return sympy.cancel(total)


def _base(a: Atom) -> sympy.Expr:
    match a.kind:
        case "letter":
            return sympy.Symbol(a.args[0], positive=True)
        case "prime":
            return sympy.Integer(a.args[0])
        case "compound":
            return _exponent(a.args[0])
    raise _NoMonomial(f"an exponent with {a.kind}")


def _bounds(draft: Draft, element: Poly) -> Iterator[Bound]:
    """Facts between monomials that share letters with the element, and what holds between a sum and its terms."""
    at = draft.at
    for p, op in list(at.facts):
        pair = _pair(p)
        if pair and op != "!=" and names(p) & names(element) and all(at.known(side, ">=") for side in pair):
            yield from _bound(pair[0], "<" if op == ">" else "<=", pair[1])
            if op == "==":
                yield from _bound(pair[1], "<=", pair[0])
    sums = [a.args[0] for p in (element, *(p for p, _ in at.facts)) for a in atoms_in(p) if a.kind == "compound"]
    for whole in dict.fromkeys(sums):
        weight = sum((abs(c) for c in whole.terms.values()), Fraction(0))
        for m, c in whole.terms.items():
            term, most = Poly({m: c}), Poly({m: weight})
            if at.known(term, ">=") and at.known(whole - term, ">="):
                yield from _bound(term, "<=", whole)
            if m and at.known(most - whole, ">="):
                yield from _bound(whole, "<=", most)


def _bound(small: Poly, op: str, large: Poly) -> Iterator[Bound]:
    try:
        yield Bound(small, op, large, _monomial(large).times(_monomial(small), sympy.S.NegativeOne))
    except _NoMonomial:
        return


def _samples(draft: Draft, element: Poly, bounds: list[Bound]) -> Iterator[dict[str, sympy.Rational]]:
    """Values of the letters of the exponents at which the facts about one letter hold."""
    parts = (element, *(b.large - b.small for b in bounds))
    exponents = (e for p in parts for m in p.terms for _, e in m if isinstance(e, Poly))
    letters = sorted({name for e in exponents for name in names(e)})
    axes = [[v for v in VALUES if _possible(draft, name, v)][:3] for name in letters]
    for values in list(product(*axes))[:SAMPLES]:
        yield dict(zip(letters, values))


def _possible(draft: Draft, name: str, value: sympy.Rational) -> bool:
    for p, _ in draft.at.facts:
        if names(p) == {name}:
            try:
                found = _exponent(p)
            except _NoMonomial:
                continue
            if found.subs(sympy.Symbol(name, positive=True), value) < 0:
                return False
    return True


def _lines(prove: Prove, draft: Draft, element: Poly, op: str, bounds: list[Bound], powers: list[sympy.Expr]) -> bool:
    """Each bound raised to its power, then ``large - small`` as a telescoping sum."""
    at, raised = draft.at, list[tuple[Poly, Poly, int]]()
    for bound, power in zip(bounds, powers):
        e = data_of(to_tree(sympy.factor(power)))
        try:
            exponent = at.of(tree(e))
        except Refused:
            below = data_of(to_tree(sympy.fraction(sympy.factor(power))[1]))
            if not prove(at.of(tree(below)), ">"):
                return False
            exponent = at.of(tree(e))
        strong = bound.op == "<" and prove(exponent, ">")
        relation = bound.relation if strong else ["<=", *bound.relation[1:]]
        if not (strong or prove(exponent, ">=")) or not draft.add("raise", relation, e):
            return False
        small, large = (at.powers(tree(side), exponent) for side in bound.relation[1:])
        raised.append((small, large, len(at.facts) - 1))
    return _telescoped(prove, draft, element, op, raised)


def _quotient(top: Poly, bottom: Poly) -> Poly:
    """``top / bottom`` of two monomials as words; the identity that uses it says whether it is defined."""
    [(m, c)], [(n, d)] = top.terms.items(), bottom.terms.items()
    return number(c / d) * _product(power_of(a, e) for a, e in quotient(m, n))


def _product(parts: Iterable[Poly]) -> Poly:
    return reduce(mul, parts, number(1))


def _telescoped(prove: Prove, draft: Draft, element: Poly, op: str, raised: list[tuple[Poly, Poly, int]]) -> bool:
    """``large - small = (large - s prod b_i) + sum_j s prod_{i<j} a_i (b_j - a_j) prod_{i>j} b_i``.

    Here ``a_j <= b_j`` are the raised facts and ``s prod a_i = small``.
    """
    at, (small, large) = draft.at, sides(element)
    below, above = _product(r[0] for r in raised), _product(r[1] for r in raised)
    try:  # a sum to the power 1 is written out
        scale = _quotient(small, below) if len(below.terms) == 1 else small * at.power(below, number(-1))
    except Refused:
        return False
    rest, parts = large - scale * above, []
    for j, (_, _, place) in enumerate(raised):
        factor = scale * _product(r[0] for r in raised[:j]) * _product(r[1] for r in raised[j + 1 :])
        parts.append([written(factor), [place], []])
    if rest.terms:
        number_left = at.split(rest)[1]  # that of the monomials: letters are in exponents alone
        plain = all(a.kind in ("prime", "E", "pi") for m in number_left.terms for a, _ in m)
        if not at.known(rest, ">=") and not (plain and prove(number_left, ">=")):
            return False
        parts.append([written(rest), [], []])
    return draft.add("identity", goal(element, op), parts) and at.known(element, op)
