"""Generalised polynomials: sums of rational numbers times products of powers of atoms, in exact arithmetic.

An atom is a letter, a prime number, e, pi, a compound base (a sum that stands under a power), or a term such as
``log(x)`` that is not looked into. An exponent is a rational number or again a polynomial: ``x**(3/2)``, ``k**(1-nu)``
and ``e**(-t)`` are monomials. Which exponents are allowed for which base is decided where an element is made
(``context``); here ``a**s * a**t = a**(s + t)`` is all that is used of them (docs/certificates.md, section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias
from zlib import crc32

from bilevel_check.terms import BITS, Refused, work

Exponent: TypeAlias = "Fraction | Poly"
Monomial: TypeAlias = "frozenset[tuple[Atom, Exponent]]"
LARGEST = 64
"""Largest natural power of a sum that is multiplied out."""


class Atom:
    """A name for a real number: ``kind`` and what it is made of; ``level`` is above that of every atom inside.

    The hash does not change from run to run: what is sorted by it is in the same order every day.
    """

    __slots__ = ("_hash", "args", "kind", "level")

    def __init__(self, kind: str, *args: Any) -> None:
        self.kind, self.args = kind, args
        self.level: int
        inside = [a.level for part in args if isinstance(part, Poly) for a in part.atoms()]
        inside += [part.level for part in args if isinstance(part, Atom)]
        self.level = 1 + max(inside, default=0)
        self._hash = hash(tuple(crc32(part.encode()) if isinstance(part, str) else part for part in (kind, *args)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Atom) and self._hash == other._hash and (self.kind, self.args) == (other.kind, other.args)
        )

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.args))})" if self.kind != "letter" else str(self.args[0])


class Poly:
    """An immutable element of the ring: monomial -> coefficient other than 0."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {m: c for m, c in terms.items() if c}
        self._hash: int | None = None
        work.spend(1 + len(self.terms))
        for c in self.terms.values():
            if c.numerator.bit_length() + c.denominator.bit_length() > BITS:
                raise Refused(f"a coefficient of more than {BITS} bits")

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and hash(self) == hash(other) and self.terms == other.terms

    def __repr__(self) -> str:
        shown = ("*".join([str(c), *(f"{a!r}**({e})" for a, e in m)]) for m, c in self.terms.items())
        return " + ".join(shown) or "0"

    def __add__(self, other: Poly) -> Poly:
        total = dict(self.terms)
        for monomial, c in other.terms.items():
            total[monomial] = total.get(monomial, Fraction(0)) + c
        return Poly(total)

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        total: dict[Monomial, Fraction] = {}
        work.spend(len(self.terms) * sum(1 + len(n) // 2 for n in other.terms))
        for m, a in self.terms.items():
            for n, b in other.terms.items():
                merged, rest = _merged(m, n)
                part = {merged: a * b} if rest is None else (Poly({merged: a * b}) * rest).terms
                for monomial, c in part.items():
                    total[monomial] = total.get(monomial, Fraction(0)) + c
        return Poly(total)

    def to_the(self, exponent: int) -> Poly:
        """A natural power, multiplied out.

        Raises
        ------
        Refused : an exponent above ``LARGEST`` of a sum.
        """
        if exponent < 0 or exponent > LARGEST:
            raise Refused(f"the exponent {exponent} of a sum; at most {LARGEST} are multiplied out")
        result = number(1)
        for _ in range(exponent):
            result = result * self
        return result

    def constant(self) -> Fraction | None:
        """The rational number that this is; None if it is none on sight."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(ONE) if len(self.terms) == 1 else None

    def atoms(self) -> Iterable[Atom]:
        """Atoms of the monomials and of their exponents, not those inside atoms."""
        for monomial in self.terms:
            for a, e in monomial:
                yield a
                if isinstance(e, Poly):
                    yield from e.atoms()


ONE: Monomial = frozenset()


def number(value: Fraction | int) -> Poly:
    """A rational number."""
    return Poly({ONE: Fraction(value)})


def power_of(a: Atom, exponent: Exponent) -> Poly:
    """``a ** exponent`` in normal form; the caller knows that it is defined."""
    exponent = added(exponent, Fraction(0))
    if exponent == 0:
        return number(1)
    if a.kind == "prime":  # whole powers of primes belong to the coefficient
        constant = exponent if isinstance(exponent, Fraction) else exponent.terms.get(ONE, Fraction(0))
        whole = floor(constant)
        if abs(whole) > BITS:
            raise Refused("a power of a number that is too large")
        rest = exponent - whole if isinstance(exponent, Fraction) else exponent - number(whole)
        return Poly({frozenset({(a, rest)}) if rest != 0 else ONE: Fraction(a.args[0]) ** whole})
    if a.kind == "compound" and isinstance(exponent, Fraction) and exponent.denominator == 1 and exponent > 0:
        return a.args[0].to_the(int(exponent))  # type: ignore[no-any-return]
    return Poly({frozenset({(a, exponent)}): Fraction(1)})


def added(s: Exponent, t: Exponent) -> Exponent:
    """Sum of two exponents, a rational number where it is one."""
    if isinstance(s, Fraction) and isinstance(t, Fraction):
        return s + t
    total = reduced((number(s) if isinstance(s, Fraction) else s) + (number(t) if isinstance(t, Fraction) else t))
    constant = total.constant()
    return total if constant is None else constant


def _merged(m: Monomial, n: Monomial) -> tuple[Monomial, Poly | None]:
    """Product of two monomials; powers of primes and compounds that met are handed back to be put in normal form."""
    if not m or not n:
        return m or n, None
    found, rest = dict(m), None
    for a, e in n:
        if a not in found:
            found[a] = e
            continue
        total = added(found.pop(a), e)
        if a.kind in ("prime", "compound"):
            rest = power_of(a, total) if rest is None else rest * power_of(a, total)
        elif total != 0:
            found[a] = total
    return frozenset(found.items()), rest


def reduced(p: Poly) -> Poly:
    """The same element with a letter x written by a compound C = a x + b wherever x stands over C."""
    done, todo = number(0), p
    while todo.terms:
        again = number(0)
        for m, c in todo.terms.items():
            part = _reduced_once(dict(m), c)
            done, again = (done + Poly({m: c}), again) if part is None else (done, again + part)
        todo = again
    return done


def _reduced_once(held: dict[Atom, Exponent], c: Fraction) -> Poly | None:
    """One step: ``x = (C - b)/a`` for a letter over C, ``1 = (a' C - a C')/(a' b - a b')`` for two of one letter."""
    below = [k for k, e in held.items() if k.kind == "compound" and isinstance(e, Fraction) and e < 0]
    for one in sorted(below, key=hash):
        for x, (lead, rest) in _linear(one).items():
            n = held.get(x)
            if isinstance(n, Fraction) and n.denominator == 1 and n >= 1:
                outer = _less(held, x, c / lead)
                return _less(dict(_only(outer)), one, outer.terms[_only(outer)], -1) - outer * rest
            for other in below:
                if other.level == one.level and hash(other) > hash(one) and x in _linear(other):
                    second, tail = _linear(other)[x]
                    gap = (rest * number(second) - tail * number(lead)).constant()
                    if gap:
                        return _less(held, one, c * second / gap, -1) - _less(held, other, c * lead / gap, -1)
    return None


def _linear(compound: Atom) -> dict[Atom, tuple[Fraction, Poly]]:
    """Letters x with ``compound = lead * x + rest``, rest free of x."""
    base, found = compound.args[0], {}
    for m, lead in base.terms.items():
        if len(m) == 1:
            [(x, e)] = m
            rest = base - Poly({m: lead})
            if x.kind == "letter" and e == 1 and x.args[0] not in names(rest):
                found[x] = lead, rest
    return found


def _only(p: Poly) -> Monomial:
    return next(iter(p.terms))


def _less(held: Mapping[Atom, Exponent], a: Atom, c: Fraction, by: int = 1) -> Poly:
    """A term with the exponent of an atom lowered (raised, by -1), nothing multiplied out."""
    pairs = [(k, added(e, Fraction(-by)) if k == a else e) for k, e in held.items()]
    return Poly({frozenset(pair for pair in pairs if pair[1] != 0): c})


def is_zero(p: Poly) -> bool:
    """Whether the element is 0 once all compounds are written out: sound, and complete for rational functions."""
    tops = [a for m in p.terms for a, _ in m if a.kind in ("compound", "prime")]
    if not p.terms or not tops:
        return not p.terms
    top = max(tops, key=lambda a: (a.level, a._hash))
    base = top.args[0] if top.kind == "compound" else number(top.args[0])
    classes: dict[Exponent, list[tuple[int, Monomial, Fraction]]] = {}
    for m, c in p.terms.items():
        e = dict(m).get(top, Fraction(0))
        constant = e if isinstance(e, Fraction) else e.terms.get(ONE, Fraction(0))
        rest = frozenset(pair for pair in m if pair[0] != top)
        classes.setdefault(added(e, Fraction(-floor(constant))), []).append((floor(constant), rest, c))
    for found in classes.values():
        least = min(shift for shift, _, _ in found)
        total = number(0)
        for shift in {shift for shift, _, _ in found}:
            part: dict[Monomial, Fraction] = {}
            for _, rest, c in (one for one in found if one[0] == shift):
                part[rest] = part.get(rest, Fraction(0)) + c
            total = total + Poly(part) * base.to_the(shift - least)
        if not is_zero(total):
            return False
    return True


def names(p: Poly) -> set[str]:
    """Letters on which an element may depend, inside atoms as well."""
    found: set[str] = set()
    stack: list[Any] = [p]
    while stack:
        part = stack.pop()
        work.spend(1)
        if isinstance(part, Poly):
            stack += part.atoms()
        elif isinstance(part, Atom):
            stack += part.args
        elif isinstance(part, str):
            found.add(part)
    return found
