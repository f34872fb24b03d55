"""A relation as a combination of others: ``goal = sum of (term that is not negative) * (fact)``, found, then checked.

A linear programme over the monomials proposes factors; the combination is then solved for and multiplied out in
rational numbers, and only what agrees term by term, with factors that are not negative, is a derivation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.atoms import ANY, POSITIVE
from bilevel_verify.manuscript.proofs.facts import Fact
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.manuscript.proofs.polynomials import Monomial, Polynomial

MOST_COLUMNS = 1200
MOST_STEPS = 5_000
ROUNDS = (1, 3)
MOST_SUPPORT = 60
MOST_FACTORS = 5
LARGEST_DEGREE = 8


@dataclass(frozen=True)
class Derivation:
    """The facts that were used, each with its factor."""

    used: tuple[tuple[Fact, Monomial, Fraction], ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """What was used, in order, each once."""
        return tuple(dict.fromkeys(fact.source for fact, _, _ in self.used))


class _Column(NamedTuple):
    """A fact times a term; ``free`` if it may be subtracted, too. A tuple, as many are made."""

    fact: Fact
    factor: Monomial
    value: Polynomial
    free: bool


MOST_KEPT = 100
_DERIVED: dict[object, Derivation | None] = {}
"""The last questions: what is cited is left out and put back, and of the facts that are near none need change."""


def derive(
    goal: Polynomial, facts: Sequence[Fact], forms: Forms, strict: bool = False, most: int = MOST_COLUMNS
) -> Derivation | None:
    """``goal >= 0`` (``> 0``) from facts; None where no combination of at most ``most`` columns was found."""
    if not goal and not strict:
        return Derivation(())
    held = [tuple(one.items()) for one in (goal, *(fact.value for fact in facts))]
    signs = tuple(forms.signs.get(name) for name in dict.fromkeys(n for one in held for m, _ in one for n, _ in m))
    sizes = [forms.polynomial_sign(f.value) for f in facts if strict and f.source == "a size"]  # of ranges of letters
    asked = tuple(held), tuple((f.source, f.equal, f.strict, f.cost) for f in facts), signs, strict, most, *sizes
    found = _DERIVED.get(asked, "not asked")
    if isinstance(found, str):
        if len(_DERIVED) >= MOST_KEPT:
            del _DERIVED[next(iter(_DERIVED))]
        found = _DERIVED[asked] = _derived(goal, facts, forms, strict, most)
    return found


def _derived(goal: Polynomial, facts: Sequence[Fact], forms: Forms, strict: bool, most: int) -> Derivation | None:
    before = -1
    for rounds in ROUNDS:
        columns = _columns(goal, facts, forms, rounds, most)
        if len(columns) == before:  # more rounds add columns to those of fewer
            return None
        before = len(columns)
        found = None if _signs_forbid(goal, columns, forms) else _solved(goal, columns, forms)
        if found is not None and (not strict or _is_strict(found, forms)):
            return found
    return None


class _Places:
    """Where a monomial of a fact may meet one that is wanted: by the atoms that no factor can take away."""

    def __init__(self, facts: Sequence[Fact], forms: Forms) -> None:
        self.by_atom: dict[str, list[tuple[int, Monomial, frozenset[str]]]] = {}
        for place, fact in enumerate(facts):
            for monomial in fact.value:
                kept = frozenset(n for n, _ in monomial if n[0] != "#" and forms.signs.get(n, ANY) != POSITIVE)
                names = [min(kept)] if kept else [*(n for n, _ in monomial), ""]
                for name in names:
                    self.by_atom.setdefault(name, []).append((place, monomial, kept))

    def meeting(self, target: Monomial, first: bool) -> Iterator[tuple[int, Monomial]]:
        """Facts and their monomials that may be multiplied into a target; the ``first`` need no common atom."""
        names = [n for n, _ in target]  # in their order: of a limited number of columns the first count
        atoms = frozenset(names)
        for name in (*names, "") if first else names:
            for place, monomial, kept in self.by_atom.get(name, ()):
                if kept <= atoms:
                    yield place, monomial


def _columns(goal: Polynomial, facts: Sequence[Fact], forms: Forms, rounds: int, most: int) -> list[_Column]:
    """Facts times terms, such that a monomial of the goal (or of what was made before) occurs."""
    places, wanted = _Places(facts, forms), dict.fromkeys(goal)
    made: dict[tuple[int, Monomial], _Column] = {}
    fitting: dict[Monomial, str] = {}
    for turn in range(rounds):
        fresh: dict[Monomial, None] = {}
        for target in wanted:
            for place, monomial in places.meeting(target, turn == 0):
                fact, factor = facts[place], p.ratio(target, monomial)[1]
                if (place, factor) in made:
                    continue
                if factor not in fitting:
                    fitting[factor] = _fits(factor, forms)
                if not fitting[factor] or (fitting[factor] == ANY and not fact.equal):
                    continue
                try:
                    value = p.scaled(fact.value, 1, factor)
                except p.TooLarge:
                    continue
                made[place, factor] = _Column(fact, factor, value, fact.equal)
                fresh |= dict.fromkeys(m for m in value if m not in wanted)
                if len(made) >= most:
                    return list(made.values())
        wanted = fresh
    return list(made.values())


def _fits(factor: Monomial, forms: Forms) -> str:
    """The sign of a term that a fact may be multiplied by; empty where it is not defined everywhere."""
    if len(factor) > MOST_FACTORS or sum(max(e, -e) for _, e in factor) > LARGEST_DEGREE:
        return ""
    for name, exponent in factor:
        sign = POSITIVE if name.startswith("#") else forms.signs.get(name, ANY)
        if (exponent < 0 and sign != POSITIVE) or (exponent.denominator != 1 and sign == ANY):
            return ""
    return forms.sign(factor)


def _signs_forbid(goal: Polynomial, columns: list[_Column], forms: Forms) -> bool:
    """Whether the signs of the terms alone leave no combination, so that no programme need be solved.

    A term of which all columns that are left have the same sign must have that sign in the goal; where it is not in the
    goal at all, those columns have the factor zero, and are left out of the other terms.
    """
    signs: dict[Monomial, list[int]] = {m: [0, 0] for m in goal}
    places: dict[Monomial, list[int]] = {}
    for place, column in enumerate(columns):
        for monomial, value in column.value.items():
            both = signs.setdefault(monomial, [0, 0])
            negative = value.numerator < 0
            both[negative] += 1
            both[not negative] += column.free
            places.setdefault(monomial, []).append(place)
    for monomial, both in signs.items():
        both[0] += forms.sign(monomial) != ANY  # it may be added itself
    left, asked = set(range(len(columns))), list(signs)
    while asked:
        monomial = asked.pop()
        above, below = signs[monomial]
        wanted = goal.get(monomial, 0)
        if (wanted > 0 and not above) or (wanted < 0 and not below):
            return True
        if not wanted and bool(above) != bool(below):
            for place in left.intersection(places.get(monomial, ())):
                left.discard(place)
                for other, value in columns[place].value.items():
                    signs[other][value.numerator < 0] -= 1
                    asked.append(other)
            signs[monomial] = [0, 0]
    return False


def _solved(goal: Polynomial, columns: list[_Column], forms: Forms) -> Derivation | None:
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    rows: dict[Monomial, int] = {}
    for monomial in [*goal, *(m for c in columns for m in c.value)]:
        rows.setdefault(monomial, len(rows))
    slack = [_Column(Fact({m: 1}, "a size"), p.UNIT, {m: 1}, False)
             for m in rows if forms.sign(m) != ANY]  # fmt: skip
    every = [*columns, *slack]
    if not every:
        return None
    entries = [(rows[m], j, float(v)) for j, c in enumerate(every) for m, v in c.value.items()]
    where, at, values = zip(*entries)
    matrix: Any = coo_array((values, (where, at)), shape=(len(rows), len(every))).tocsr()
    right = np.zeros(len(rows))
    for monomial, value in goal.items():
        right[rows[monomial]] = float(value)
    cost = np.array([c.fact.cost + 0.01 * len(c.factor) for c in columns] + [0.01] * len(slack))
    bounds = [(-math.inf if c.free else 0.0, math.inf) for c in every]
    found = linprog(cost * np.array([not c.free for c in every]), A_eq=matrix, b_eq=right, bounds=bounds,
                    method="highs", options={"maxiter": MOST_STEPS})  # fmt: skip
    if found.status != 0 or found.x is None:
        return None
    support = [c for c, x in zip(every, found.x) if abs(x) > 1e-9]
    if len(support) > MOST_SUPPORT:
        return None
    return _exact(goal, support)


def _exact(goal: Polynomial, support: list[_Column]) -> Derivation | None:
    """The factors of a support in rational numbers, checked term by term."""
    weights = _rational(goal, support)
    if weights is None or any(w < 0 and not c.free for w, c in zip(weights, support)):
        return None
    total: Polynomial = {}
    for weight, column in zip(weights, support):
        total = p.plus(total, column.value, weight)
    if total != goal:
        return None
    return Derivation(tuple((c.fact, c.factor, w) for w, c in zip(weights, support) if w))


def _rational(goal: Polynomial, support: list[_Column]) -> list[Fraction] | None:
    """Gauss over the rational numbers; letters that stay free are zero."""
    monomials = list(dict.fromkeys([*goal, *(m for c in support for m in c.value)]))
    rows = [[Fraction(v.get(m, 0)) for v in (*(c.value for c in support), goal)] for m in monomials]
    pivots: list[int] = []
    for column in range(len(support)):
        start = len(pivots)
        found = next((r for r in range(start, len(rows)) if rows[r][column]), None)
        if found is None:
            continue
        rows[start], rows[found] = rows[found], rows[start]
        lead = rows[start][column]
        rows[start] = [v / lead for v in rows[start]]
        for r, row in enumerate(rows):
            if r != start and row[column]:
                rows[r] = [a - row[column] * b for a, b in zip(row, rows[start])]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    weights = [Fraction(0)] * len(support)
    for place, column in enumerate(pivots):
        weights[column] = rows[place][-1]
    return weights


def _is_strict(found: Derivation, forms: Forms) -> bool:
    """Whether one of the summands is positive wherever everything is defined."""
    for fact, factor, weight in found.used:
        if fact.strict and weight > 0 and forms.sign(factor) == POSITIVE:
            return True
        if fact.source == "a size" and weight > 0 and forms.polynomial_sign(fact.value) == POSITIVE:
            return True
    return False
