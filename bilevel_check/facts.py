"""What is known at a place of a proof: relations of elements to 0, and the signs that follow at once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import gcd

from bilevel_check.ring import Atom, Monomial, Poly, added, is_zero, number, power_of
from bilevel_check.terms import Refused, Tree

STRENGTH = {"==": (">=",), ">": (">=", ">", "!="), ">=": (">=",), "!=": ("!=",)}
"""Relation of an element to 0 -> what it says about its sign."""


class Undefined(Refused):
    """A tree that is not known to be defined: ``element op 0`` is missing."""

    def __init__(self, element: Poly, op: str) -> None:
        super().__init__(f"not known to be defined: {str(element)[:200]} {op} 0 is missing")
        self.element, self.op = element, op


class Facts:
    """Facts ``element op 0`` and the sorts of letters (``real``, ``integer`` or ``vector``)."""

    def __init__(self, sorts: Mapping[str, str], facts: list[tuple[Poly, str]] | None = None) -> None:
        self.sorts = dict(sorts)
        self.facts: list[tuple[Poly, str]] = []
        self.signs: set[tuple[Poly, str]] = set()
        self.absurd = False
        self.proved: set[Tree] = set()
        for element, op in facts or []:
            self.learn(element, op)

    def learn(self, element: Poly, op: str) -> None:
        """Add a fact; facts that contradict a plain number make everything true."""
        self.facts.append((element, op))
        value = element.constant()
        self.absurd |= value is not None and not holds(value, op)
        for one in (element, self.primitive(element)):
            self.signs |= {(one, sign) for sign in STRENGTH[op]}
        if op == "==":
            self.signs |= {(-one, ">=") for one in (element, self.primitive(element))}
        if (element, ">=") in self.signs and (element, "!=") in self.signs:
            self.signs.add((element, ">"))

    def known(self, element: Poly, op: str) -> bool:
        """Whether ``element op 0`` (>=, >, != or ==) is plain or among the facts."""
        value = element.constant()
        if self.absurd or value is not None:
            return self.absurd or holds(value or Fraction(0), op)
        if op == "==":
            return is_zero(element) or (self.known(element, ">=") and self.known(-element, ">="))
        if op == "!=":
            return (element, op) in self.signs or self.known(element, ">") or self.known(-element, ">")
        if (element, op) in self.signs or self._plain(element, op):
            return True
        return (self.primitive(element), op) in self.signs

    def sign(self, element: Poly) -> str | None:
        """The strongest sign that is known: > or >=, None if neither is."""
        return next((op for op in (">", ">=") if self.known(element, op)), None)

    def _plain(self, element: Poly, op: str) -> bool:
        """A sum of nonnegative terms, one of them positive for a strict sign."""
        if any(c < 0 for c in element.terms.values()):
            return False
        signs = [self.monomial(m) for m in element.terms]
        return None not in signs and (op == ">=" or ">" in signs)

    def monomial(self, m: Monomial) -> str | None:
        """The sign of a product of powers: > or >=, None if it is not plain."""
        sign = ">"
        for a, e in m:
            if self.atom(a, ">"):
                continue
            even = isinstance(e, Fraction) and e.denominator == 1 and e % 2 == 0
            if not even and not self.atom(a, ">="):
                return None
            if not (even and self.atom(a, "!=")):
                sign = ">="
        return sign

    def atom(self, a: Atom, op: str) -> bool:
        """The sign of an atom."""
        if a.kind in ("prime", "pi", "E") or self.absurd:
            return True
        if (power_of_one(a), op) in self.signs:
            return True
        if op == "!=":
            return self.atom(a, ">") or (-power_of_one(a), ">") in self.signs
        if op == ">=" and a.kind == "dot" and a.args[0] == a.args[1]:
            return True
        if op == ">=" and a.kind == "max" and any(self.known(part, ">=") for part in a.args):
            return True
        return a.kind == "compound" and self.known(a.args[0], op)

    def primitive(self, p: Poly) -> Poly:
        """The element without its positive rational content and its common positive powers."""
        return self.split(p)[1]

    def split(self, p: Poly) -> tuple[Poly, Poly]:
        """``(content, rest)`` with content a positive monomial and ``p = content * rest``."""
        if not p.terms:
            return number(1), p
        top = bottom = 0
        for c in p.terms.values():
            top, bottom = (
                gcd(top, c.numerator),
                bottom * c.denominator // gcd(bottom, c.denominator) if bottom else c.denominator,
            )
        common = dict(next(iter(p.terms)))
        for m in p.terms:
            found = dict(m)
            for a, e in list(common.items()):
                other = found.get(a, Fraction(0))
                if isinstance(e, Fraction) and isinstance(other, Fraction) and e * other > 0:
                    common[a] = min(e, other) if e > 0 else max(e, other)
                elif e != other:
                    del common[a]
        if len(p.terms) > 1:  # what is left of a sum has no negative powers of these atoms
            for m in p.terms:
                for a, e in m:
                    if isinstance(e, Fraction) and e < 0 and a.kind != "prime":
                        held = common.get(a, Fraction(0))
                        common[a] = min(held, e) if isinstance(held, Fraction) else held
        common = {a: e for a, e in common.items() if a.kind != "prime" and self.atom(a, ">")}
        content, rest = number(Fraction(top, bottom)), number(0)
        for a, e in common.items():
            content = content * power_of(a, e)
        for m, c in p.terms.items():
            part, found = number(c * Fraction(bottom, top)), dict(m)
            for a in common.keys() | found.keys():
                part = part * power_of(a, added(found.get(a, Fraction(0)), -common.get(a, Fraction(0))))
            rest = rest + part
        return content, rest


def holds(value: Fraction, op: str) -> bool:
    """``value op 0`` for a rational number."""
    return {">=": value >= 0, ">": value > 0, "==": value == 0, "!=": value != 0}[op]


def power_of_one(a: Atom) -> Poly:
    """An atom as an element."""
    return Poly({frozenset({(a, Fraction(1))}): Fraction(1)})
