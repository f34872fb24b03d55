"""Bounds as sums of powers of the penalty parameter, with rational coefficients, times norms of differences of points.

``D_1 / lam`` and a bound ``c / lam`` of it are compared by their coefficients: lambda is a root, known up to a ball,
and two enclosures of equal numbers never separate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from bilevel_verify.language import tree

if TYPE_CHECKING:
    Ends = tuple[Fraction, Fraction]

Key = tree.Node | frozenset[tree.Node]
"""What is known to be at least 0: the norm of the difference of two points (the pair of them), or of another tree."""


@dataclass(frozen=True, slots=True)
class Powers:
    """``sum of coefficient * lam**power``; ``terms`` has no coefficient 0."""

    terms: tuple[tuple[int, Fraction], ...] = ()

    def __add__(self, other: Powers | Fraction | int) -> Powers:
        found = dict(self.terms)
        for power, number in powers(other).terms:
            found[power] = found.get(power, Fraction(0)) + number
        return _of(found)

    def __mul__(self, other: Powers | Fraction | int) -> Powers:
        found: dict[int, Fraction] = {}
        for p, a in self.terms:
            for q, b in powers(other).terms:
                found[p + q] = found.get(p + q, Fraction(0)) + a * b
        return _of(found)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Powers:
        return self * -1

    @property
    def size(self) -> Powers:
        """At least the absolute value, lambda being positive."""
        return _of({power: abs(number) for power, number in self.terms})

    def nonnegative(self, lam: Ends | None) -> bool:
        """Whether the sum is at least 0 for every lambda between two positive ends (None: there is no lambda)."""
        if all(number >= 0 for _, number in self.terms):
            return True
        return lam is not None and self.least(lam) >= 0

    def least(self, lam: Ends) -> Fraction:
        """A lower bound between two positive ends."""
        low, high = lam
        return sum((number * (low if (number > 0) == (p > 0) else high) ** p for p, number in self.terms), Fraction(0))


def powers(number: Powers | Fraction | int, power: int = 0) -> Powers:
    """A number times a power of lambda."""
    return number if isinstance(number, Powers) else _of({power: Fraction(number)})


def _of(found: Mapping[int, Fraction]) -> Powers:
    return Powers(tuple(sorted((power, number) for power, number in found.items() if number)))


LAMBDA, ONE_BY_LAMBDA = powers(Fraction(1), 1), powers(Fraction(1), -1)


@dataclass(frozen=True, slots=True)
class Form:
    """``constant + sum of coefficient * key`` with keys that are at least 0."""

    constant: Powers = Powers()
    norms: tuple[tuple[Key, Powers], ...] = ()

    def __add__(self, other: Form) -> Form:
        found = dict(self.norms)
        for key, number in other.norms:
            found[key] = found.get(key, Powers()) + number
        return Form(self.constant + other.constant, tuple(found.items()))

    def times(self, factor: Powers | Fraction) -> Form:
        """The form times a number."""
        return Form(self.constant * factor, tuple((key, number * factor) for key, number in self.norms))

    def at_most(self, other: Form, lam: Ends | None) -> bool:
        """Whether every coefficient is at most that of the other form, whose coefficients are at least 0."""
        mine, theirs = dict(self.norms), dict(other.norms)
        pairs = [(theirs.get(key, Powers()), mine.get(key, Powers())) for key in {*mine, *theirs}]
        return all((b + -a).nonnegative(lam) for b, a in [*pairs, (other.constant, self.constant)])


def apart(one: tree.Node, other: tree.Node) -> Form:
    """The norm of the difference of two points."""
    return Form() if one == other else Form(norms=((frozenset((one, other)), powers(1)),))
