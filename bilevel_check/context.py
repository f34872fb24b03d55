"""What is known at a place of a proof, and trees as elements of the ring where that makes them defined.

Every rule by which a power, a quotient or a logarithm becomes a monomial asks for the sign of its base here; an element
exists only where the tree is defined, so a statement that can be written as an element is defined (section 3 of
docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import gcd, isqrt, lcm
from operator import add, mul

from bilevel_check import ring
from bilevel_check.ring import ONE, ZERO, Atom, Exponent, Monomial, Poly, added, element, exponent, number, power_of
from bilevel_check.terms import DEFINED, Refused, Tree, demand, kind, split, substituted, work

PRIMES = [n for n in range(2, 1000) if all(n % d for d in range(2, isqrt(n) + 1))]
STRENGTH = {"==": (">=",), ">": (">=", ">"), ">=": (">=",)}
"""Relation of an element to 0 -> what it says about its sign."""


class Undefined(Refused):
    """A tree that is not known to be defined: ``element op 0`` is missing."""

    def __init__(self, p: Poly, op: str) -> None:
        super().__init__(f"not known to be defined: {str(p)[:200]} {op} 0 is missing")
        self.element, self.op = p, op


class Context:
    """Facts ``element op 0``, the sorts of letters (``real``, ``integer`` or ``vector``), goals shown in every case."""

    def __init__(self, sorts: Mapping[str, str], facts: Sequence[tuple[Poly, str]] = ()) -> None:
        self.sorts, self.absurd = dict(sorts), False
        self.facts: list[tuple[Poly, str]] = []
        self.signs: set[tuple[Poly, str]] = set()
        self.proved: set[Tree] = set()
        for fact in facts:
            self.learn(*fact)

    def inner(self, sorts: Mapping[str, str] | None = None) -> Context:
        """A copy for a part of a proof."""
        found = Context({**self.sorts, **(sorts or {})})
        found.facts, found.signs, found.proved, found.absurd = [*self.facts], {*self.signs}, {*self.proved}, self.absurd
        work.spend(len(self.facts) // 10)
        return found

    def learn(self, p: Poly, op: str) -> None:
        """Add a fact; one that contradicts a plain number makes everything true."""
        self.facts.append((p, op))
        value = p.constant()
        self.absurd |= value is not None and not holds(value, op)
        self.note(p, op)

    def note(self, p: Poly, op: str) -> Poly:
        """Keep a sign to be known from now on; the element."""
        for one in (p, self.split(p)[1]):
            self.signs |= {(one, sign) for sign in STRENGTH[op]} | ({(-one, ">=")} if op == "==" else set())
        return p

    def bounded(self, value: Poly, above: Iterable[Poly], below: Iterable[Poly] = ()) -> Poly:
        """A value of which it is kept that it is at least each of ``below`` and at most each of ``above``."""
        for gap in (*(one - value for one in above), *(value - one for one in below)):
            self.note(gap, ">=")
        return value

    def known(self, p: Poly, op: str) -> bool:
        """Whether ``p op 0`` (>=, >, != or ==) is plain or among the facts, up to a positive factor."""
        value = p.constant()
        if self.absurd or value is not None:
            return self.absurd or holds(value or ZERO, op)
        if op == "==":
            return ring.is_zero(p) or (self.known(p, ">=") and self.known(-p, ">="))
        if op == "!=":
            return self.known(p, ">") or self.known(-p, ">")
        return (p, op) in self.signs or self._plain(p, op) or (self.split(p)[1], op) in self.signs

    def need(self, p: Poly, op: str) -> None:
        """Refuse unless a sign is known."""
        if not self.known(p, op):
            raise Undefined(p, op)

    def _plain(self, p: Poly, op: str) -> bool:
        """A sum of nonnegative terms, one of them positive for a strict sign."""
        signs = [self.monomial(m) if c > 0 else None for m, c in p.terms.items()]
        return None not in signs and (op == ">=" or ">" in signs)

    def monomial(self, m: Monomial) -> str | None:
        """The sign of a product of powers: > or >=, None if it is not plain."""
        even = {a for a, e in m if isinstance(e, Fraction) and e.denominator == 1 and e % 2 == 0}
        weak = [a for a, _ in m if not self.atom(a, "!=" if a in even else ">")]
        plain = all(a in even or self.atom(a, ">=") for a in weak)
        return (">=" if weak else ">") if plain else None

    def atom(self, a: Atom, op: str) -> bool:
        """The sign of an atom."""
        if a.kind in ("prime", "pi", "E") or self.absurd:
            return True
        one = ring.power_of_one(a)
        if (one, op) in self.signs:
            return True
        if op == "!=":
            return self.atom(a, ">") or (-one, ">") in self.signs
        if op == ">=" and a.kind == "max":
            return any(self.known(part, ">=") for part in a.args)
        return a.kind == "compound" and self.known(a.args[0], op)

    def split(self, p: Poly) -> tuple[Poly, Poly]:
        """``(content, rest)``: ``p = content * rest``, content a positive number times powers of positive atoms."""
        coefficients, held = p.terms.values(), [dict(m) for m in p.terms]
        size = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients)))
        content, rest, common = number(size), number(0), dict[Atom, Exponent]()
        for a in dict.fromkeys(a for m in held for a in m):
            found = [m.get(a, ZERO) for m in held]
            rational = [e for e in found if isinstance(e, Fraction)]
            least = min(rational) if len(rational) == len(found) else found[0] if len(set(found)) == 1 else ZERO
            if least != 0 and self.atom(a, ">"):
                common[a], content = least, content * power_of(a, least)
        for m, c in zip(held, coefficients):
            parts = (power_of(a, added(m.get(a, ZERO), -common.get(a, ZERO))) for a in {**common, **m})
            rest = rest + reduce(mul, parts, number(c / size))
        return content, rest

    def power(self, base: Poly, e: Poly) -> Poly:
        """``base ** e``, where the sign of the base or of the exponent that it needs is known."""
        n = e.constant()
        whole = n is not None and n.denominator == 1
        if n is not None and whole and n >= 0 and (len(base.terms) != 1 or n <= 1):
            return base.to_the(int(n))
        if not base.terms:
            self.need(e, ">")
            return base
        content, rest = self.split(base)
        [(m, c), *more], [(positive, size)] = rest.terms.items(), content.terms.items()
        if more or not (whole or (c > 0 and all(self.atom(a, ">=") for a, _ in m))):
            c = Fraction(-1 if whole and not self.known(rest, ">") and self.known(-rest, ">") else 1)
            m = frozenset({(Atom("compound", rest * number(c)), Fraction(1))})
        for one in [power_of(a, Fraction(1)) for a, _ in m] if n is None or n < 0 or not whole else ():
            for p, op in [(one, "!=")] if whole else [(one, ">="), (e, ">=")] if not self.known(one, ">") else []:
                self.need(p, op)
        result = number(c ** int(n) if n is not None and whole else 1)
        for a, own in (*positive, *m, *factors(size)):
            result = result * power_of(a, exponent(element(own) * e))
        return result

    def powers(self, node: Tree, e: Poly) -> Poly:
        """``node ** e``: factor by factor, of a power with the product of the exponents, where that is the same."""
        (head, parts), inverse = split(node), e.constant() == -1
        if head == "*" and (inverse or all(self.known(self._of(part), ">=") for part in parts)):
            return reduce(mul, (self.powers(part, e) for part in parts))
        if head == "^" and isinstance(parts[1], int) and parts[1] > 0:
            base = self._of(parts[0])
            if inverse or self.known(base, ">") or (self.known(base, ">=") and self.known(e, ">=")):
                return self.power(base, number(parts[1]) * e)
        return self.power(self._of(node), e)

    def log(self, p: Poly) -> Poly:
        """The logarithm of what is positive: of a product, the sum of the logarithms."""
        self.need(p, ">")
        (content, rest), total = self.split(p), number(0)
        [(m, c)] = content.terms.items()
        for a, e in [*m, *factors(c), *([] if rest.constant() == 1 else [(Atom("compound", rest), Fraction(1))])]:
            inside = number(1) if a.kind == "E" else ring.power_of_one(Atom("log", power_of(a, Fraction(1))))
            total = total + element(e) * inside
        return total

    def of(self, node: Tree) -> Poly:
        """The element of a tree that is a number; refused where it is not known to be defined or has no word here."""
        demand(kind(node, self.sorts) == "number", "no number stands where one belongs")
        return self._of(node)

    def _of(self, node: Tree) -> Poly:
        """The element of a number, or of a linear combination of vectors with vectors for atoms: from the inside."""
        work.spend(1)
        if isinstance(node, int | Fraction):
            return number(node)
        if isinstance(node, str):
            sort = "vector" if self.sorts.get(node) == "vector" else "letter"
            return ring.power_of_one(Atom(node) if node in ("pi", "E") else Atom(sort, node))
        head, parts = split(node)
        match head:
            case "sum":
                return self.sum(*parts)
            case "dot":
                return self.dot(*parts)
            case "norm":
                return self.power(self.dot(parts[0], parts[0]), number(Fraction(1, 2)))
            case "/":
                return self._of(parts[0]) * self.powers(parts[1], number(-1))
            case "^":
                return self.powers(parts[0], self._of(parts[1]))
        if head in DEFINED:
            return self._of(DEFINED[head](*parts))
        values = [self._of(part) for part in parts]
        match head:
            case "+" | "*":
                return reduce(add if head == "+" else mul, values)
            case "neg":
                return -values[0]
            case "exp":
                return power_of(Atom("E"), values[0])
            case "log":
                return self.bounded(self.log(values[0]), [values[0] - number(1)])
            case "max":
                largest = next((one for one in values if all(self.known(one - other, ">=") for other in values)), None)
                value = ring.power_of_one(Atom("max", *sorted(set(values), key=hash)))
                return self.bounded(value, [], values) if largest is None else largest
            case "sin" | "cos":
                return self.bounded(ring.power_of_one(Atom(head, *values)), [number(1)], [number(-1)])
            case "floor":
                value = values[0] if self.integral(values[0]) else ring.power_of_one(Atom(head, *values))
                self.note(value + number(1) - values[0], ">")
                return self.bounded(value, values)
        raise Refused(f"{head} is not known to the ring")

    def integral(self, p: Poly) -> bool:
        """Whether the element is plainly an integer: a polynomial in integers with integer coefficients."""
        powers = [pair for m in p.terms for pair in m]
        named = all(a.kind == "floor" or (a.kind == "letter" and self.sorts[a.args[0]] == "integer") for a, _ in powers)
        natural = all(isinstance(e, Fraction) and e.denominator == 1 and e > 0 for _, e in powers)
        return named and natural and all(c.denominator == 1 for c in p.terms.values())

    def dot(self, u: Tree, v: Tree) -> Poly:
        """The inner product of two linear combinations of vectors, symmetric; of one with itself >= 0."""
        total = number(0)
        for (m, p), (n, q) in product(self._of(u).terms.items(), self._of(v).terms.items()):
            one, other = (next(a for a, _ in k if a.kind == "vector") for k in (m, n))
            scale = Poly({m - {(one, Fraction(1))}: p}) * Poly({n - {(other, Fraction(1))}: q})
            value = ring.power_of_one(Atom("dot", *sorted((one.args[0], other.args[0]))))
            total = total + scale * (self.note(value, ">=") if one == other else value)
        return self.note(total, ">=") if u == v else total

    def sum(self, body: Tree, index: str, low: Tree, high: Tree) -> Poly:
        """A sum over the integers from low to high: linear in its terms, what is free of the index in front."""
        first, last = self._of(low), self._of(high)
        demand(self.integral(first) and self.integral(last), "a sum whose ends are not plainly integers")
        bound, total, length = self.bound(), number(0), last - first + number(1)
        inside, letter = self.inner({bound: "integer"}), ring.power_of_one(Atom("letter", bound))
        signs = [(letter, op) for op in (">", ">=") if self.known(first, op)]
        for p, op in ((letter - first, ">="), (last - letter, ">="), *signs[:1]):
            inside.learn(p, op)
        for held, rest in self.in_front(inside._of(substituted(body, {index: bound})), bound):
            plain = rest.constant() == 1 and self.known(length, ">=")
            total = total + held * (length if plain else ring.power_of_one(Atom("sum", rest, bound, first, last)))
        return total

    def bound(self) -> str:
        """A name for the next bound index, which no letter has."""
        return f"{sum(name.endswith('#') for name in self.sorts)}#"

    def in_front(self, body: Poly, bound: str) -> Iterator[tuple[Poly, Poly]]:
        """The terms of a body: the factor that is free of the index, and the rest."""
        for m, c in ring.reduced(body).terms.items():
            held, rest = Poly({ONE: c}), number(1)
            for a, e in m:
                own = Poly({k: v for k, v in element(e).terms.items() if bound in ring.names(Poly({k: v}))})
                whole = bound in ring.names(a) or (own.terms and not self.atom(a, ">"))
                inside = e if whole else exponent(own)
                held, rest = held * power_of(a, added(e, -inside)), rest * power_of(a, inside)
            yield held, rest


def holds(value: Fraction, op: str) -> bool:
    """``value op 0`` for a rational number."""
    return {">=": value >= 0, ">": value > 0, "==": value == 0, "!=": value != 0}[op]


def factors(c: Fraction) -> list[tuple[Atom, Exponent]]:
    """A positive rational number as a product of primes below 1000, of what is left, and of their inverses."""
    found: list[tuple[Atom, Exponent]] = []
    for value, sign in ((c.numerator, 1), (c.denominator, -1)):
        for p in PRIMES if value.bit_length() <= 512 else ():
            while value % p == 0:
                value //= p
                found.append((Atom("prime", p), Fraction(sign)))
        found += [(Atom("prime", value), Fraction(sign))] if value > 1 else []
    return found
