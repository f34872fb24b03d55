"""Rational combinations of logarithms in one letter: ``r_0 + sum of r_i*log(p_i)``.

The r_i are rational functions, the p_i polynomials, irreducible over the rationals and positive on an open range;
constants are polynomials too. Trees are read into this form, or their logarithms are: products of powers, exponentials
and roots, with the letter in the exponents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import sympy
from sympy.polys.fields import FracElement, field
from sympy.polys.rings import PolyElement

from bilevel_verify.language import tree

FIELD, LETTER = field("x", sympy.QQ)
Rational: TypeAlias = FracElement
"""An element of ``FIELD``, with ``numer`` and ``denom`` in its ring."""
Polynomial: TypeAlias = PolyElement
DEGREE = 64
"""Largest exponent of a power that is written out."""


class NotACombination(Exception):
    """The expression has another form, or is not defined on the whole range."""


@dataclass(frozen=True, slots=True)
class Range:
    """An open range of the letter; None stands for infinity. ``closed`` says of each end whether it belongs to it."""

    low: Fraction
    high: Fraction | None
    closed: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, slots=True)
class Combination:
    """``rest + sum of logs[p]*log(p)``; no coefficient is 0."""

    rest: Rational
    logs: Mapping[Polynomial, Rational]

    def plus(self, other: Combination) -> Combination:
        """The sum."""
        found = dict(self.logs)
        for inner, factor in other.logs.items():
            found[inner] = found.get(inner, FIELD.zero) + factor
        return Combination(self.rest + other.rest, {p: r for p, r in found.items() if r})

    def times(self, factor: Rational) -> Combination:
        """The product with a rational function."""
        return Combination(self.rest * factor, {p: r * factor for p, r in self.logs.items() if r * factor})

    def derivative(self) -> Combination:
        """With respect to the letter."""
        rest = self.rest.diff(LETTER)
        for inner, factor in self.logs.items():
            rest += factor * FIELD(inner.diff(inner.ring.gens[0])) / FIELD(inner)
        slopes = {p: r.diff(LETTER) for p, r in self.logs.items()}
        return Combination(rest, {p: r for p, r in slopes.items() if r})


def number(value: Fraction) -> Rational:
    """A rational number as a rational function."""
    return FIELD(sympy.QQ(value.numerator, value.denominator))


def odd_roots(poly: Polynomial, where: Range) -> int:
    """Sign changes of a polynomial inside the open range (exact: roots of odd multiplicity, isolated)."""
    _, factors = poly.factor_list()
    return sum(_roots(part, where) for part, times in factors if times % 2)


def has_root(poly: Polynomial, where: Range) -> bool:
    """Whether a polynomial vanishes somewhere inside the open range."""
    return any(_roots(part, where) for part, _ in poly.factor_list()[1])


def _roots(poly: Polynomial, where: Range) -> int:
    if poly.is_ground:
        return 0
    whole = sympy.Poly(poly.as_expr(), poly.ring.symbols[0])
    ends = [None if e is None else sympy.Rational(e.numerator, e.denominator) for e in (where.low, where.high)]
    at_ends = sum(1 for end in ends if end is not None and whole.eval(end) == 0)
    return int(whole.count_roots(*ends)) - at_ends


class Reader:
    """Trees in one letter to combinations, on an open range; with ``root = q`` the letter stands for ``x**q``."""

    def __init__(self, name: str, where: Range, root: int = 1) -> None:
        self.name, self.where, self.root = name, where, root
        self.nonzero: list[Polynomial] = []
        """Divisors and arguments of logarithms: what must not vanish at an end either that belongs to the range."""

    def of(self, node: tree.Node) -> Combination:
        """The expression itself.

        Raises
        ------
        NotACombination : it is none.
        """
        match node:
            case tree.Number(value=value):
                return Combination(number(value), {})
            case tree.Letter(name=self.name):
                return Combination(LETTER**self.root, {})
            case tree.Negate(operand=operand):
                return self.of(operand).times(-FIELD.one)
            case tree.Add(terms=terms):
                found = self.of(terms[0])
                for term in terms[1:]:
                    found = found.plus(self.of(term))
                return found
            case tree.Multiply(factors=factors):
                return self._product([self.of(factor) for factor in factors])
            case tree.Divide(numerator=top, denominator=bottom):
                return self.of(top).times(FIELD.one / self._defined(self.rational(bottom)))
            case tree.Power(base=base, exponent=exponent):
                return Combination(self._power(base, exponent), {})
            case tree.Call(function="sqrt", arguments=(base,)):
                return Combination(self._power(base, tree.Number(Fraction(1, 2))), {})
            case tree.Call(function="log", arguments=(inner,)):
                return self.logarithm(inner)
        raise NotACombination("another function, or another letter")

    def rational(self, node: tree.Node) -> Rational:
        """An expression without logarithms."""
        found = self.of(node)
        if found.logs:
            raise NotACombination("a logarithm in a place where none may stand")
        return found.rest

    def logarithm(self, node: tree.Node) -> Combination:
        """The logarithm of an expression that is positive on the range."""
        try:
            return self._log_of(self.rational(node))
        except NotACombination:
            return self._log_of_product(node)

    def _log_of_product(self, node: tree.Node) -> Combination:
        match node:
            case tree.Letter(name="E"):
                return Combination(FIELD.one, {})
            case tree.Multiply(factors=factors):
                found = self.logarithm(factors[0])
                for factor in factors[1:]:
                    found = found.plus(self.logarithm(factor))
                return found
            case tree.Divide(numerator=top, denominator=bottom):
                return self.logarithm(top).plus(self.logarithm(bottom).times(-FIELD.one))
            case tree.Power(base=base, exponent=exponent):
                return self.logarithm(base).times(self.rational(exponent))
            case tree.Call(function="sqrt", arguments=(base,)):
                return self.logarithm(base).times(number(Fraction(1, 2)))
            case tree.Call(function="exp", arguments=(inner,)):
                return self.of(inner)
        raise NotACombination("no product of powers")

    def _log_of(self, value: Rational) -> Combination:
        """``log`` of a rational function, its factors apart."""
        found: dict[Polynomial, Rational] = {}
        sign = 1
        for part, side in ((value.numer, 1), (value.denom, -1)):
            constant, factors = part.factor_list()
            sign *= 1 if constant > 0 else -1
            self._enter(found, part.ring(abs(constant)), side)
            for factor, times in factors:
                here = self._sign(factor)
                sign *= here**times
                self._enter(found, factor * here, side * times)
        if not value or sign < 0:
            raise NotACombination("the logarithm of what is not positive")
        return Combination(FIELD.zero, {p: r for p, r in found.items() if r})

    def _enter(self, found: dict[Polynomial, Rational], factor: Polynomial, times: int) -> None:
        self.nonzero.append(factor)
        if factor != 1:
            found[factor] = found.get(factor, FIELD.zero) + number(Fraction(times))

    def _sign(self, factor: Polynomial) -> int:
        """The one sign of a polynomial inside the range."""
        if has_root(factor, self.where):
            raise NotACombination("the argument of a logarithm has a zero in the range")
        low, high = self.where.low, self.where.high
        inside = low + 1 if high is None else (low + high) / 2
        return 1 if factor.evaluate(0, sympy.QQ(inside.numerator, inside.denominator)) > 0 else -1

    def _defined(self, value: Rational) -> Rational:
        if not value or has_root(value.numer, self.where):
            raise NotACombination("a pole in the range")
        self.nonzero.append(value.numer)
        return value

    def _product(self, parts: list[Combination]) -> Combination:
        found = Combination(FIELD.one, {})
        for part in parts:
            if found.logs and part.logs:
                raise NotACombination("a product of logarithms")
            found = part.times(found.rest) if part.logs else found.times(part.rest)
        return found

    def _power(self, base: tree.Node, exponent: tree.Node) -> Rational:
        height = self.rational(exponent)
        if not (height.numer.is_ground and height.denom.is_ground):
            raise NotACombination("the letter in an exponent")
        value = Fraction(str(height.as_expr()))
        if isinstance(base, tree.Letter) and base.name == self.name and (value * self.root).denominator == 1:
            foot, value = LETTER, value * self.root
        else:
            foot = self.rational(base)
        if value.denominator != 1 or abs(value) > DEGREE:
            raise NotACombination("a root, or a high power")
        return foot ** int(value) if value > 0 else (FIELD.one / self._defined(foot)) ** int(-value)
