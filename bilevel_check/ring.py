"""Generalised polynomials: sums of rational numbers times products of powers of atoms, in exact arithmetic.

An atom is a letter, a prime number, e, pi, a compound base (a sum that stands under a power), or a term such as
``log(x)`` that is not looked into. An exponent is a rational number or again a polynomial: ``x**(3/2)``, ``k**(1-nu)``
and ``e**(-t)`` are monomials. Which exponents are allowed for which base is decided where an element is made
(``context``); here ``a**s * a**t = a**(s + t)`` is all that is used of them (docs/certificates.md, section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from math import floor
from operator import mul
from typing import Any, TypeAlias
from zlib import crc32

from bilevel_check.terms import BITS, demand, work

Exponent: TypeAlias = "Fraction | Poly"
Monomial: TypeAlias = "frozenset[tuple[Atom, Exponent]]"
ONE: Monomial = frozenset()
ZERO, LARGEST = Fraction(0), 64
"""``LARGEST`` is the largest natural power of a sum that is multiplied out."""


class Atom:
    """A name for a real number: ``kind``, what it is made of, a hash that is the same every day (we sort by it)."""

    def __init__(self, kind: str, *args: Any) -> None:
        self.kind, self.args = kind, args
        self.level: int = 1 + max((a.level for p in args if isinstance(p, Poly) for a in p.atoms()), default=0)
        self.key = hash(tuple(crc32(part.encode()) if isinstance(part, str) else part for part in (kind, *args)))

    def __hash__(self) -> int:
        return self.key

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and (self.kind, self.args) == (other.kind, other.args))

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.args))})" if self.kind != "letter" else str(self.args[0])


class Poly:
    """An immutable element of the ring: monomial -> coefficient other than 0."""

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {m: c for m, c in terms.items() if c}
        self.key: int | None = None
        ratios = map(Fraction.as_integer_ratio, self.terms.values())
        self.size = max([top.bit_length() + bottom.bit_length() for top, bottom in ratios], default=0)
        work.spend(1 + len(self.terms) * (1 + self.size // 500))
        demand(self.size <= BITS, f"a coefficient of more than {BITS} bits")

    def __hash__(self) -> int:
        self.key = hash(frozenset(self.terms.items())) if self.key is None else self.key
        return self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and hash(self) == hash(other) and self.terms == other.terms

    def __repr__(self) -> str:
        shown = ("*".join([str(c), *(f"{a!r}**({e})" for a, e in m)]) for m, c in self.terms.items())
        return " + ".join(shown) or "0"

    def __add__(self, other: Poly) -> Poly:
        return collected([*self.terms.items(), *other.terms.items()])

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        work.spend(len(self.terms) * sum(6 + 3 * len(n) + (self.size + other.size) // 200 for n in other.terms))
        found: list[tuple[Monomial, Fraction]] = []
        for m, a in self.terms.items():
            for n, b in other.terms.items():
                merged, met = _merged(m, n)
                found += reduce(mul, met, Poly({merged: a * b})).terms.items() if met else [(merged, a * b)]
        return collected(found)

    def to_the(self, exponent: int) -> Poly:
        """A natural power, multiplied out."""
        demand(0 <= exponent <= LARGEST, f"the exponent {exponent} of a sum; at most {LARGEST} are multiplied out")
        return self * self.to_the(exponent - 1) if exponent else number(1)

    def constant(self) -> Fraction | None:
        """The rational number that this is; None if it is none on sight."""
        return self.terms.get(ONE) if len(self.terms) == 1 else None if self.terms else ZERO

    def atoms(self) -> Iterable[Atom]:
        """Atoms of the monomials and of their exponents, not those inside atoms."""
        for a, e in (pair for m in self.terms for pair in m):
            yield from (a, *(e.atoms() if isinstance(e, Poly) else ()))


def collected(terms: Iterable[tuple[Monomial, Fraction]]) -> Poly:
    """The sum of terms."""
    total: dict[Monomial, Fraction] = {}
    for m, c in terms:
        total[m] = total[m] + c if m in total else c
    return Poly(total)


def number(value: Fraction | int) -> Poly:
    """A rational number."""
    return Poly({ONE: Fraction(value)})


@lru_cache(10_000)
def power_of_one(a: Atom) -> Poly:
    """An atom as an element."""
    return Poly({frozenset({(a, Fraction(1))}): Fraction(1)})


def element(e: Exponent) -> Poly:
    """An exponent as an element."""
    return e if isinstance(e, Poly) else number(e)


def exponent(e: Exponent) -> Exponent:
    """An exponent in normal form: a rational number where it is one."""
    e = e if isinstance(e, Fraction) else reduced(e)
    return e if isinstance(e, Fraction) or e.constant() is None else e.terms.get(ONE, ZERO)


def added(s: Exponent, t: Exponent) -> Exponent:
    """Sum of two exponents."""
    return s + t if isinstance(s, Fraction) and isinstance(t, Fraction) else exponent(element(s) + element(t))


def whole_part(e: Exponent) -> int:
    """The whole part of the number in an exponent."""
    return floor(e if isinstance(e, Fraction) else e.terms.get(ONE, ZERO))


def monomial(held: Mapping[Atom, Exponent]) -> Monomial:
    """Atoms with their exponents, those with the exponent 0 left out."""
    return frozenset([(a, e) for a, e in held.items() if e])  # an exponent that is an element is not 0


def power_of(a: Atom, e: Exponent) -> Poly:
    """``a ** e`` in normal form; the caller knows that it is defined."""
    e = exponent(e)
    if a.kind == "prime":  # whole powers of primes belong to the coefficient
        whole = whole_part(e)
        demand(abs(whole) * a.args[0].bit_length() <= BITS, "a power of a number that is too large")
        return Poly({monomial({a: added(e, Fraction(-whole))}): Fraction(a.args[0]) ** whole})
    if a.kind == "compound" and isinstance(e, Fraction) and e.denominator == 1 and e > 0:
        return a.args[0].to_the(int(e))  # type: ignore[no-any-return]
    return Poly({monomial({a: e}): Fraction(1)})


def _merged(m: Monomial, n: Monomial) -> tuple[Monomial, list[Poly]]:
    """Product of two monomials; powers of primes and compounds that met are handed back in normal form."""
    if not m or not n:
        return m or n, []
    found, met = dict(m), []
    for a, e in n:
        total = added(found.pop(a), e) if (shared := a in found) else e
        if shared and a.kind in ("prime", "compound"):
            met.append(power_of(a, total))
        elif total:
            found[a] = total
    return frozenset(found.items()), met


def reduced(p: Poly) -> Poly:
    """The same element with a letter x written as ``(C - b)/a`` wherever it stands over a compound ``C = a x + b``.

    Over two of them, ``D = d x + f`` the other one, ``1 = (a D - d C)/(a f - d b)``.
    """
    for m, c in p.terms.items():
        held = dict(m)
        below = sorted((k for k, e in m if k.kind == "compound" and isinstance(e, Fraction) and e < 0), key=hash)
        for over in below:
            x, lead, rest = _linear(over.args[0])
            e = held.get(x, ZERO)
            if lead and isinstance(e, Fraction) and e.denominator == 1 and e >= 1:
                lower: dict[Atom, Exponent] = {**held, x: e - 1}
                higher = monomial({**lower, over: added(held[over], Fraction(1))})
                once = Poly({higher: c / lead}) - Poly({monomial(lower): c / lead}) * rest
                return reduced(p - Poly({m: c}) + once)
            for other in below:
                y, second, tail = _linear(other.args[0])
                gap = (tail * number(lead) - rest * number(second)).constant()
                if x == y and lead and gap:
                    one, two = (monomial({**held, k: added(held[k], Fraction(1))}) for k in (other, over))
                    return reduced(p - Poly({m: c}) + Poly({one: c * lead / gap}) - Poly({two: c * second / gap}))
    return p


@lru_cache(10_000)
def _linear(base: Poly) -> tuple[Atom, Fraction, Poly]:
    """``x, a, b`` with ``base = a x + b``, b free of x, x the first such letter of the alphabet; a = 0 without one."""
    for x in sorted((a for a in set(base.atoms()) if a.kind == "letter"), key=repr):
        lead = base.terms.get(monomial({x: Fraction(1)}), ZERO)
        rest = base - Poly({monomial({x: Fraction(1)}): lead})
        if lead and x.args[0] not in names(rest):
            return x, lead, rest
    return Atom("letter", ""), ZERO, base


def is_zero(p: Poly) -> bool:
    """Whether the element is 0 once all compounds are written out: sound, and complete for rational functions."""
    tops = [a for m in p.terms for a, _ in m if a.kind in ("compound", "prime")]
    if not p.terms or not tops:
        return not p.terms
    top = max(tops, key=lambda a: (a.level, a.key))
    base, classes = power_of(top, Fraction(1)), dict[Exponent, dict[int, list[tuple[Monomial, Fraction]]]]()
    for m, c in p.terms.items():
        held = dict(m)
        e = held.pop(top, ZERO)
        whole = whole_part(e)
        classes.setdefault(added(e, Fraction(-whole)), {}).setdefault(whole, []).append((monomial(held), c))
    return all(
        is_zero(sum((collected(terms) * base.to_the(whole - min(found)) for whole, terms in found.items()), number(0)))
        for found in classes.values()
    )


def names(p: object) -> set[str]:
    """Letters on which an element may depend, inside atoms as well."""
    work.spend(1)
    inside = p.atoms() if isinstance(p, Poly) else p.args if isinstance(p, Atom) else ()
    return {p} if isinstance(p, str) else set().union(*map(names, inside))
