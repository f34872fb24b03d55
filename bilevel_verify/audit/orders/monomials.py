"""What an order is made of: monomials with logarithms, the directions of a regime, and rays among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

import sympy

from bilevel_verify.language.tree import Node

K = TypeVar("K")
Exponents = Mapping[str, sympy.Expr]
Form = tuple[tuple[str, Fraction], ...]
"""The exponents of a monomial, in the order of its letters."""
Clauses = tuple[tuple[Form, ...], ...]
"""A maximum over minima of monomials."""
ZERO = Fraction(0)


class NoOrder(Exception):
    """The expression has no order of growth in this algebra (a difference, a trigonometric function ...)."""


class NearZero(NoOrder):
    """A bound rests on logarithms that may come near 0; ``arguments``: with these at least 3 it would not."""

    def __init__(self, reason: str, arguments: tuple[Node, ...] = ()) -> None:
        super().__init__(reason)
        self.arguments = arguments


@dataclass(frozen=True)
class LogArgument:
    """What a logarithm is taken of: its letters, and its size as a maximum over minima of monomials.

    A single monomial is primitive up to the sign: ``log(1/eps)`` and ``log(eps**2)`` are of the same size. Without
    ``clauses`` its size is not known (a difference, a logarithm of a logarithm, what a soft order symbol hides).
    """

    letters: frozenset[str]
    clauses: Clauses = ()

    @property
    def vague(self) -> bool:
        """Whether its size is not known."""
        return not self.clauses

    def moved_by(self, direction: Mapping[str, Fraction]) -> bool:
        """Whether it grows or falls along a direction; one of unknown size may as soon as a letter does."""
        if self.vague:
            return any(direction.get(n) for n in self.letters)
        return bool(max(min(_along(form, direction) for form in clause) for clause in self.clauses))


@dataclass(frozen=True)
class Monomial:
    """``prod letter**exponent * prod logarithm**power``; ``logs`` maps what a logarithm is taken of to its power.

    The size of a logarithm does not tell its sign; ``signs`` keep what every logarithm is taken of as it is written,
    with its power: it is negative where that falls to 0, unless the power is even; power 0 is that of a part of an
    absolute value, which is not negative, whatever the logarithm is. ``taken`` are the arguments themselves with their
    powers: a logarithm that does not grow may come near 0.
    """

    exponents: Exponents
    logs: Mapping[LogArgument, sympy.Expr] = field(default_factory=dict)
    signs: tuple[tuple[Clauses, sympy.Expr], ...] = ()
    taken: Mapping[Node, sympy.Expr] = field(default_factory=dict)

    def times(self, other: Monomial) -> Monomial:
        """Product."""
        logs = _added(self.logs, other.logs)
        taken = _added(self.taken, other.taken)
        return Monomial(_added(self.exponents, other.exponents), logs, self.signs + other.signs, taken)

    def power(self, exponent: sympy.Expr) -> Monomial:
        """Power with any exponent; a root of several logarithms is defined where two of them are negative, too."""
        signs = tuple((clauses, power * exponent) for clauses, power in self.signs)
        if exponent.is_even or not (exponent.is_integer or [p.is_odd for _, p in self.signs] in ([], [True])):
            signs = tuple((clauses, sympy.S.Zero) for clauses, _ in signs)
        return Monomial(
            {n: e * exponent for n, e in self.exponents.items()},
            {n: e * exponent for n, e in self.logs.items()},
            signs,
            {n: e * exponent for n, e in self.taken.items()},
        )

    def unsigned(self, alone: bool) -> Monomial:
        """Its absolute value; where it is not ``alone``, a part of one, which other parts may take away from."""
        signs = () if alone else tuple((clauses, sympy.S.Zero) for clauses, _ in self.signs)
        return Monomial(self.exponents, self.logs, signs, self.taken)

    def at(self, values: Mapping[str, Fraction]) -> tuple[dict[str, Fraction], dict[LogArgument, Fraction]]:
        """Exponents and powers of logarithms with the letters in them replaced by numbers."""
        put = {sympy.Symbol(n): sympy.Rational(v.numerator, v.denominator) for n, v in values.items()}
        exponents = {n: rational(sympy.sympify(e).subs(put)) for n, e in self.exponents.items()}
        return exponents, {n: rational(sympy.sympify(e).subs(put)) for n, e in self.logs.items()}


def _along(form: Form, direction: Mapping[str, Fraction]) -> Fraction:
    return sum((e * direction.get(n, ZERO) for n, e in form), ZERO)


def _added(one: Mapping[K, sympy.Expr], other: Mapping[K, sympy.Expr]) -> dict[K, sympy.Expr]:
    total = {n: one.get(n, 0) + other.get(n, 0) for n in {**one, **other}}
    return {n: e for n, e in total.items() if e != 0}


@dataclass(frozen=True)
class Ray:
    """A direction along which a claimed order fails: letter -> exponent of t, and by how much the ratio grows.

    ``start`` are the exponents of 2 from which the letters set out (0 where absent): every hypothesis holds there,
    and no logarithm starts at 0. ``letters`` are all letters of the regime, those that stay included.
    """

    direction: Mapping[str, Fraction]
    rate: Fraction
    logs: Fraction = Fraction(0)
    at: Mapping[str, Fraction] = field(default_factory=dict)
    start: Mapping[str, int] = field(default_factory=dict)
    letters: tuple[str, ...] = ()

    def family(self) -> dict[str, str]:
        """Every letter as a power of t (t >= 1), exactly as the hypotheses were checked; those that stay, too."""
        return {name: self._member(name) for name in sorted({*self.direction, *self.letters})} | {
            name: str(value) for name, value in self.at.items()
        }

    def _member(self, name: str) -> str:
        power, start = self.direction.get(name, ZERO), self.start.get(name, 0)
        factor = str(Fraction(2) ** start)
        if not power:
            return factor
        return power_text("t", power) if not start else f"{factor}*{power_text('t', power)}"

    def __str__(self) -> str:
        path = ", ".join(f"{n} = {power_text('t', v)}" for n, v in self.direction.items())
        speed = power_text("t", self.rate) if self.rate else power_text("log(t)", self.logs)
        where = "; ".join(f"{n} = {v}" for n, v in self.at.items())
        return f"{path}: ratio grows like {speed}" + (f" at {where}" if where else "")


def power_text(base: str, exponent: Fraction) -> str:
    """``t**2``, ``t**(1/2)``, ``t``."""
    if exponent == 1:
        return base
    return f"{base}**({exponent})" if exponent.denominator > 1 or exponent < 0 else f"{base}**{exponent}"


@dataclass(frozen=True)
class Bound:
    """``2**size * prod letter**row >= 1`` (``> 1`` if ``strict``)."""

    row: Mapping[str, Fraction]
    size: Fraction = ZERO
    strict: bool = False


@dataclass(frozen=True)
class Regime:
    """Directions in which the letters may go, ``<row, u> >= 0``; ``exponents`` are letters that stay in a range.

    Attributes
    ----------
    bounds : the rows with their factors: where a family may start.
    unread : hypotheses that are not rows; a family that refutes has to satisfy them as well.
    grid : values of the exponent letters that the hypotheses admit; None for the usual grid of their ranges.
    fixed : letters that do not move (hidden by the order symbols of the paper).
    rising : what is asked not to fall to 0.
    conditions : every hypothesis, written out.
    """

    letters: tuple[str, ...]
    rows: tuple[Mapping[str, Fraction], ...]
    exponents: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    bounds: tuple[Bound, ...] = ()
    unread: tuple[Node, ...] = ()
    grid: tuple[Mapping[str, Fraction], ...] | None = None
    fixed: frozenset[str] = frozenset()
    rising: tuple[Clauses, ...] = ()
    conditions: tuple[Node, ...] = ()


def rational(value: sympy.Expr) -> Fraction:
    """An exponent as a fraction.

    Raises
    ------
    NoOrder : it is not rational.
    """
    value = sympy.nsimplify(value) if not value.is_Rational else value
    if not value.is_Rational:
        raise NoOrder("an exponent that is not rational")
    return Fraction(int(value.p), int(value.q))
