"""Logarithms that may come near 0 or below: they are bounded where their argument is, but not away from 0.

``1/log(1 + ell)`` is no ``O(1)`` where ell falls to 0, and neither is ``1`` an ``O(log(1 + ell))`` or an
``O(log(1/eps))`` at eps = 1. So nothing is proved by a logarithm below the line of the smaller side, or in the larger
side, unless its argument stays away from 1. Where only the logarithm of a product of powers that the regime lets grow
stands in the way (``log(1/eps)``, ``log(kappa)``), the exception names it: the order holds where it is at least 1,
which is a hypothesis that the paper has to print.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import sympy

from bilevel_verify.audit.orders.growth import ONE, Growth, compare, growth_of, log_argument
from bilevel_verify.audit.orders.monomials import Monomial, NearZero, NoOrder, Regime
from bilevel_verify.audit.orders.products import with_logarithms_apart
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.card_parts import Domain

AWAY = Fraction(17, 16)
"""Arguments above this are away from 1."""
EFFORT = 2.0


@dataclass
class Logarithms:
    """The logarithms of one comparison, and the ranges of all letters, those of the conditions included."""

    regime: Regime
    domains: Mapping[str, Domain]
    _above: dict[tuple[tree.Node, Fraction], bool] = field(default_factory=dict)

    def above(self, argument: tree.Node, least: Fraction) -> bool:
        """Whether an argument is at least a number wherever the hypotheses hold."""
        if (argument, least) not in self._above:
            claim = ScalarClaim(argument, ">=", tree.Number(least), self.domains, self.regime.conditions)
            self._above[argument, least] = decide(claim, effort=EFFORT).outcome == "proved"
        return self._above[argument, least]

    def large(self, argument: tree.Node) -> bool:
        """Whether an argument is a product of powers that the regime lets grow."""
        try:
            size = growth_of(argument, self.regime.exponents)
            return size.monomial is not None and compare(size, ONE, self.regime) is not None
        except NoOrder:
            return False

    def nonnegative(self, bound: Growth) -> None:
        """See that a bound is not negative anywhere: its logarithms are not, or it is one even power of them.

        Raises
        ------
        NoOrder : it may be.
        """
        if bound.monomial is not None and all(p.is_even for p in bound.monomial.taken.values()):
            return
        arguments = dict.fromkeys(a for m in bound.monomials for a in m.taken)
        self._unless_large("may be negative", [a for a in arguments if not self.above(a, Fraction(1))])

    def counted_once(self, left: Growth) -> None:
        """See that logarithms of unknown size, which may fall unseen, are not multiplied by what may be negative too.

        Raises
        ------
        NoOrder : they are.
        """
        for m in left.monomials:
            unseen = [a for a in m.taken if log_argument(a, self.regime.exponents).vague]
            if unseen and (len(m.taken) > 1 or any(p != 1 for p in m.taken.values())):
                self._unless_large("may be negative", [a for a in unseen if not self.above(a, Fraction(1))])

    def support(self, left: Growth, right: Growth, smaller: tree.Node | None = None) -> None:
        """See that ``left = O(right)`` rests on no logarithm that may come near 0.

        Parameters
        ----------
        smaller : what ``left`` is the growth of: the logarithms of products in it may be taken apart.

        Raises
        ------
        NoOrder : it does.
        """
        weak = list(dict.fromkeys(self._vanishing(left.monomials, right.monomials)))
        if not weak:
            return
        kept = tuple(c for c in right.clauses if not any(self._small(m) for m in c))
        apart = kept and not any(self._vanishing(left.monomials, Growth(kept).monomials))
        if apart and compare(left, Growth(kept), self.regime) is None:
            return
        if smaller is None or not self._term_by_term(smaller, right):
            self._unless_large("may come near 0, so that nothing follows from what it multiplies or divides", weak)

    def _term_by_term(self, smaller: tree.Node, right: Growth) -> bool:
        """Whether each part of a sum is below one part of the larger side, with no logarithm that vanishes."""
        spans = self.regime.exponents
        try:
            left = growth_of(with_logarithms_apart(smaller, spans), spans)
            return all(any(self._below(one, other) for other in right.clauses) for one in left.clauses)
        except NoOrder:
            return False

    def _below(self, one: tuple[Monomial, ...], other: tuple[Monomial, ...]) -> bool:
        if any(self._vanishing(one, other)):
            return False
        return compare(Growth((one,)), Growth((other,)), self.regime) is None

    def _unless_large(self, what: str, weak: list[tree.Node]) -> None:
        if not weak:
            return
        name = min(to_text(a) for a in weak)
        wanting = tuple(weak) if all(self.large(a) for a in weak) else ()
        raise NearZero(f"log({name}) {what}", wanting)

    def _small(self, monomial: Monomial) -> bool:
        """Whether a monomial of the larger side may be small for a logarithm alone."""
        return any(not self._allowed(a, p) for a, p in monomial.taken.items())

    def _vanishing(self, left: tuple[Monomial, ...], right: tuple[Monomial, ...]) -> Iterator[tree.Node]:
        """Arguments of logarithms that the smaller side has less of than the larger, and that may come near 1."""
        for one, other in product(left, right):
            for argument in {**one.taken, **other.taken}:
                here, there = (sympy.sympify(m.taken.get(argument, 0)) for m in (one, other))
                gap = sympy.cancel(there - here)
                if gap != 0 and not self._allowed(argument, gap):
                    yield argument

    def _allowed(self, argument: tree.Node, power: sympy.Expr) -> bool:
        """Whether the power of a logarithm in (larger side)/(smaller side) is bounded away from 0."""
        return bool(power.is_negative) or self.above(argument, AWAY)
