"""Atoms of a question: their signs, the letters in them, what must be known of what stands under a line or a root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.polynomials import Monomial, Polynomial
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import infinite

Needs = dict[str, tuple[Polynomial, str]]
"""Key -> what stands under a line or a root, and the sign that it must have."""
POSITIVE, NONNEGATIVE, NEGATIVE, ANY = "positive", "nonnegative", "negative", "any"


class Unreadable(ValueError):
    """An expression that is no polynomial over atoms and no combination of vectors or matrices."""


@dataclass
class Atoms:
    """Signs and letters of atoms.

    ``kind`` says of a tree whether it is a scalar, a vector, ...; ``domains`` are ranges of letters (for an entry of a
    sequence: of the sequence), ``parts`` what atoms are functions of, ``depth`` how many sums are open.
    """

    kind: Callable[[tree.Node], str]
    domains: Mapping[str, Domain] = field(default_factory=dict)
    signs: dict[str, str] = field(default_factory=dict)
    letters: dict[str, frozenset[str]] = field(default_factory=dict)
    needs: Needs = field(default_factory=dict)
    parts: dict[str, tuple[str, tuple[Polynomial, ...]]] = field(default_factory=dict)
    depth: int = 0
    _told: dict[Monomial, str] = field(default_factory=dict, repr=False)

    def named(self, name: str, sign: str, used: frozenset[str]) -> Polynomial:
        """An atom of a sign; ``used`` are the letters in it."""
        if name not in self.signs:
            self.signs[name] = sign
            self._told.clear()
        self.letters.setdefault(name, used)
        return p.atom(name)

    def sign(self, monomial: Monomial) -> str:
        """The sign of a product of powers, from those of its atoms."""
        found = self._told.get(monomial)
        if found is None:
            found = self._told[monomial] = self._sign(monomial)
        return found

    def _sign(self, monomial: Monomial) -> str:
        found = POSITIVE
        for name, exponent in monomial:
            own = POSITIVE if name.startswith("#") else self.signs.get(name, ANY)
            if exponent.denominator == 1 and exponent.numerator % 2 == 0 and own == ANY and exponent > 0:
                own = NONNEGATIVE
            if own == ANY or (own == NONNEGATIVE and exponent < 0):
                return ANY
            if own == NONNEGATIVE:
                found = NONNEGATIVE
        return found

    def polynomial_sign(self, one: Polynomial) -> str:
        """The sign of a sum none of whose terms can be negative, or whose letters have numbers as ends."""
        signs = [self.sign(m) if v.numerator > 0 else ANY for m, v in one.items()]
        if ANY not in signs:
            return POSITIVE if POSITIVE in signs else NONNEGATIVE
        low, strict = Fraction(0), False
        for monomial, value in one.items():
            end = self._end(monomial, value)
            if end is None:
                return ANY
            low, strict = low + end[0], strict or end[1]
        return POSITIVE if low > 0 or (low == 0 and strict) else NONNEGATIVE if low == 0 else ANY

    def _end(self, monomial: Monomial, value: p.Rational) -> tuple[p.Rational, bool] | None:
        """The least value of a term of one letter, and whether it is not reached."""
        if not monomial:
            return value, False
        exponent, domain = monomial[0][1], self.domains.get(monomial[0][0])
        if len(monomial) == 1 and exponent < 0 and value < 0 and self._from_one(domain):
            return value, not (domain is not None and (domain.lower_closed or domain.kind == "integers"))
        if len(monomial) > 1 or exponent != 1 or domain is None:
            return (0, False) if value > 0 and self.sign(monomial) != ANY else None
        end, closed = (
            (domain.lower, domain.lower_closed or domain.kind == "integers")
            if value > 0
            else (domain.upper, domain.upper_closed or domain.kind == "integers")
        )
        if end is None or not isinstance(end.tree, tree.Number):
            return None
        return value * end.tree.value, not closed

    def _from_one(self, domain: Domain | None) -> bool:
        """Whether a range begins at 1, so that its powers below 0 are at most 1."""
        return domain is not None and domain.lower is not None and domain.lower.tree == tree.Number(Fraction(1))

    def range_sign(self, name: str, depth: int = 0) -> str:
        """The sign of a letter, from its range."""
        domain = self.domains.get(name)
        if domain is None or domain.lower is None or infinite(domain.lower.tree) or depth > 4:
            return ANY
        low, strict = domain.lower.tree, not domain.lower_closed and domain.kind != "integers"
        if isinstance(low, tree.Number):
            if low.value > 0 or (low.value == 0 and strict):
                return POSITIVE
            return NONNEGATIVE if low.value == 0 else ANY
        if isinstance(low, tree.Letter):
            found = self.range_sign(low.name, depth + 1)
            return POSITIVE if strict and found == NONNEGATIVE else found
        try:
            found = self.polynomial_sign(self.scalar(low))
        except ValueError:
            return ANY
        return POSITIVE if strict and found == NONNEGATIVE else found

    def needed(self, base: Polynomial, exponent: p.Rational) -> None:
        """What must be known of a base: it is not 0 under a line, and not negative under a root."""
        if list(base) == [p.UNIT] and (base[p.UNIT] > 0 or exponent.denominator == 1):
            return
        turned = p.plus({}, base, Fraction(-1))
        if exponent.denominator == 1 and self.polynomial_sign(turned) == POSITIVE:
            return
        self.join({p.key(base): (base, POSITIVE if exponent < 0 else NONNEGATIVE)})

    def join(self, needs: Needs) -> None:
        """What is needed is needed, too; of two signs the stronger."""
        for key, (base, sign) in needs.items():
            if self.needs.get(key, (base, ANY))[1] != POSITIVE:
                self.needs[key] = (base, sign)

    def used(self, *every: Polynomial) -> frozenset[str]:
        """The letters in polynomials."""
        return frozenset().union(*(self.letters.get(n, frozenset()) for one in every for m in one for n, _ in m))

    def scalar(self, node: tree.Node) -> Polynomial:
        """A number as a polynomial."""
        raise NotImplementedError
