"""Monomials under monomial hypotheses: after taking logarithms everything is linear, exponents with letters included.

``left <= right`` is a product of powers ``m_i >= 0`` of hypotheses ``h_i >= 1`` and a number that is at least 1. The
multipliers are found by linear programming at a sample of the letters in the exponents, written as formulas of these
letters (the system of active hypotheses solved by SymPy), and then *proved* nonnegative on the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import sympy

from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import positive
from bilevel_verify.language import tree
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

ENGINE = "monomials"
FACT_LIMIT = 60
Decide = Callable[[ScalarClaim], Decision]
ZERO, ONE = tree.Number(Fraction(0)), tree.Number(Fraction(1))


class NotMonomial(Exception):
    """A side or a hypothesis that is no product of powers of positive atoms."""


@dataclass(frozen=True)
class Monomial:
    """``number * prod atom**exponent``; the logarithm of the number is kept as a sum of exponents of primes.

    As a fact, it is at least 1, and more than 1 if ``strict``.
    """

    exponents: Mapping[tree.Node, sympy.Expr]
    strict: bool = False

    def times(self, other: Monomial, power: sympy.Expr = sympy.S.One) -> Monomial:
        """Product with a power of another monomial."""
        total = dict(self.exponents)
        for atom, exponent in other.exponents.items():
            total[atom] = sympy.cancel(total.get(atom, sympy.S.Zero) + power * exponent)
        return Monomial({a: e for a, e in total.items() if e != 0})

    def split(self) -> tuple[dict[tree.Node, sympy.Expr], dict[tree.Node, sympy.Expr]]:
        """Exponents of the atoms that vary, and of the primes."""
        numbers: dict[tree.Node, sympy.Expr] = {a: e for a, e in self.exponents.items() if isinstance(a, tree.Number)}
        return {a: e for a, e in self.exponents.items() if a not in numbers}, numbers


def by_monomials(claim: ScalarClaim, decide: Decide) -> Decision:
    """Prove a relation between two monomials from hypotheses that are relations between monomials."""
    if claim.op == "==":
        return _undecided("an equality")
    small, big = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    letters = _exponent_letters(claim)
    try:
        reader = _Reader(claim, letters)
        goal = reader.monomial(big).times(reader.monomial(small), sympy.S.NegativeOne)
        facts = list(reader.facts(goal))
    except NotMonomial as reason:
        return _undecided(str(reason))
    return _combine(claim, goal, facts[:FACT_LIMIT], letters, decide)


def _combine(
    claim: ScalarClaim, goal: Monomial, facts: list[Monomial], letters: tuple[str, ...], decide: Decide
) -> Decision:
    for sample in _samples(claim, letters):
        active = active_facts(goal, facts, sample)
        if active is None:
            continue
        powers = powers_of(goal, [facts[i] for i in active])
        if powers is None:
            continue
        rest = goal
        for place, power in zip(active, powers):
            rest = rest.times(facts[place], -power)
        varying, primes = rest.split()
        if varying:
            continue
        signs = all(_sign(power, "<=", claim, letters, decide) for power in powers)
        strict = claim.op in ("<", ">") and not any(
            facts[place].strict and _sign(power, "<", claim, letters, decide) for place, power in zip(active, powers)
        )
        if signs and _number_is_enough(primes, claim, letters, strict, decide):
            shown = ", ".join(str(p) for p in powers if p != 0) or "none"
            return Decision("proved", ENGINE, f"a product of {len(active)} hypotheses with the powers {shown}")
    return _undecided("no combination of the hypotheses gives it")


def _undecided(reason: str) -> Decision:
    return Decision("undecided", ENGINE, reason)


def _exponent_letters(claim: ScalarClaim) -> tuple[str, ...]:
    names: set[str] = set()
    for node in (claim.left, claim.right, *claim.conditions()):
        for part in node.walk():
            if isinstance(part, tree.Power):
                names |= free_letters(part.exponent) - NUMBERS
    return tuple(sorted(names & set(claim.domains)))


class _Reader:
    """Trees to monomials; sums and differences that are known to be positive become atoms."""

    def __init__(self, claim: ScalarClaim, letters: tuple[str, ...]) -> None:
        self.claim = claim
        self.symbols = {n: sympy.Symbol(n, positive=True) for n in letters}
        self.atoms: set[tree.Node] = set()

    def monomial(self, node: tree.Node) -> Monomial:
        match node:
            case tree.Number(value=value):
                return _of_number(value)
            case tree.Multiply(factors=factors):
                total = Monomial({})
                for factor in factors:
                    total = total.times(self.monomial(factor))
                return total
            case tree.Divide(numerator=top, denominator=bottom):
                return self.monomial(top).times(self.monomial(bottom), sympy.S.NegativeOne)
            case tree.Power(base=base, exponent=exponent):
                return Monomial({}).times(self.monomial(base), self.exponent(exponent))
            case tree.Call(function="sqrt", arguments=(inner,)):
                return Monomial({}).times(self.monomial(inner), sympy.Rational(1, 2))
            case tree.Letter() | tree.Add() | tree.Call():
                return self.atom(node)
        raise NotMonomial(f"{type(node).__name__} is no monomial")

    def atom(self, node: tree.Node) -> Monomial:
        if isinstance(node, tree.Letter) and node.name in self.symbols:
            raise NotMonomial("a letter of an exponent occurs as a factor")
        if not positive(node, self.claim.domains):
            raise NotMonomial("a factor that is not plainly positive")
        self.atoms.add(node)
        return Monomial({node: sympy.S.One})

    def exponent(self, node: tree.Node) -> sympy.Expr:
        match node:
            case tree.Number(value=value):
                return sympy.Rational(value.numerator, value.denominator)
            case tree.Letter(name=name) if name in self.symbols:
                return self.symbols[name]
            case tree.Add(terms=terms):
                return sympy.Add(*[self.exponent(t) for t in terms])
            case tree.Multiply(factors=factors):
                return sympy.Mul(*[self.exponent(f) for f in factors])
            case tree.Divide(numerator=top, denominator=bottom):
                return self.exponent(top) / self.exponent(bottom)
            case tree.Negate(operand=operand):
                return -self.exponent(operand)
        raise NotMonomial("an exponent that is no rational function of letters")

    def facts(self, goal: Monomial) -> Iterator[Monomial]:
        """Monomials that are at least 1: hypotheses, ends of ranges, and what holds between a sum and its terms."""
        for condition in self.claim.conditions():
            if isinstance(condition, tree.Compare):
                yield from self.relation(condition)
        for atom in list(self.atoms):
            if isinstance(atom, tree.Add):
                yield from self.of_sum(atom)

    def relation(self, condition: tree.Compare) -> Iterator[Monomial]:
        for one, op, other in condition.links():
            try:
                ratio = self.monomial(other).times(self.monomial(one), sympy.S.NegativeOne)
            except NotMonomial:
                continue
            if op in ("<=", "<", "=="):
                yield replace(ratio, strict=op == "<")
            if op in (">=", ">", "=="):
                yield replace(Monomial({}).times(ratio, sympy.S.NegativeOne), strict=op == ">")

    def of_sum(self, atom: tree.Add) -> Iterator[Monomial]:
        whole = Monomial({atom: sympy.S.One})
        if all(positive(t, self.claim.domains) for t in atom.terms):
            for term in atom.terms:
                try:
                    yield whole.times(self.monomial(term), sympy.S.NegativeOne)
                except NotMonomial:
                    continue
        form = linear_form(atom)
        if form is None or len(form[1]) != 1 or not form[0]:
            return
        name, slope = next(iter(form[1].items()))
        domain = self.claim.domains.get(name)
        low = None if domain is None or domain.lower is None else linear_form(domain.lower.tree)
        if slope <= 0 or low is None or low[1] or low[0] <= 0:
            return
        letter = Monomial({tree.Letter(name): sympy.S.One})
        end = slope + form[0] / low[0]  # slope*t + c lies between slope*t and (slope + c/low)*t
        if form[0] > 0:
            yield _of_number(end).times(letter).times(whole, sympy.S.NegativeOne)
            return
        if end > 0:
            yield whole.times(_of_number(end).times(letter), sympy.S.NegativeOne)
        yield _of_number(slope).times(letter).times(whole, sympy.S.NegativeOne)


def _of_number(value: Fraction) -> Monomial:
    if value <= 0:
        raise NotMonomial("a number that is not positive")
    below = {p: -e for p, e in _primes(value.denominator).items()}
    factors = _primes(value.numerator) | below
    return Monomial({tree.Number(Fraction(int(p))): sympy.Integer(e) for p, e in factors.items()})


def _primes(number: int) -> dict[int, int]:
    """Prime -> exponent; what has only large factors may stay whole."""
    return dict(sympy.factorint(number, limit=10**6))


def _samples(claim: ScalarClaim, letters: tuple[str, ...]) -> Iterator[dict[str, sympy.Rational]]:
    axes = []
    for name in letters:
        low, high = _span(claim, name)
        axes.append([low + (high - low) * sympy.Rational(k, 7) for k in (3, 5, 1)])
    for choice in list(product(*axes))[:9]:
        yield dict(zip(letters, choice))


def _span(claim: ScalarClaim, name: str) -> tuple[sympy.Rational, sympy.Rational]:
    ends: list[sympy.Rational] = []
    domain = claim.domains[name]
    for end, default in ((domain.lower, Fraction(0)), (domain.upper, None)):
        form = None if end is None else linear_form(end.tree)
        value = form[0] if form is not None and not form[1] else default
        ends.append(ends[0] + 1 if value is None else sympy.Rational(value.numerator, value.denominator))
    return ends[0], ends[1]


def active_facts(goal: Monomial, facts: list[Monomial], sample: Mapping[str, sympy.Rational]) -> list[int] | None:
    """Hypotheses with positive multipliers at a sample of the exponents (a vertex of the linear programme)."""
    import numpy as np
    from scipy.optimize import linprog

    put = {sympy.Symbol(n, positive=True): v for n, v in sample.items()}

    def numbers(m: Monomial) -> tuple[dict[tree.Node, float], float]:
        varying, primes = m.split()
        logs = 0.0
        for prime, e in primes.items():
            assert isinstance(prime, tree.Number)
            logs += float(e.subs(put)) * math.log(prime.value)
        return {a: float(e.subs(put)) for a, e in varying.items()}, logs

    try:
        target, _ = numbers(goal)
        rows = [numbers(f) for f in facts]
    except (TypeError, ZeroDivisionError, OverflowError):
        return None
    atoms = list(dict.fromkeys([*target, *(a for row, _ in rows for a in row)]))
    if not rows:
        return [] if not target else None
    matrix = np.array([[row.get(a, 0.0) for row, _ in rows] for a in atoms])
    right = np.array([target.get(a, 0.0) for a in atoms])
    if not atoms:
        return []
    solved = linprog(np.array([log for _, log in rows]) + 1e-6, A_eq=matrix, b_eq=right, method="highs-ds")
    if solved.status != 0:
        return None
    return [i for i, value in enumerate(np.asarray(solved.x)) if value > 1e-9]


def powers_of(goal: Monomial, facts: list[Monomial]) -> list[sympy.Expr] | None:
    """Multipliers as formulas: the linear system of the active hypotheses, for all values of the exponents."""
    target, _ = goal.split()
    rows = [f.split()[0] for f in facts]
    atoms = list(dict.fromkeys([*target, *(a for row in rows for a in row)]))
    if not rows:
        return [] if not target else None
    unknown = sympy.symbols(f"m0:{len(rows)}")
    equations = [
        sum((row.get(a, sympy.S.Zero) * m for row, m in zip(rows, unknown)), sympy.S.Zero) - target.get(a, sympy.S.Zero)
        for a in atoms
    ]
    solved = sympy.linsolve(equations, *unknown)
    if not solved:
        return None
    values = [sympy.cancel(v) for v in next(iter(solved))]
    return None if any(v.free_symbols & set(unknown) for v in values) else values


def _sign(power: sympy.Expr, op: str, claim: ScalarClaim, letters: tuple[str, ...], decide: Decide) -> bool:
    """Whether ``0 op power`` for all exponents of the range."""
    if power.is_Rational:
        return bool(power >= 0 if op == "<=" else power > 0)
    domains = {n: claim.domains[n] for n in letters}
    below = to_tree(sympy.fraction(sympy.factor(sympy.together(power)))[1])
    ends = (ScalarClaim(ZERO, "<", below, domains), ScalarClaim(below, "<", ZERO, domains))
    if not any(decide(end).outcome == "proved" for end in ends):  # the power must be a number on the whole range
        return False
    return decide(ScalarClaim(ZERO, op, to_tree(sympy.factor(power)), domains)).outcome == "proved"


def _number_is_enough(
    primes: Mapping[tree.Node, sympy.Expr], claim: ScalarClaim, letters: tuple[str, ...], strict: bool, decide: Decide
) -> bool:
    """Whether the number that is left over is at least 1 for all exponents of the range (more than 1 if strict)."""
    if not primes:
        return not strict
    factors = tuple(tree.Power(prime, to_tree(exponent)) for prime, exponent in primes.items())
    number = factors[0] if len(factors) == 1 else tree.Multiply(factors)
    domains = {n: claim.domains[n] for n in letters}
    part = ScalarClaim(ONE, "<" if strict else "<=", number, domains)
    return decide(part).outcome == "proved"
