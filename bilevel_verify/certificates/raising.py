"""Derived facts about powers: relations raised to the exponents that a claim has, one base with two exponents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

from bilevel_check.ring import Atom, Exponent, Poly, added, names, number, power_of_one
from bilevel_check.terms import Refused, tree
from bilevel_verify.certificates.draft import Draft, number_of, sides, written

LINES, LETTERS = 60, 6
Nonnegative = Callable[[Poly], bool]


def raise_facts(nonnegative: Nonnegative, draft: Draft, element: Poly) -> None:
    """Add lines that raise what is known about the bases of an element.

    Parameters
    ----------
    nonnegative : whether a cheap search shows that an element is not negative.
    """
    before = len(draft.lines)
    exponents = [*map(number_of, _fractions(element)), *map(written, _with_letters(nonnegative, element))]
    for relation in list(_relations(draft, element)):
        for e in exponents:
            if len(draft.lines) - before <= LINES:
                _raise(draft, relation, e)
    for whole, part, e in _sums(element):
        if draft.at.known(whole - part, ">=") and nonnegative(e):
            _raise(draft, ["<=", written(part), written(whole)], written(e))
    _two_exponents(nonnegative, draft, element)


def _bases(p: Poly) -> set[str]:
    """Letters that stand in a base, not only in an exponent."""
    return {name for m in p.terms for a, _ in m for name in names(power_of_one(a))}


def _fractions(element: Poly) -> list[Fraction]:
    exponents = {e for m in element.terms for _, e in m if isinstance(e, Fraction) and e.denominator > 1}
    return sorted({Fraction(1, e.denominator) for e in exponents} | {Fraction(2), Fraction(1, 2), Fraction(3)})


def _with_letters(nonnegative: Nonnegative, element: Poly) -> list[Poly]:
    """Exponents with letters, and what they lack to 1, that are not negative."""
    found = dict.fromkeys(e for m in element.terms for a, e in m if isinstance(e, Poly) and a.kind != "compound")
    return [e for e in dict.fromkeys(one for e in found for one in (e, number(1) - e)) if nonnegative(e)][:LETTERS]


def _relations(draft: Draft, element: Poly) -> Iterator[list[object]]:
    """Relations between nonnegative sides about a base of the element: of two terms, ``x <= 0``, hypotheses."""
    bases = _bases(element)
    for p, op in draft.at.facts:
        small, large = sides(p)
        if op in (">", ">=") and len(small.terms) == 1 and len(large.terms) <= 1 and bases & _bases(p):
            yield ["<" if op == ">" else "<=", written(small), written(large)]
    for relation in draft.hypotheses:
        if relation is None or relation[0] == "or":
            continue
        try:
            one, other = (draft.at.of(tree(side)) for side in relation[1:])
        except Refused:
            continue
        signs = draft.at.known(one, ">=") and draft.at.known(other, ">=")
        if signs and len((one - other).terms) > 2 and bases & _bases(one - other):
            yield relation


def _raise(draft: Draft, relation: list[object], exponent: object) -> None:
    key = ("raise", str(relation), str(exponent))
    if key not in draft.tried:
        draft.tried.add(key)
        draft.add("raise", relation, exponent)


def _sums(element: Poly) -> Iterator[tuple[Poly, Poly, Poly]]:
    """``(sum, term, exponent)`` for sums below a power that is no whole number; the exponent lowered by 0, 1, 2."""
    for a, e in dict.fromkeys(pair for m in element.terms for pair in m):
        if a.kind == "compound" and not (isinstance(e, Fraction) and e.denominator == 1):
            for m, c in a.args[0].terms.items():
                for less in (0, 1, 2):
                    yield a.args[0], Poly({m: c}), (e if isinstance(e, Poly) else number(e)) - number(less)


def _two_exponents(nonnegative: Nonnegative, draft: Draft, element: Poly) -> None:
    """``b**s`` against ``b**t`` where an exponent has letters; also against the exponent at an end of its letter."""
    found: dict[Atom, dict[Exponent, None]] = {}
    for m in (m for p in (element, *(p for p, op in draft.at.facts if op == "==")) for m in p.terms):
        for a, e in m:
            found.setdefault(a, {Fraction(0): None})[e] = None
    for a, exponents in found.items():
        if not any(isinstance(e, Poly) for e in exponents):
            continue
        ends = [end for e in exponents for end in _at_ends(draft, e)]
        base = written(power_of_one(a))
        for s, t in combinations(dict.fromkeys([*exponents, *ends]), 2):
            if not (isinstance(s, Poly) or isinstance(t, Poly)):
                continue
            gap = added(t, -s)
            gap = gap if isinstance(gap, Poly) else number(gap)
            one, other = (written(e) if isinstance(e, Poly) else number_of(e) for e in (s, t))
            if nonnegative(gap):
                draft.between(base, one, other)
            elif nonnegative(-gap):
                draft.between(base, other, one)


def _at_ends(draft: Draft, e: Exponent) -> Iterator[Fraction]:
    """The values of a linear exponent in one letter where a fact ends the range of that letter."""
    if not isinstance(e, Poly) or len(names(e)) != 1:
        return
    [name] = names(e)
    letter = power_of_one(Atom("letter", name))
    [lead, *more] = [(m, c) for m, c in e.terms.items() if m]
    if more or lead[0] != next(iter(letter.terms)):
        return
    rest = (e - letter * number(lead[1])).constant() or Fraction(0)
    for p, op in draft.at.facts:
        slope = p.terms.get(lead[0])
        end = None if slope is None or op == "!=" else (p - letter * number(slope)).constant()
        if slope is not None and end is not None:
            yield rest - lead[1] * end / slope
