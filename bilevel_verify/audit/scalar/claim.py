"""One relation between two scalar expressions, for all letters in their ranges: what the engines work on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from bilevel_verify.audit.scalar.integers import whole
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters, infinite, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

KINDS = ("interval", "integers")
"""Ranges that the engines work on."""
POSITIVE = Domain("(0, oo)", "interval", Expression(tree.Number(Fraction(0)), "0"), None, False, False)
NONNEGATIVE = Domain("[0, oo)", "interval", Expression(tree.Number(Fraction(0)), "0"), None, True, False)
Outcome = Literal["proved", "refuted", "undecided", "vacuous"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What an engine says.

    Attributes
    ----------
    outcome : ``proved`` and ``refuted`` are exact; ``vacuous`` says that the hypotheses contradict each other (a
        proof of that too); everything else is ``undecided``.
    engine : the engine that decided, or the one that got furthest.
    certificate : what a reader can follow ("unsat by nlsat, 7 letters, 2 roots").
    point : a rational counterexample, letter -> value (``refuted`` only).
    left, right : both sides at that point (floats, for display; the decision was made in ball arithmetic).
    ratio : largest left/right met, in balls, where that makes sense; at most 1 for what is proved.
    tight : points of the largest ratios left/right that an attack met, in floats.
    ray : a direction along which an order fails (``growth.Ray``), for derivations.
    wanting : hypotheses with which an undecided order might be decided.
    """

    outcome: Outcome
    engine: str
    certificate: str = ""
    point: Mapping[str, Fraction] = field(default_factory=dict)
    left: float | None = None
    right: float | None = None
    ratio: float | None = None
    attacks: int = 0
    tight: tuple[Mapping[str, float], ...] = ()
    ray: Any = None
    wanting: tuple[tree.Node, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarClaim:
    """``left op right`` for all letters in ``domains`` under the conditions ``where``.

    Every free letter must have a domain; equalities of the form ``letter == formula`` in ``where`` are substituted
    away by :func:`prepared`, the ends of the domains become conditions.
    """

    left: tree.Node
    op: str
    right: tree.Node
    domains: Mapping[str, Domain]
    where: tuple[tree.Node, ...] = ()

    @property
    def letters(self) -> tuple[str, ...]:
        """Letters that occur, in the order of their domains."""
        used = set().union(*(free_letters(n) for n in (self.left, self.right, *self.where))) - NUMBERS
        for name in list(used):
            used |= _end_letters(self.domains.get(name), self.domains)
        return tuple(name for name in self.domains if name in used)

    @property
    def integers(self) -> frozenset[str]:
        """Letters that range over integers."""
        return frozenset(n for n in self.letters if self.domains[n].kind == "integers")

    def conditions(self) -> tuple[tree.Node, ...]:
        """``where`` and the ends of all domains, as conditions."""
        return (*self.where, *(c for name in self.letters for c in end_conditions(name, self.domains[name])))

    def with_values(self, values: Mapping[str, tree.Node]) -> ScalarClaim:
        """The claim with some letters replaced by formulas (their domains become conditions).

        An integer letter stays one: unless its formula is plainly an integer, ``floor(formula) == formula`` is added.
        """
        kept = {n: d.with_ends(lambda end: substitute(end, values)) for n, d in self.domains.items() if n not in values}
        moved = [c for n in values if n in self.domains for c in end_conditions(n, self.domains[n])]
        for name, formula in values.items():
            if name in self.domains and self.domains[name].kind == "integers" and not whole(formula, self.domains):
                moved.append(tree.Compare((tree.Call("floor", (formula,)), formula), ("==",)))
        where = tuple(substitute(w, values) for w in (*self.where, *moved))
        left, right = substitute(self.left, values), substitute(self.right, values)
        return replace(self, left=left, right=right, domains=kept, where=where)

    def at(self, name: str, value: Fraction) -> ScalarClaim:
        """The claim with a number for a letter that is not tied, whether or not its range includes the number.

        With an open end as a condition the claim would be vacuous there, and prove nothing about the points nearby.
        """
        values = {name: tree.signed(value)}
        domains = {n: d for n, d in self.domains.items() if n != name}
        return replace(self, left=substitute(self.left, values), right=substitute(self.right, values), domains=domains)

    def tied(self, name: str) -> bool:
        """Whether a hypothesis or the range of another letter mentions the letter."""
        ranges = (domain for other, domain in self.domains.items() if other != name)
        return any(name in free_letters(c) for c in self.where) or any(mentions(domain, name) for domain in ranges)


def mentions(domain: Domain, name: str) -> bool:
    """Whether an end of a range depends on a letter."""
    return any(end is not None and name in free_letters(end.tree) for end in (domain.lower, domain.upper))


def end_conditions(name: str, domain: Domain) -> tuple[tree.Node, ...]:
    """``name >= lower`` and ``name <= upper`` of a domain (strict where the end is open, absent where infinite)."""
    letter, found = tree.Letter(name), []
    if domain.lower is not None and not infinite(domain.lower.tree):
        op = ">=" if domain.lower_closed or domain.kind == "integers" else ">"
        found.append(tree.Compare((letter, domain.lower.tree), (op,)))
    if domain.upper is not None and not infinite(domain.upper.tree):
        op = "<=" if domain.upper_closed or domain.kind == "integers" else "<"
        found.append(tree.Compare((letter, domain.upper.tree), (op,)))
    return tuple(found)


def prepared(claim: ScalarClaim) -> ScalarClaim:
    """Substitute hypotheses ``letter == formula`` away, as long as there are any.

    ``a + b + M/2*s**3 == 0`` is one too: a letter that occurs once, as a term with a number before it.
    """
    return eliminated(claim)[0]


def eliminated(claim: ScalarClaim) -> tuple[ScalarClaim, list[tuple[str, tree.Node]]]:
    """The claim without hypotheses ``letter == formula``, and the letters that went, in the order of going."""
    gone: list[tuple[str, tree.Node]] = []
    while (found := _determined(claim)) is not None:  # each round leaves one such hypothesis less
        place, solved = found
        rest = claim.where[:place] + claim.where[place + 1 :]
        claim = replace(claim, where=rest).with_values(dict([solved]))
        gone.append(solved)
    return claim, gone


def completed(point: Mapping[str, Fraction], gone: list[tuple[str, tree.Node]]) -> dict[str, Fraction]:
    """A point with the letters that hypotheses determine, as far as they are rational."""
    found = dict(point)
    for name, formula in reversed(gone):
        if free_letters(formula) - NUMBERS <= found.keys():
            with suppress(BilevelVerifyError, ArithmeticError, ValueError):
                value = Formula(found).value(formula)
                if isinstance(value, Fraction):
                    found[name] = value
    return found


def _determined(claim: ScalarClaim) -> tuple[int, tuple[str, tree.Node]] | None:
    """The first hypothesis that determines a letter: its place, the letter and its formula."""
    for place, condition in enumerate(claim.where):
        solved = _solved(condition, claim.domains)
        if solved is not None:
            return place, solved
    return None


def _solved(condition: tree.Node, domains: Mapping[str, Domain]) -> tuple[str, tree.Node] | None:
    """A letter and its formula, from an equality that determines it; ``letter == formula`` as it stands."""
    match condition:
        case tree.Compare(operands=(tree.Letter(name=name), formula), operators=("==",)) if (
            name in domains and name not in free_letters(formula)
        ):
            return name, formula
        case tree.Compare(operands=(left, right), operators=("==",)):
            terms = [*_terms(left, Fraction(1)), *_terms(right, Fraction(-1))]
            for place, (factor, node) in enumerate(terms):
                others = terms[:place] + terms[place + 1 :]
                known = domains.get(node.name) if isinstance(node, tree.Letter) else None
                if known is None or known.kind == "integers":
                    continue
                assert isinstance(node, tree.Letter)
                if not any(node.name in free_letters(other) for _, other in others):
                    return node.name, _total([_multiple(-f / factor, other) for f, other in others])
    return None


def _terms(node: tree.Node, factor: Fraction) -> list[tuple[Fraction, tree.Node]]:
    """A sum as (number, rest) pairs; zeros are left out."""
    match node:
        case tree.Number(value=value):
            return [(factor * value, tree.Number(Fraction(1)))] if value else []
        case tree.Add(terms=terms):
            return [pair for term in terms for pair in _terms(term, factor)]
        case tree.Negate(operand=operand):
            return _terms(operand, -factor)
        case tree.Divide(numerator=top, denominator=tree.Number(value=value)) if value:
            return _terms(top, factor / value)
        case tree.Multiply(factors=(tree.Number(value=value), rest)) if value:
            return _terms(rest, factor * value)
    return [(factor, node)]


def _multiple(factor: Fraction, node: tree.Node) -> tree.Node:
    if factor < 0:
        return tree.Negate(_multiple(-factor, node))
    return node if factor == 1 else tree.Multiply((tree.Number(factor), node))


def _total(terms: list[tree.Node]) -> tree.Node:
    if len(terms) > 1:
        return tree.Add(tuple(terms))
    return terms[0] if terms else tree.Number(Fraction(0))


def _end_letters(domain: Domain | None, domains: Mapping[str, Domain]) -> set[str]:
    found: set[str] = set()
    for end in (domain.lower, domain.upper) if domain is not None else ():
        if end is not None and not infinite(end.tree):
            for name in free_letters(end.tree) - NUMBERS:
                found |= {name} | _end_letters(domains.get(name), domains)
    return found
