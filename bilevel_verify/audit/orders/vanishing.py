"""Logarithms that may come near 0: they are bounded where their argument is, but not away from 0.

``1/log(1 + ell)`` is no ``O(1)`` where ell falls to 0, and neither is ``1`` an ``O(log(1 + ell))``. So nothing is
proved by a logarithm below the line of the smaller side, or in the larger side, unless its argument stays away from
1. One convention is kept, as every paper has it: the logarithm of a product of powers that the regime lets grow
(``log(1/eps)``, ``log(kappa)``) is at least 1 in a bound; the certificate says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import sympy

from bilevel_verify.audit.orders.growth import ONE, Growth, compare, growth_of
from bilevel_verify.audit.orders.monomials import Monomial, NoOrder, Regime
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.card_parts import Domain

ABOVE_ONE = tree.Number(Fraction(17, 16))
"""Arguments above this are away from 1."""
EFFORT = 2.0


@dataclass
class Logarithms:
    """The logarithms of one comparison.

    Attributes
    ----------
    domains : the ranges of all letters, those of the conditions of the regime included.
    conventional : arguments whose logarithm was taken to be at least 1, in the order in which that was needed.
    """

    regime: Regime
    domains: Mapping[str, Domain]
    conventional: list[tree.Node] = field(default_factory=list)
    _away: dict[tree.Node, bool] = field(default_factory=dict)

    def away(self, argument: tree.Node) -> bool:
        """Whether an argument is above 1 by a margin wherever the hypotheses hold."""
        if argument not in self._away:
            claim = ScalarClaim(argument, ">=", ABOVE_ONE, self.domains, self.regime.conditions)
            self._away[argument] = decide(claim, effort=EFFORT).outcome == "proved"
        return self._away[argument]

    def large(self, argument: tree.Node) -> bool:
        """Whether an argument is a product of powers that the regime lets grow: large, by convention."""
        try:
            size = growth_of(argument, self.regime.exponents)
            return size.monomial is not None and compare(size, ONE, self.regime) is not None
        except NoOrder:
            return False

    def support(self, left: Growth, right: Growth) -> None:
        """See that ``left = O(right)`` rests on no logarithm that may come near 0.

        Raises
        ------
        NoOrder : it does.
        """
        weak = sorted({to_text(a) for a in self._vanishing(left, right)})
        if not weak:
            return
        kept = tuple(c for c in right.clauses if not any(self._small(m) for m in c))
        if kept and not any(self._vanishing(left, Growth(kept))) and compare(left, Growth(kept), self.regime) is None:
            return
        raise NoOrder(f"log({weak[0]}) may come near 0, so that nothing follows from what it multiplies or divides")

    def _small(self, monomial: Monomial) -> bool:
        """Whether a monomial of the larger side may be small for a logarithm alone."""
        return any(not self._allowed(a, p, below=True) for a, p in monomial.taken.items())

    def _vanishing(self, left: Growth, right: Growth) -> Iterator[tree.Node]:
        """Arguments of logarithms that the smaller side has less of than the larger, and that may come near 1."""
        for one, other in product(left.monomials, right.monomials):
            for argument in {**one.taken, **other.taken}:
                here, there = (sympy.sympify(m.taken.get(argument, 0)) for m in (one, other))
                gap = sympy.cancel(there - here)
                if gap != 0 and not self._allowed(argument, gap, below=bool(here.is_nonnegative)):
                    yield argument

    def _allowed(self, argument: tree.Node, power: sympy.Expr, below: bool) -> bool:
        """Whether the power of a logarithm in (larger side)/(smaller side) is bounded away from 0."""
        if power.is_negative or self.away(argument):
            return True
        if below and self.large(argument):
            self.conventional += [argument] if argument not in self.conventional else []
            return True
        return False

    def note(self) -> str:
        """What a certificate says of the convention; '' where it was not needed."""
        if not self.conventional:
            return ""
        return "; " + ", ".join(f"log({to_text(a)})" for a in self.conventional) + " taken to be at least 1"
