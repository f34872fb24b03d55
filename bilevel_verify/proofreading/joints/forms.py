"""Sides of printed relations as sums of products of powers, with exponents that may hold letters.

What is no number, sum or product is an atom under its own text. An exponent with letters is kept as its values at
:data:`SAMPLES` fixed rational points of these letters: two exponents that differ at one of them differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from zlib import crc32

from bilevel_verify.language import to_text, tree

SAMPLES = 3
MOST_TERMS = 60
LARGEST_PRIME = 10_000
ORDERS = ("O", "softO", "Theta")
Exponent = tuple[Fraction, ...]
Monomial = frozenset[tuple[str, Exponent]]
ONE: Exponent = (Fraction(1),) * SAMPLES
UNIT: Monomial = frozenset()


class Formless(ValueError):
    """A side that is no sum of products of powers."""


@dataclass(frozen=True, slots=True)
class Form:
    """Monomial -> factor, none of them 0; ``order`` where factors are hidden by an order symbol."""

    terms: Mapping[Monomial, Fraction]
    order: bool = False

    @property
    def single(self) -> tuple[Monomial, Fraction] | None:
        """The only monomial with its factor."""
        return next(iter(self.terms.items())) if len(self.terms) == 1 else None


def form_of(node: tree.Node) -> Form:
    """A side as a form.

    Raises
    ------
    Formless : it is none, or it has more than 60 terms.
    """
    order = any(isinstance(p, tree.Call) and p.function in ORDERS for p in node.walk())
    return Form(_terms(node), order)


def _terms(node: tree.Node) -> dict[Monomial, Fraction]:
    match node:
        case tree.Number(value=value):
            return {UNIT: value} if value else {}
        case tree.Add(terms=terms):
            return added([_terms(t) for t in terms])
        case tree.Negate(operand=inner):
            return {m: -c for m, c in _terms(inner).items()}
        case tree.Multiply(factors=factors):
            found = {UNIT: Fraction(1)}
            for factor in factors:
                found = product(found, _terms(factor))
            return found
        case tree.Divide(numerator=top, denominator=bottom):
            return product(_terms(top), _power(bottom, (Fraction(-1),) * SAMPLES))
        case tree.Power(base=base, exponent=exponent):
            return _power(base, exponent_of(exponent))
        case tree.Call(function="sqrt", arguments=(inner,)):
            return _power(inner, (Fraction(1, 2),) * SAMPLES)
        case tree.Call(function=name, arguments=(inner,)) if name in ORDERS:
            return _terms(inner)
        case tree.MatrixMultiply() | tree.Tuple() | tree.Compare() | tree.Conditional():
            raise Formless("no number")
    return {frozenset({(to_text(node), ONE)}): Fraction(1)}


def _power(base: tree.Node, exponent: Exponent) -> dict[Monomial, Fraction]:
    terms = _terms(base)
    if len(terms) == 1:
        ((monomial, factor),) = terms.items()
        return raised(monomial, factor, exponent)
    if not terms:
        raise Formless("a power of 0")
    if exponent == (Fraction(2),) * SAMPLES and len(terms) <= 6:
        return product(terms, terms)
    shared, content = _content(terms)
    inner = {joined(m, inverse(shared))[0]: c / content for m, c in terms.items()}
    atom: dict[Monomial, Fraction] = {frozenset({(_named(inner), exponent)}): Fraction(1)}
    return product(raised(shared, content, exponent), atom)


def raised(monomial: Monomial, factor: Fraction, exponent: Exponent) -> dict[Monomial, Fraction]:
    """A power of one term; what is irrational of its factor becomes powers of primes."""
    if factor <= 0:
        if exponent != ONE and (len(set(exponent)) > 1 or exponent[0].denominator != 1):
            raise Formless("a root of a negative number")
        return {_times(monomial, exponent): factor ** int(exponent[0])}
    powers = _times(monomial, exponent)
    number = Fraction(1)
    for prime, times in _primes(factor).items():
        powers, part = _with_prime(powers, prime, tuple(times * e for e in exponent))
        number *= part
    return {powers: number}


def _with_prime(monomial: Monomial, prime: int, exponent: Exponent) -> tuple[Monomial, Fraction]:
    """A monomial times a power of a prime, whose whole part is a number."""
    table = dict(monomial)
    old = table.pop(f"#{prime}", (Fraction(0),) * SAMPLES)
    total = tuple(a + b for a, b in zip(old, exponent, strict=True))
    if len(set(total)) > 1:
        return frozenset({*table.items(), (f"#{prime}", total)}), Fraction(1)
    whole = total[0].numerator // total[0].denominator
    rest = total[0] - whole
    kept = {**table, **({f"#{prime}": (rest,) * SAMPLES} if rest else {})}
    return frozenset(kept.items()), Fraction(prime) ** whole


def _times(monomial: Monomial, exponent: Exponent) -> Monomial:
    pairs = ((name, tuple(a * b for a, b in zip(e, exponent, strict=True))) for name, e in monomial)
    return frozenset((name, e) for name, e in pairs if any(e))


def product(one: Mapping[Monomial, Fraction], other: Mapping[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    """Every term of one times every term of the other."""
    found: dict[Monomial, Fraction] = {}
    for first, a in one.items():
        for second, b in other.items():
            monomial, number = joined(first, second)
            found[monomial] = found.get(monomial, Fraction(0)) + a * b * number
    if len(found) > MOST_TERMS:
        raise Formless("too many terms")
    return {m: c for m, c in found.items() if c}


def inverse(monomial: Monomial) -> Monomial:
    """The product with the powers of the other sign."""
    return frozenset((name, tuple(-e for e in exponent)) for name, exponent in monomial)


def joined(one: Monomial, other: Monomial) -> tuple[Monomial, Fraction]:
    """A product of two monomials, and the number that comes out of its roots."""
    table = {n: e for n, e in one if not n.startswith("#")}
    for name, exponent in other:
        if not name.startswith("#"):
            old = table.get(name, (Fraction(0),) * SAMPLES)
            table[name] = tuple(a + b for a, b in zip(old, exponent, strict=True))
    monomial: Monomial = frozenset((n, e) for n, e in table.items() if any(e))
    number = Fraction(1)
    for name, exponent in (*one, *other):
        if name.startswith("#"):
            monomial, part = _with_prime(monomial, int(name[1:]), exponent)
            number *= part
    return monomial, number


def exponent_of(node: tree.Node) -> Exponent:
    """An exponent at the sample points.

    Raises
    ------
    Formless : it is not made of numbers and letters by the four operations.
    """
    try:
        return tuple(_value(node, sample) for sample in range(SAMPLES))
    except ZeroDivisionError:
        raise Formless("an exponent") from None


def _value(node: tree.Node, sample: int) -> Fraction:
    match node:
        case tree.Number(value=value):
            return value
        case tree.Letter(name=name):
            draw = random.Random(crc32(f"{name}:{sample}".encode()))
            return Fraction(draw.randint(1, 89), 97)
        case tree.Add(terms=terms):
            return sum((_value(t, sample) for t in terms), Fraction(0))
        case tree.Negate(operand=inner):
            return -_value(inner, sample)
        case tree.Multiply(factors=factors):
            total = Fraction(1)
            for factor in factors:
                total *= _value(factor, sample)
            return total
        case tree.Divide(numerator=top, denominator=bottom):
            return _value(top, sample) / _value(bottom, sample)
    raise Formless("an exponent")


def added(parts: Iterable[Mapping[Monomial, Fraction]]) -> dict[Monomial, Fraction]:
    """Sums of terms as one, without those that cancel."""
    found: dict[Monomial, Fraction] = {}
    for part in parts:
        for monomial, factor in part.items():
            found[monomial] = found.get(monomial, Fraction(0)) + factor
    return {m: c for m, c in found.items() if c}


def _content(terms: Mapping[Monomial, Fraction]) -> tuple[Monomial, Fraction]:
    """What is taken out of a sum, so that equal sums have one name: the powers that all terms have, and a number."""
    shared = frozenset.intersection(*terms)
    return shared, abs(terms[min(terms, key=lambda m: _shown(m - shared))])


def _named(terms: Mapping[Monomial, Fraction]) -> str:
    return "(" + " + ".join(f"{c}*{_shown(m)}" for m, c in sorted(terms.items(), key=lambda t: _shown(t[0]))) + ")"


def _shown(monomial: Monomial) -> str:
    return "*".join(f"{n.removeprefix('#')}**({e[0]})" for n, e in sorted(monomial)) or "1"


def _primes(value: Fraction) -> dict[int, int]:
    """Exponents of the primes of a positive rational number.

    Raises
    ------
    Formless : a prime is larger than 10,000.
    """
    found: dict[int, int] = {}
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        prime = 2
        while number > 1:
            if prime > LARGEST_PRIME:
                raise Formless("a large number")
            while number % prime == 0:
                found[prime] = found.get(prime, 0) + sign
                number //= prime
            prime += 1
    return found


def tree_of(terms: Mapping[Monomial, Fraction]) -> tree.Node:
    """A form as a tree whose letters are the atoms, exponents at the first sample point."""
    parts = [
        tree.Multiply((tree.signed(factor), *(tree.Power(_atom(n), tree.signed(e[0])) for n, e in sorted(monomial))))
        if monomial else tree.signed(factor)
        for monomial, factor in terms.items()
    ]  # fmt: skip
    return parts[0] if len(parts) == 1 else tree.Add(tuple(parts)) if parts else tree.Number(Fraction(0))


def _atom(name: str) -> tree.Node:
    return tree.Number(Fraction(name[1:])) if name.startswith("#") else tree.Letter(name)
