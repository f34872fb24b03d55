"""Whether two relations are the same: their trees first, then their values at random points.

What cannot be evaluated is never equal: only equal trees, or equal finite values at every point that was tried, are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bilevel_verify.language import tree
from bilevel_verify.latex import Notation
from bilevel_verify.manuscript.values import NotNumeric, Point, value
from bilevel_verify.theorems.card import Domain
from bilevel_verify.theorems.rewrite import free_letters, rebuild
from bilevel_verify.theorems.vocabulary import ORDER_FUNCTIONS

POINTS = 4
ATTEMPTS = 24
TOLERANCE = 1e-9
"""Points that must agree, points that may be tried for them, relative difference of doubles that counts as none."""
FLIPPED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}


@dataclass(frozen=True, slots=True)
class Relation:
    """``left op right``; ``op`` is one of <= < == >= > or a word of the reader that cards lack."""

    left: tree.Node
    op: str
    right: tree.Node

    def flipped(self) -> Relation:
        """The same, read from right to left."""
        return Relation(self.right, FLIPPED[self.op], self.left)


@dataclass(frozen=True)
class Setting:
    """What names mean while trees are compared: the notation, ranges of letters, definitions in force."""

    notation: Notation
    domains: Mapping[str, Domain] = field(default_factory=dict)
    formulas: Mapping[str, tree.Node] = field(default_factory=dict)


def same_relation(one: Relation, other: Relation, setting: Setting) -> str:
    """``same tree``, ``same values``, or empty: two relations, read from left to right or from right to left."""
    best = ""
    for candidate in (other, other.flipped()) if other.op in FLIPPED else (other,):
        if not _same_sign(one, candidate):
            continue
        found = [same(one.left, candidate.left, setting), same(one.right, candidate.right, setting)]
        if all(f == "same tree" for f in found):
            return "same tree"
        if all(found):
            best = "same values"
        elif one.op == candidate.op and one.op in FLIPPED and _same_difference(one, candidate, setting):
            best = best or "same values"
    return best


def _same_sign(one: Relation, other: Relation) -> bool:
    """Equal signs; ``= O(...)`` is printed for what is judged as ``<= O(...)``, an order being one-sided."""
    if one.op == other.op:
        return True
    orders = any(_is_order(side) for side in (other.left, other.right))
    return orders and {one.op, other.op} <= {"==", "<="}


def _is_order(node: tree.Node) -> bool:
    return isinstance(node, tree.Call) and node.function in ORDER_FUNCTIONS


def _same_difference(one: Relation, other: Relation, setting: Setting) -> bool:
    """``a <= b`` and ``a - b <= 0``: terms moved to the other side say the same."""
    if any(_is_order(side) for side in (one.left, one.right, other.left, other.right)):
        return False
    difference = [tree.Add((r.left, tree.Negate(r.right))) for r in (one, other)]
    return same_values(difference[0], difference[1], setting)


def same(one: tree.Node, other: tree.Node, setting: Setting) -> str:
    """``same tree``, ``same values``, or empty."""
    first, second = plain(one), plain(other)
    if first == second:
        return "same tree"
    return "same values" if same_values(first, second, setting) else ""


def same_values(one: tree.Node, other: tree.Node, setting: Setting) -> bool:
    """Whether two expressions agree at random points, with the definitions in force written out where they differ."""
    if _agree(one, other, setting):
        return True
    written = [_written(node, setting.formulas) for node in (one, other)]
    if written[0] == plain(one) and written[1] == plain(other):
        return False
    return written[0] == written[1] or _agree(written[0], written[1], setting)


def _written(node: tree.Node, formulas: Mapping[str, tree.Node]) -> tree.Node:
    from bilevel_verify.theorems.rewrite import substitute

    for _ in range(12):
        used = free_letters(node) & formulas.keys()
        if not used:
            break
        node = substitute(node, {name: formulas[name] for name in used})
    return plain(node)


def _agree(one: tree.Node, other: tree.Node, setting: Setting) -> bool:
    whole = _whole(one) | _whole(other)
    agreed = 0
    for seed in range(ATTEMPTS):
        point = Point(seed, setting.notation, setting.domains, whole)
        try:
            first, second = value(one, point), value(other, point)
        except NotNumeric:
            if not agreed and seed >= 7:
                return False
            continue
        if not _close(first, second):
            return False
        agreed += 1
        if agreed == POINTS:
            return True
    return False


def _whole(node: tree.Node) -> frozenset[str]:
    """Letters that must be whole numbers: those in indices and in the ends of sums."""
    found: set[str] = set()
    for part in node.walk():
        if isinstance(part, tree.Index):
            for index in part.indices:
                found |= free_letters(index)
        elif isinstance(part, tree.Tuple) and len(part.items) == 3:
            for end in part.items[1:]:
                found |= free_letters(end)
    return frozenset(found)


def _close(one: Any, other: Any) -> bool:
    import numpy as np

    first, second = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if first.shape != second.shape or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return False
    size = max(float(np.abs(first).max(initial=0.0)), float(np.abs(second).max(initial=0.0)))
    if size > 1e150:
        return False
    return bool(float(np.abs(first - second).max(initial=0.0)) <= TOLERANCE * size) or (size == 0 and math.isfinite(size))


def plain(node: tree.Node) -> tree.Node:
    """A tree with sums and products flat, fractions of numbers as numbers, signs in front: notation without meaning."""
    node = rebuild(node, plain)
    match node:
        case tree.Negate(operand=tree.Negate(operand=inner)):
            return inner
        case tree.Negate(operand=tree.Number(value=number)):
            return tree.Number(-number)
        case tree.Negate(operand=tree.Multiply(factors=(tree.Number(value=number), *rest))):
            return tree.Multiply((tree.Number(-number), *rest))
        case tree.Divide(numerator=tree.Number(value=top), denominator=tree.Number(value=bottom)) if bottom:
            return tree.Number(top / bottom)
        case tree.Add(terms=terms):
            return tree.Add(tuple(_flat(terms, tree.Add, "terms")))
        case tree.Multiply(factors=factors):
            return _product(tuple(_flat(factors, tree.Multiply, "factors")))
        case tree.Power(base=base, exponent=tree.Number(value=number)) if number == Fraction(1, 2):
            return tree.Call("sqrt", (base,))
    return node


def _flat(parts: tuple[tree.Node, ...], kind: type[tree.Node], field_name: str) -> list[tree.Node]:
    out: list[tree.Node] = []
    for part in parts:
        out += getattr(part, field_name) if isinstance(part, kind) else (part,)
    return out


def _product(factors: tuple[tree.Node, ...]) -> tree.Node:
    """A product with its minus signs in front of its first number."""
    minus = sum(isinstance(f, tree.Negate) for f in factors) % 2
    bare = tuple(f.operand if isinstance(f, tree.Negate) else f for f in factors)
    if isinstance(bare[0], tree.Number):
        return tree.Multiply((tree.Number(-bare[0].value if minus else bare[0].value), *bare[1:]))
    return tree.Negate(tree.Multiply(bare)) if minus else tree.Multiply(bare)
