"""Sparse polynomials over named atoms, with rational coefficients and rational exponents, exact throughout.

An atom is a name; ``#2`` is the number 2 itself, which occurs with exponents between 0 and 1 only. Whole numbers are
plain ones wherever they can be: most are, and fractions are slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter

Rational = Fraction | int
Monomial = tuple[tuple[str, Rational], ...]
Polynomial = dict[Monomial, Rational]
UNIT: Monomial = ()
MOST_TERMS = 400
LARGEST_ROOT = 10**6


class TooLarge(ValueError):
    """A polynomial with more terms than anybody would write down."""


def plain(value: Rational) -> Rational:
    """The same number, a plain one if it is whole."""
    return value.numerator if value.denominator == 1 else value


def number(value: Rational) -> Polynomial:
    """A constant."""
    return {UNIT: plain(value)} if value else {}


def atom(name: str) -> Polynomial:
    """A name to the first power."""
    return {((name, 1),): 1}


def plus(one: Polynomial, other: Polynomial, factor: Rational = 1) -> Polynomial:
    """``one + factor * other``, of polynomials without zeros."""
    total = dict(one)
    same, opposite = factor == 1, factor == -1  # asked once: comparing fractions is slow
    for monomial, value in other.items():
        term = value if same else -value if opposite else factor * value
        old = total.get(monomial)
        if old is not None:
            term = old + term
        if term:
            total[monomial] = term
        elif old is not None:
            del total[monomial]
    return total


def scaled(one: Polynomial, factor: Rational, by: Monomial = UNIT) -> Polynomial:
    """A polynomial times a term: none of its own terms meet.

    Raises
    ------
    TooLarge : more than ``MOST_TERMS`` terms.
    """
    if len(one) > MOST_TERMS:
        raise TooLarge("too many terms")
    found: Polynomial = {}
    same = factor == 1
    for monomial, value in one.items() if factor else ():
        number, together = _together(monomial, by) if by else (1, monomial)
        term = value if same else value * factor
        found[together] = term if number == 1 else term * number
    return found


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    """The product.

    Raises
    ------
    TooLarge : more than ``MOST_TERMS`` terms.
    """
    if len(one) * len(other) > 4 * MOST_TERMS:
        raise TooLarge("too many terms")
    if len(one) == 1 and UNIT in one:
        one, other = other, one
    total: Polynomial = {}
    for b, q in other.items():
        same = q == 1
        for a, p in one.items():
            factor, monomial = _together(a, b) if b else (1, a)
            value = p if same else p * q
            value = value * factor if factor != 1 else value
            total[monomial] = total[monomial] + value if monomial in total else value
    found = {m: v for m, v in total.items() if v}
    if len(found) > MOST_TERMS:
        raise TooLarge("too many terms")
    return found


@lru_cache(maxsize=200_000)
def _together(one: Monomial, other: Monomial) -> tuple[Rational, Monomial]:
    return merged((*one, *other))


@lru_cache(maxsize=200_000)
def ratio(one: Monomial, other: Monomial) -> tuple[Rational, Monomial]:
    """``one / other`` as a number and a monomial."""
    return merged((*one, *((n, -e) for n, e in other)))


def merged(powers: Iterable[tuple[str, Rational]]) -> tuple[Rational, Monomial]:
    """A product of powers as a number and a monomial; whole exponents are plain numbers."""
    total: dict[str, Rational] = {}
    factor: Rational = 1
    for name, exponent in powers:
        total[name] = total.get(name, 0) + exponent
    for name in [n for n in total if n[0] == "#"]:
        whole = total[name].numerator // total[name].denominator
        factor *= Fraction(int(name[1:])) ** whole
        total[name] -= whole
    kept = [(n, plain(e)) for n, e in total.items() if e]
    kept.sort(key=itemgetter(0))
    return plain(factor), tuple(kept)


def raised(value: Rational, monomial: Monomial, exponent: Rational) -> Polynomial | None:
    """A term to a power; None where its number is negative under a root, or too large to take apart."""
    if exponent.denominator == 1:
        factor, powers = merged((n, e * exponent) for n, e in monomial)
        return {powers: plain(factor if value == 1 else Fraction(value) ** int(exponent) * factor)}
    if value <= 0:
        return None
    roots: list[tuple[str, Rational]] = []
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        primes = _primes(part)
        if primes is None:
            return None
        roots += [(f"#{p}", sign * n * exponent) for p, n in primes.items()]
    factor, together = merged((*roots, *((n, e * exponent) for n, e in monomial)))
    return {together: factor}


def _primes(value: int) -> dict[int, int] | None:
    if value > LARGEST_ROOT:
        return None
    found: dict[int, int] = {}
    divisor = 2
    while value > 1:
        while value % divisor == 0:
            found[divisor] = found.get(divisor, 0) + 1
            value //= divisor
        divisor += 1
    return found


def key(one: Polynomial) -> str:
    """A text that is the same for the same polynomial."""
    return " + ".join(f"{value}*{shown(monomial)}" for monomial, value in sorted(one.items())) or "0"


def shown(monomial: Monomial) -> str:
    """A monomial as text."""
    return "*".join(n.removeprefix("#") if e == 1 else f"{n.removeprefix('#')}**({e})" for n, e in monomial) or "1"
