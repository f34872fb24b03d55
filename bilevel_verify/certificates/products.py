"""Positivity by products of facts: ``multiplier * element = sum c * monomial * product of facts``, by linear programs.

Handelman's form over the checker's ring. Columns are generated from the support of what is to be written: a fact
is moved by the monomials that bring one of its terms onto a monomial that is there. Floats find the columns, fractions
the coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import floor
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from bilevel_check.context import Context
from bilevel_check.ring import ONE, Exponent, Monomial, Poly, added, number, power_of, power_of_one, reduced
from bilevel_check.terms import work
from bilevel_verify.certificates.draft import written

if TYPE_CHECKING:
    from bilevel_check.ring import Atom

COLUMNS, SUPPORT, FACTORS = 1500, 500, 14
Facts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A term that may be used, ``cofactor * square**2 * product of facts``, written out; ``free`` of sign or not."""

    element: Poly
    cofactor: Poly
    facts: Facts
    free: bool
    strict: bool
    scale: Poly
    square: Poly | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A product of facts, written out."""

    element: Poly
    places: Facts
    equal: bool
    strict: bool
    scale: Poly

    @property
    def sinks(self) -> list[Monomial]:
        """Monomials that it can make up for."""
        return [m for m, c in self.element.terms.items() if c < 0 or self.equal]


def expanded(p: Poly) -> Poly:
    """Compounds with exponents of at least 1 multiplied out, as far as whole."""
    total = number(0)
    for m, c in p.terms.items():
        part = Poly({ONE: c})
        for a, e in m:
            whole = floor(e) if isinstance(e, Fraction) else 0
            if a.kind == "compound" and whole >= 1:
                part = part * a.args[0].to_the(whole) * power_of(a, added(e, Fraction(-whole)))
            else:
                part = part * power_of(a, e)
        total = total + part
    total = reduced(total)
    return total if total == p else expanded(total)


def cleared(at: Context, p: Poly) -> tuple[Poly, Poly]:
    """``(multiplier, multiplier * p)`` with a positive multiplier that removes compound denominators."""
    multiplier = number(1)
    for _ in range(8):
        worst: dict[Any, Fraction] = {}
        for m in p.terms:
            for a, e in m:
                if isinstance(e, Fraction) and e < 0 and (a.kind == "compound" or at.known(-power_of_one(a), ">")):
                    worst[a] = min(worst.get(a, Fraction(0)), e)
        if not worst:
            break
        for a, e in worst.items():
            whole = -floor(e)
            if not at.atom(a, ">"):
                whole += whole % 2
            factor = (a.args[0] if a.kind == "compound" else power_of_one(a)).to_the(whole)
            multiplier = multiplier * factor
            p = Poly({}) + _moved(p, a, Fraction(whole))
        p = expanded(p)
    return multiplier, expanded(p)


def _moved(p: Poly, a: Atom, exponent: Fraction) -> Poly:
    total = number(0)
    for m, c in p.terms.items():
        held = dict(m)
        e = added(held.pop(a, Fraction(0)), exponent)
        total = total + Poly({frozenset(held.items()): c}) * power_of(a, e)
    return total


_LEGAL: WeakKeyDictionary[Context, dict[Any, tuple[bool, int]]] = WeakKeyDictionary()
"""What was legal in a context, for how many signs it knew then, and the work of seeing it."""


def legal(at: Context, m: Monomial, signed: bool) -> bool:
    """Whether a monomial is defined, and not negative unless ``signed``; asked again, it costs the same work."""
    seen, key, before = _LEGAL.setdefault(at, {}), (m, signed, len(at.signs), at.absurd), work.left
    if key in seen:
        work.spend(seen[key][1])
    else:
        seen[key] = _legal(at, m, signed), before - work.left
    return seen[key][0]


def _legal(at: Context, m: Monomial, signed: bool) -> bool:
    for a, e in m:
        if at.atom(a, ">"):
            continue
        if isinstance(e, Poly):
            if not (at.atom(a, ">=") and at.known(e, ">=")):
                return False
            continue
        if e < 0 or (e.denominator > 1 and not at.atom(a, ">=")):
            return False
        if not signed and not at.atom(a, ">=") and e % 2:
            return False
    return True


def quotient(m: Monomial, n: Monomial) -> Monomial:
    """``m / n``; primes keep whatever exponents come out."""
    found = dict(m)
    for a, e in n:
        total = added(found.pop(a, Fraction(0)), -e)
        if total != 0:
            found[a] = total
    return frozenset(found.items())


def products(at: Context, degree: int, chosen: Iterable[int]) -> Iterator[Fact]:
    """Products of facts of one degree, without those that are plain anyway."""
    useful = []
    for place in chosen:
        element, op = at.facts[place]
        if op == "!=" or not element.terms:
            continue
        if op != "==" and len(element.terms) == 1 and at.monomial(next(iter(element.terms))):
            continue
        content, rest = at.split(element)
        factor, clear = cleared(at, expanded(rest))
        outside = at.power(content, number(-1))
        for form, scale in {clear: outside * factor, expanded(element): number(1)}.items():
            useful.append(Fact(form, (place,), op == "==", op == ">", scale))
    if degree > 1:
        useful = [one for one in useful if len(one.element.terms) <= 6][: FACTORS if degree == 2 else FACTORS // 2]
    for group in combinations_with_replacement(useful, degree):
        if degree > 1 and any(one.equal for one in group):
            continue
        total = scale = number(1)
        for one in group:
            total, scale = total * one.element, scale * one.scale
        places = tuple(place for one in group for place in one.places)
        yield Fact(expanded(total), places, group[0].equal, all(one.strict for one in group), scale)


def columns(at: Context, target: Poly, facts: list[Fact], rounds: int) -> list[Column]:
    """Columns whose negative terms meet a demand, round by round: what is negative in the target, then what they add.

    A certificate needs no others: at a monomial that is never demanded nothing has to be made up for.
    """
    demand = [m for m, c in target.terms.items() if c < 0 or not legal(at, m, False)] or list(target.terms)
    seen, found = dict.fromkeys(demand), dict[tuple[Monomial, Poly], Column]()
    for _ in range(rounds):
        grown: dict[Monomial, None] = {}
        for fact in facts:
            both = dict.fromkeys((*fact.sinks, *fact.element.terms))
            shifts = {quotient(t, m): None for t in demand for m in (fact.sinks if legal(at, t, False) else both)}
            for shift in shifts:
                key = (shift, fact.element)
                if key in found or len(found) > COLUMNS or not legal(at, shift, fact.equal):
                    continue
                cofactor = _monomial(shift)
                element = expanded(cofactor * fact.element)
                strict = fact.strict and at.known(cofactor, ">")
                found[key] = Column(element, cofactor, fact.places, fact.equal, strict, fact.scale)
                for m, c in element.terms.items():
                    if (c > 0 or fact.equal or not legal(at, m, False)) and m not in seen:
                        grown[m] = None
        demand = list(grown)
        seen |= grown
        if not demand or len(seen) > SUPPORT:
            break
    return list(found.values())


def monomials(at: Context, found: Iterable[Poly]) -> Iterator[Column]:
    """What is left over: monomials that are not negative."""
    for m in dict.fromkeys(m for p in found for m in p.terms):
        if legal(at, m, False):
            element = Poly({m: Fraction(1)})
            yield Column(element, element, (), False, at.monomial(m) == ">", number(1))


def squares(at: Context, target: Poly) -> Iterator[Column]:
    """Squares of binomials whose mixed term is a negative or a signed term of the target."""
    halves = {}
    for m, c in target.terms.items():
        if c > 0 and legal(at, m, False):
            root = frozenset((a, e / 2) for a, e in m if isinstance(e, Fraction))
            if len(root) == len(m) and legal(at, root, True):
                halves[root] = c
    for one in halves:
        for other in halves:
            mixed: dict[Any, Exponent] = {}
            for a, e in (*one, *other):
                mixed[a] = added(mixed.get(a, Fraction(0)), e)
            middle = frozenset((a, e) for a, e in mixed.items() if e != 0)
            b = target.terms.get(middle)
            if one == other or b is None:
                continue
            first, second = _monomial(one), _monomial(other)
            ratios = {b / (2 * halves[one]), -_root(halves[other] / halves[one]), _root(halves[other] / halves[one])}
            ratios |= {Fraction(1), Fraction(-1), 2 * halves[other] / b}
            for t in ratios:
                if t:
                    whole = first + second * number(t)
                    yield Column(expanded(whole * whole), number(1), (), False, False, number(1), whole)


def means(at: Context, target: Poly, more: bool = False) -> Iterator[Column]:
    """``s (m1 - t m2)**2`` with a negative monomial in the middle, t where what surrounds it touches it.

    ``more`` tries t = 1/2 and 2 as well.
    """
    simple = {Fraction(1), Fraction(1, 2), Fraction(2)} if more else {Fraction(1)}
    falls = [m for m, c in target.terms.items() if c < 0][:12]
    rises = [m for m, c in target.terms.items() if c > 0][:20]
    shapes: dict[tuple[Monomial, Monomial, Fraction], None] = {}
    for n in falls:
        for one in rises:
            for part in (1, 2):
                ratio = quotient(one, n)
                first = frozenset((a, e / part) for a, e in ratio if isinstance(e, Fraction) and e > 0)
                second = frozenset((a, -e / part) for a, e in ratio if isinstance(e, Fraction) and e < 0)
                shapes |= {(first, second, t): None for t in {*simple, *_touching(target, n, one, rises, part)} if t}
    seen: set[Poly] = set()
    for _ in range(2):  # the same squares again for what the first ones add
        fresh: list[Monomial] = []
        for n in falls:
            for shape in shapes:
                found = _mean(at, n, *shape)
                if found is not None and found.element not in seen and len(seen) < 300:
                    seen.add(found.element)
                    fresh += [m for m, c in found.element.terms.items() if c > 0 and m not in target.terms]
                    yield found
        falls = list(dict.fromkeys(fresh))[:12]


def _touching(target: Poly, n: Monomial, one: Monomial, rises: list[Monomial], part: int) -> set[Fraction]:
    """Ratios m1/m2 at which ``p z + q z**-k`` is least, for the terms on the other side of n on one line with it."""
    ratio, found = quotient(one, n), set[Fraction]()
    up = {a: e for a, e in ratio if isinstance(e, Fraction)}
    if not up or len(up) < len(ratio):
        return set()
    for other in rises:
        down = dict(quotient(other, n))
        a, e = next(iter(up.items()))
        fall = down.get(a)
        k = -fall / e if isinstance(fall, Fraction) else Fraction(0)
        if k > 0 and down == {b: -k * f for b, f in up.items()}:
            least = (float(k * target.terms[other] / target.terms[one])) ** (1 / (1 + float(k)))
            found.add(Fraction(least ** (1 / part)).limit_denominator(1000))
    return found


def _mean(at: Context, n: Monomial, first: Monomial, second: Monomial, t: Fraction) -> Column | None:
    """The square ``s (first - t second)**2`` with ``s first second = n``."""
    shift = quotient(quotient(n, first), second)
    if not legal(at, shift, False) or not (legal(at, first, True) and legal(at, second, True)):
        return None
    root, cofactor = _monomial(first) - number(t) * _monomial(second), _monomial(shift)
    return Column(expanded(cofactor * root * root), cofactor, (), False, False, number(1), root)


def _monomial(m: Monomial) -> Poly:
    total = number(1)
    for a, e in m:
        total = total * power_of(a, e)
    return total


def _root(value: Fraction) -> Fraction:
    return Fraction(float(value) ** 0.5).limit_denominator(64)


def _demanding(target: Poly, found: list[Column]) -> Poly:
    """The target with what the columns found so far add and the target does not have, as terms to be made up for."""
    added_terms = {m: Fraction(-1) for c in found for m, value in c.element.terms.items() if value > 0}
    return Poly({**added_terms, **target.terms})


def certificate(
    at: Context, element: Poly, op: str, degree: int, rounds: int, more: bool = False
) -> tuple[object, object] | None:
    """``(parts, multiplier)`` of an identity line that shows ``element op 0``; None if the programme finds none.

    ``more`` looks for squares that facts call for, and for facts that squares call for.
    """
    multiplier, target = cleared(at, expanded(element))
    facts = [f for d in range(1, degree + 1) for f in products(at, d, range(len(at.facts)))]
    if op == "==":
        facts = [f for f in facts if f.equal]
    found = [c for c in columns(at, target, facts, rounds) if op != "==" or c.free]
    if op != "==":
        roots = [*squares(at, target), *means(at, _demanding(target, found) if more else target, more)]
        found += [*roots, *(columns(at, _demanding(Poly({}), roots), facts, 1) if more else ())]
        found += monomials(at, [target, *(c.element for c in found)])
    solution = solved(target, found, op == ">")
    if solution is None:
        return None
    parts = []
    for column, weight in solution:
        square = [] if column.square is None else [written(column.square)]
        parts.append([written(column.cofactor * column.scale * number(weight)), list(column.facts), square])
    return parts, written(multiplier)


def solved(target: Poly, found: list[Column], strict: bool) -> list[tuple[Column, Fraction]] | None:
    """Nonnegative weights with ``sum weight * column = target``: floats, then exactly on the columns they chose."""
    if not target.terms:
        return [] if not strict else None
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    if not found:
        return None
    named = dict.fromkeys(m for p in (target, *(c.element for c in found)) for m in p.terms)
    rows = {m: i for i, m in enumerate(named)}
    scale = max(abs(float(c)) for c in target.terms.values())
    entries = [(rows[m], j, float(c)) for j, column in enumerate(found) for m, c in column.element.terms.items()]
    at_row, at_column, values = zip(*entries)
    size = np.zeros(len(found))
    np.maximum.at(size, np.array(at_column), np.abs(values))
    where = (np.array(at_row), np.array(at_column))
    matrix = coo_matrix((np.array(values) / size[where[1]], where), (len(rows), len(found)))
    right = np.zeros(len(rows))
    right[[rows[m] for m in target.terms]] = [float(c) / scale for c in target.terms.values()]
    equations: Any = matrix.tocsr()
    cost = np.array([0.0 if c.free else 1.0 + 2 * len(c.facts) + 0.1 * len(c.element.terms) for c in found])
    bounds: list[tuple[float | None, float | None]] = [(None, None) if c.free else (0, None) for c in found]
    for least in (1e-2, 1e-5, 0.0) if strict else (0.0,):
        most, limit = np.array([[-1.0 if c.strict and least else 0.0 for c in found]]), np.array([-least])
        answer = linprog(cost, most, limit, equations, right, bounds, method="highs-ds")
        if answer.status != 0 or answer.x is None:
            continue
        chosen = [c for c, x in zip(found, answer.x) if abs(x) > 1e-9]
        exact = solved_exactly(target, chosen)
        if exact is not None and (not strict or any(c.strict and w > 0 for c, w in exact)):
            return exact
    return None


def solved_exactly(target: Poly, chosen: list[Column]) -> list[tuple[Column, Fraction]] | None:
    """The rational solution on independent columns; None if there is none or a weight is negative."""
    rows: dict[Monomial, dict[int, Fraction]] = {m: {-1: c} for m, c in target.terms.items()}
    for j, column in enumerate(chosen):
        for m, c in column.element.terms.items():
            rows.setdefault(m, {})[j] = c
    done: list[tuple[int, dict[int, Fraction]]] = []
    for row in rows.values():
        for pivot, other in done:
            factor = row.pop(pivot, None)
            if factor:
                for j, c in other.items():
                    row[j] = row.get(j, Fraction(0)) - factor * c
        row = {j: c for j, c in row.items() if c}
        place = next((j for j in row if j >= 0), None)
        if place is None:
            if row:
                return None
            continue
        lead = row.pop(place)
        row = {j: c / lead for j, c in row.items()}
        for k, (p, other) in enumerate(done):
            factor = other.pop(place, None)
            if factor:
                for j, c in row.items():
                    other[j] = other.get(j, Fraction(0)) - factor * c
                done[k] = (p, {j: c for j, c in other.items() if c})
        done.append((place, row))
    weights = {pivot: row.get(-1, Fraction(0)) for pivot, row in done}
    found = [(chosen[j], w) for j, w in weights.items() if w]
    return None if any(w < 0 and not column.free for column, w in found) else found
