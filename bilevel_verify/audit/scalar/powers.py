"""Sums of products of powers: one normal form for sides whose exponents may hold letters.

``(x*y)**e`` is split into ``x**e * y**e`` only where that is right: both bases positive, or both nonnegative with an
exponent that is nonnegative on the range (``0**0`` is 1), or an integer exponent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic, symbol_of, to_sympy
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.signs import nonnegative, positive
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.vocabulary import NUMBERS

TERMS = 24
SECOND = 500
ZERO, ONE = tree.Number(Fraction(0)), tree.Number(Fraction(1))


@dataclass(frozen=True, slots=True)
class Term:
    """A rational number times powers: base -> exponent (SymPy, rational in the letters)."""

    number: Fraction
    powers: Mapping[tree.Node, sympy.Expr] = field(default_factory=dict)

    def __mul__(self, other: Term) -> Term:
        powers = dict(self.powers)
        for base, exponent in other.powers.items():
            total = sympy.together(powers.pop(base, sympy.Integer(0)) + exponent)
            if sympy.expand(sympy.numer(total)) != 0:
                powers[base] = total
        return Term(self.number * other.number, powers)

    def raised(self, exponent: sympy.Expr) -> Term:
        """The powers times an exponent; a number other than 1 becomes a base. Rightness is the caller's business."""
        if self.number == 0:
            raise NotAlgebraic("a power of 0")
        powers = {base: sympy.together(power * exponent) for base, power in self.powers.items()}
        if exponent.is_Integer and abs(int(exponent)) <= 64:
            return Term(self.number ** int(exponent), powers)
        if self.number < 0:
            raise NotAlgebraic("a real power of a negative number")
        start = Term(Fraction(1), powers)
        return start if self.number == 1 else start * Term(Fraction(1), {tree.Number(self.number): exponent})

    def key(self) -> frozenset[tuple[tree.Node, sympy.Expr]]:
        """What two terms that can be added have in common."""
        return frozenset((base, sympy.expand(sympy.cancel(power))) for base, power in self.powers.items())

    def tree(self) -> tree.Node:
        """The term in the card language."""
        factors = [] if self.number == 1 else [tree.signed(self.number)]
        for base, power in self.powers.items():
            factors.append(base if power == 1 else tree.Power(base, to_tree(sympy.factor(power))))
        return ONE if not factors else factors[0] if len(factors) == 1 else tree.Multiply(tuple(factors))


def terms_of(node: tree.Node, claim: ScalarClaim) -> list[Term]:
    """A side as a sum of terms.

    Raises
    ------
    NotAlgebraic : too many terms, or a power that may not be split.
    """
    match node:
        case tree.Number(value=value):
            return [Term(value)]
        case tree.Add(terms=parts):
            return _few([term for part in parts for term in terms_of(part, claim)])
        case tree.Negate(operand=operand):
            return [Term(-term.number, term.powers) for term in terms_of(operand, claim)]
        case tree.Multiply(factors=factors):
            product = [Term(Fraction(1))]
            for factor in factors:
                product = _few([one * other for one in product for other in terms_of(factor, claim)])
            return product
        case tree.Divide(numerator=top, denominator=bottom):
            below = _power(bottom, sympy.Integer(-1), claim)
            return [term * below for term in terms_of(top, claim)]
        case tree.Power(base=base, exponent=exponent):
            return [_power(base, to_sympy(exponent, claim), claim)]
        case tree.Call(function="sqrt", arguments=(inner,)):
            return [_power(inner, sympy.Rational(1, 2), claim)]
    if isinstance(node, tree.Call) and binder(node) is not None:
        raise NotAlgebraic("a sum or product over a range")
    return [Term(Fraction(1), {node: sympy.Integer(1)})]


def collected(claim: ScalarClaim) -> tuple[list[Term], list[Term]]:
    """The relation as two sums of positive numbers times powers, nothing in common: the small one, the large one."""
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<", "==") else (claim.right, claim.left)
    totals: dict[frozenset[tuple[tree.Node, sympy.Expr]], Term] = {}
    signed = [(term, 1) for term in terms_of(high, claim)] + [(term, -1) for term in terms_of(low, claim)]
    for term, sign in signed:
        key = term.key()
        before = totals.get(key, Term(Fraction(0), term.powers))
        totals[key] = Term(before.number + sign * term.number, before.powers)
    small = [Term(-t.number, t.powers) for t in totals.values() if t.number < 0]
    return small, [t for t in totals.values() if t.number > 0]


def total(terms: list[Term]) -> tree.Node:
    """A sum of terms as a tree."""
    parts = tuple(term.tree() for term in terms)
    return ZERO if not parts else parts[0] if len(parts) == 1 else tree.Add(parts)


def surely(node: tree.Node, claim: ScalarClaim, strict: bool = True) -> bool:
    """Whether a tree is positive (nonnegative) on the range: plainly, or by the SMT solver."""
    if (positive if strict else nonnegative)(node, claim.domains):
        return True
    part = ScalarClaim(ZERO, "<" if strict else "<=", node, claim.domains, claim.where)
    return by_smt(part, SECOND).outcome == "proved"


def _few(terms: list[Term]) -> list[Term]:
    if len(terms) > TERMS:
        raise NotAlgebraic("too many terms")
    return terms


def _power(base: tree.Node, exponent: sympy.Expr, claim: ScalarClaim) -> Term:
    """``base**exponent`` as one term; a base of several terms stays whole."""
    parts = terms_of(base, claim)
    if len(parts) != 1:
        return Term(Fraction(1), {base: exponent})
    (part,) = parts
    whole = bool(exponent.is_Integer) and all(power.is_Integer for power in part.powers.values())
    if whole or all(surely(b, claim) for b in part.powers if not isinstance(b, tree.Number)):
        return part.raised(exponent)
    right = _nonnegative(exponent, claim) and all(_nonnegative(power, claim) for power in part.powers.values())
    if right and all(surely(b, claim, strict=False) for b in part.powers):
        return part.raised(exponent)
    raise NotAlgebraic("a power that may not be split")


def _nonnegative(exponent: sympy.Expr, claim: ScalarClaim) -> bool:
    if exponent.is_Rational:
        return bool(exponent >= 0)
    return surely(to_tree(exponent), claim, strict=False)


def symbols(claim: ScalarClaim) -> dict[str, sympy.Symbol]:
    """Letter -> its symbol in exponents."""
    return {name: symbol_of(name, claim) for name in claim.domains if name not in NUMBERS}
