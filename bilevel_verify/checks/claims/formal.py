"""What holds at a place whatever the numbers are: equal parts cancel, and what is left is a triangle inequality.

Enclosures of two sides that are equal never separate: ``norm(a - c) <= norm(a - b) + norm(b - c)`` is a tie wherever
``b`` lies between. Here both sides are written as sums of ``coefficient * factors * norm(vector)``: coefficients are
exact rationals at the place, factors are letters and terms whose value is not rational, vectors are combinations of
whatever vector the claim names. Equal terms cancel exactly; a norm that is left on the lower side must be at most the
norms that are left on the upper one by the triangle inequality, two least eigenvalues differ by at most the norm of the
difference of their matrices (Weyl), and every common factor must be certain to be at least 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import Any
from weakref import WeakKeyDictionary

from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.decide import Judgement
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.values import Bound
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Link

MOST_NORMS = 5
"""Norms on the upper side among which a triangle inequality is looked for."""
Combination = frozenset[tuple[int, Fraction]]
"""A vector or a matrix: number of a part -> its coefficient, none of them 0."""


@dataclass(frozen=True, slots=True)
class Term:
    """``coefficient * factors``, times the norm, or the least eigenvalue, of ``what`` (``kind`` says which)."""

    coefficient: Fraction
    factors: tuple[int, ...] = ()
    kind: str = ""
    what: Combination = frozenset()


class NotFormal(Exception):
    """A side that has no such form."""


def holds_formally(link: Link, found: Judgement, evaluator: Evaluator, place: Bound) -> bool:
    """Whether a relation that enclosures leave open holds at a place by its form; both sides have finite values."""
    if found.answer is not None or not (isfinite(found.measured) and isfinite(found.bound)):
        return False
    if link.op not in ("<=", ">=", "=="):
        return False
    low, high = (link.right, link.left) if link.op == ">=" else (link.left, link.right)
    before = evaluator.certainty
    try:
        form = _Form(evaluator, place, link.op == "==")
        terms = [*form.terms(high.tree, Fraction(1)), *form.terms(low.tree, Fraction(-1))]
        return form.is_nonnegative(terms)
    except (NotFormal, MathematicalError):
        return False
    finally:
        evaluator.reset()
        evaluator.note(before)


@dataclass(slots=True)
class _Trees:
    """Trees of one interpreter with their numbers, the same for equal trees at every place: a tree is hashed once."""

    nodes: list[tree.Node] = field(default_factory=list)
    numbers: dict[tree.Node, int] = field(default_factory=dict)
    known: dict[int, tuple[tree.Node, int]] = field(default_factory=dict)
    built: dict[tuple[str, int], tree.Node] = field(default_factory=dict)

    def number(self, node: tree.Node) -> int:
        """The number of a tree; it is kept, so that its id stays its own."""
        found = self.known.get(id(node))
        if found is None:
            number = self.numbers.setdefault(node, len(self.nodes))
            self.nodes += [node] if number == len(self.nodes) else []
            found = self.known[id(node)] = (node, number)
        return found[1]

    def root(self, base: tree.Node) -> tree.Node:
        """``sqrt(base)``, one object."""
        return self.built.setdefault(("sqrt", self.number(base)), tree.Call("sqrt", (base,)))

    def inverse(self, node: tree.Node) -> tree.Node:
        """``1/node``, one object."""
        return self.built.setdefault(("1/", self.number(node)), tree.Divide(tree.Number(Fraction(1)), node))


_TREES: WeakKeyDictionary[Evaluator, _Trees] = WeakKeyDictionary()


class _Form:
    """The terms of trees at one place."""

    def __init__(self, evaluator: Evaluator, place: Bound, equal: bool = False) -> None:
        self.evaluator, self.place, self.equal = evaluator, place, equal
        self.trees = _TREES.setdefault(evaluator, _Trees())
        self.values: dict[int, Any] = {}

    def value(self, node: tree.Node) -> Any:
        """The value of a tree here."""
        return self.of(self.trees.number(node))

    def of(self, number: int) -> Any:
        """The value of the tree with this number here."""
        if number not in self.values:
            self.values[number] = self.evaluator.value(self.trees.nodes[number], self.place)
        return self.values[number]

    # --- sides --------------------------------------------------------------------------------------------------------

    def terms(self, node: tree.Node, sign: Fraction) -> list[Term]:
        """A scalar tree as a sum of terms."""
        match node:
            case tree.Add(terms=parts):
                return [term for part in parts for term in self.terms(part, sign)]
            case tree.Negate(operand=operand):
                return self.terms(operand, -sign)
            case tree.Multiply(factors=factors):
                found = [Term(sign)]
                for factor in factors:
                    found = [_times(a, b) for a, b in product(found, self.terms(factor, Fraction(1)))]
                return found
            case tree.Divide(numerator=top, denominator=bottom):
                one = self.reciprocal(bottom)
                sign, one = (sign, one) if one.coefficient > 0 else (-sign, replace(one, coefficient=-one.coefficient))
                return [_times(one, term) for term in self.terms(top, sign)]
            case tree.Power(base=base, exponent=power) if self.value(power) == Fraction(1, 2):
                return self.scalar(self.trees.root(base), sign)
            case tree.Call(function="norm", arguments=(part,)):
                return [self.norm(part, sign)]
            case tree.Call(function="lambda_min", arguments=(part,)):
                return [Term(sign, (), "lambda_min", self.combination(part))]
            case tree.Call(function="abs", arguments=(part,)) if sign < 0 and not self.equal:
                size = self.size(part, sign)
                if size is not None:
                    return [size]
        return self.scalar(node, sign)

    def scalar(self, node: tree.Node, sign: Fraction) -> list[Term]:
        """A scalar by its value: a coefficient where it is rational, a factor elsewhere."""
        found = v.as_scalar(self.value(node))
        return [Term(sign * found)] if isinstance(found, Fraction) else [Term(sign, (self.trees.number(node),))]

    def reciprocal(self, node: tree.Node) -> Term:
        """One over a scalar that is not 0."""
        found = v.as_scalar(self.value(node))
        if isinstance(found, Fraction):
            return Term(1 / found)
        if bool(found > 0):
            return Term(Fraction(1), (self.trees.number(self.trees.inverse(node)),))
        raise NotFormal

    def norm(self, part: tree.Node, sign: Fraction) -> Term:
        """The norm of a vector or matrix; equal up to the sign is equal."""
        return Term(sign, (), "norm", _unsigned(self.combination(part)))

    def size(self, part: tree.Node, sign: Fraction) -> Term | None:
        """``|lambda_min(A) - lambda_min(B)|`` on the lower side is at most ``norm(A - B)``; None for another size."""
        found = self.terms(part, Fraction(1))
        if any(term.kind != "lambda_min" or term.factors for term in found):
            return None
        if sorted(term.coefficient for term in found) != [-1, 1]:
            return None
        return Term(sign, (), "norm", _unsigned(_sum([_scaled(term.what, term.coefficient) for term in found])))

    def combination(self, node: tree.Node) -> Combination:
        """A vector or a matrix as a combination of parts; parts with one value are one part."""
        match node:
            case tree.Add(terms=parts):
                return _sum([self.combination(part) for part in parts])
            case tree.Negate(operand=operand):
                return _scaled(self.combination(operand), Fraction(-1))
        found = self.value(node)
        if not isinstance(found, v.Vector | v.Matrix):
            raise NotFormal
        same = next(other for other, value in self.values.items() if value is found)
        return frozenset({(same, Fraction(1))})

    # --- the relation -------------------------------------------------------------------------------------------------

    def is_nonnegative(self, terms: Iterable[Term]) -> bool:
        """Whether the sum of the terms is at least 0 (of an equality: is 0) for all values of what they name."""
        groups: dict[tuple[Any, ...], dict[tuple[str, Combination], Fraction]] = {}
        for term in terms:
            group = groups.setdefault(tuple(sorted(term.factors)), {})
            key = term.kind, term.what
            group[key] = group.get(key, Fraction(0)) + term.coefficient
        for factors, group in groups.items():
            left = {key: number for key, number in group.items() if number and (key[1] or not key[0])}
            if not left:
                continue
            if self.equal or not all(self.is_positive(factor) for factor in factors) or not _triangle(left):
                return False
        return True

    def is_positive(self, factor: int) -> bool:
        """Whether a factor is certain to be at least 0."""
        found = v.as_scalar(self.of(factor))
        return bool(found >= 0) if isinstance(found, arb) else found >= 0


def _triangle(left: dict[tuple[str, Combination], Fraction]) -> bool:
    """Whether a sum of norms, least eigenvalues and a number is at least 0 by the triangle inequality and Weyl's."""
    if left.pop(("", frozenset()), Fraction(0)) < 0:
        return False
    norms = [(what, number) for (kind, what), number in left.items() if kind == "norm"]
    values = [(what, number) for (kind, what), number in left.items() if kind == "lambda_min"]
    if values:
        if len(values) != 2 or sum(number for _, number in values) != 0:
            return False
        moved = _sum([values[0][0], _scaled(values[1][0], Fraction(-1))])
        norms.append((moved, -abs(values[0][1])))
    upper = [(what, number) for what, number in norms if number > 0]
    lower = [(what, number) for what, number in norms if number < 0]
    if not lower:
        return True
    if len(lower) > 1 or len(upper) > MOST_NORMS:
        return False
    what, number = lower[0]
    usable = [part for part, most in upper if most >= -number]
    signs = product((Fraction(0), Fraction(1), Fraction(-1)), repeat=len(usable))
    return any(_sum([_scaled(p, s) for p, s in zip(usable, chosen, strict=True)]) == what for chosen in signs)


def _times(a: Term, b: Term) -> Term:
    if a.kind and b.kind:
        raise NotFormal
    kind, what = (a.kind, a.what) if a.kind else (b.kind, b.what)
    return Term(a.coefficient * b.coefficient, (*a.factors, *b.factors), kind, what)


def _unsigned(one: Combination) -> Combination:
    """Of a combination and its negative always the same one."""
    return min(one, _scaled(one, Fraction(-1)), key=sorted)


def _scaled(one: Combination, factor: Fraction) -> Combination:
    return frozenset((part, number * factor) for part, number in one if factor)


def _sum(parts: Iterable[Combination]) -> Combination:
    found: dict[Any, Fraction] = {}
    for one in parts:
        for part, number in one:
            found[part] = found.get(part, Fraction(0)) + number
    return frozenset((part, number) for part, number in found.items() if number)
