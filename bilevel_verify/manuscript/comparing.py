"""Whether two relations are the same: their trees first, then their values at random points.

What cannot be evaluated is never equal: only equal trees, or equal finite values at every point that was tried, are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import Notation
from bilevel_verify.manuscript.values import NotNumeric, Point, kind_of, value
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute
from bilevel_verify.theorems.vocabulary import ORDER_FUNCTIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POINTS = 6
ENOUGH = 3
TOLERANCE = 1e-9
"""Points that are tried, points at which both sides must have a value, relative difference that counts as none."""


@dataclass(frozen=True, slots=True)
class Relation:
    """``left op right``; ``op`` is one of <= < == >= > or a word of the reader that cards lack."""

    left: tree.Node
    op: str
    right: tree.Node

    def flipped(self) -> Relation:
        """The same, read from right to left."""
        return Relation(self.right, tree.MIRRORED[self.op], self.left)


@dataclass
class Fingerprints:
    """Values of expressions at the points of one paper, each computed once.

    ``whole`` are letters that are whole numbers: those in indices and at the ends of sums, anywhere in the paper.
    """

    notation: Notation
    domains: Mapping[str, Domain] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    known: dict[tree.Node, tuple[Any, ...]] = field(default_factory=dict)

    def of(self, node: tree.Node) -> tuple[NDArray[np.float64] | None, ...]:
        """Values at all points, None where there is none."""
        if node not in self.known:
            if _fine(node):
                self.known[node] = (None,) * POINTS
            else:
                self.known[node] = tuple(self._at(node, seed) for seed in range(POINTS))
        return self.known[node]

    def kind(self, name: str, role: str) -> str:
        """Kind of the value of a name in a role (letter, sequence, function)."""
        return kind_of(self.notation, name, role)

    def _at(self, node: tree.Node, seed: int) -> NDArray[np.float64] | None:
        import numpy as np

        try:
            found = np.asarray(value(node, Point(seed, self.notation, self.domains, self.whole)), dtype=float)
        except NotNumeric:
            return None
        return found if np.isfinite(found).all() and float(np.abs(found).max(initial=0.0)) < LARGEST else None


LARGEST = 1e150
SMALLEST = Fraction(1, 10**6)
"""Values beyond the first are none; an expression with a number below the second is compared as a tree only."""


def _fine(node: tree.Node) -> bool:
    """Whether it has a number so small that what it does might pass for a rounding error."""
    return any(isinstance(part, tree.Number) and 0 < abs(part.value) < SMALLEST for part in node.walk())


@dataclass(frozen=True)
class Setting:
    """What names mean while trees are compared.

    ``formulas`` are the definitions of the card, ``defined`` writes out those of the print.
    """

    prints: Fingerprints
    formulas: Mapping[str, tree.Node] = field(default_factory=dict)
    defined: Callable[[tree.Node], tree.Node] = field(default=lambda node: node)
    forms: dict[tree.Node, tuple[tree.Node, ...]] = field(default_factory=dict)

    def written(self, node: tree.Node) -> tuple[tree.Node, ...]:
        """The expression as it is, with the definitions of the print, of the card, and of both written out."""
        if node not in self.forms:
            there = plain(self.defined(node))
            every = (node, there, _written(node, self.formulas), _written(there, self.formulas))
            self.forms[node] = every
        return self.forms[node]


def same_relation(one: Relation, other: Relation, setting: Setting) -> str:
    """``same tree``, ``same values``, or empty: two relations, read from left to right or from right to left."""
    best = ""
    for candidate in (other, other.flipped()) if other.op in tree.MIRRORED else (other,):
        if not _same_sign(one, candidate):
            continue
        found = [same(one.left, candidate.left, setting), same(one.right, candidate.right, setting)]
        if all(f == "same tree" for f in found):
            return "same tree"
        if all(found):
            best = "same values"
        elif one.op == candidate.op and one.op in tree.MIRRORED and _same_difference(one, candidate, setting):
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
    first, second = ([setting.prints.of(plain(side)) for side in (r.left, r.right)] for r in (one, other))
    pairs = []
    for a, b, c, d in zip(*first, *second):
        if any(v is None or v.shape for v in (a, b, c, d)):
            return False
        size = max(abs(a), abs(b), abs(c), abs(d))
        pairs.append(abs((a - b) - (c - d)) <= TOLERANCE * size and abs(a - b) > 1e3 * TOLERANCE * size)
    return all(pairs)


def same(one: tree.Node, other: tree.Node, setting: Setting) -> str:
    """``same tree``, ``same values`` (with definitions in force written out where need be), or empty."""
    first, second = plain(one), plain(other)
    if first == second:
        return "same tree"
    seen = set()
    for pair in zip(setting.written(first), setting.written(second)):
        if pair in seen:
            continue
        seen.add(pair)
        if pair[0] == pair[1] or _agree(setting.prints.of(pair[0]), setting.prints.of(pair[1])):
            return "same values"
    return ""


def _agree(one: tuple[NDArray[np.float64] | None, ...], other: tuple[NDArray[np.float64] | None, ...]) -> bool:
    """Values that are the same wherever there are any, and there are enough of them."""
    agreed = 0
    for first, second in zip(one, other):
        if first is None and second is None:
            continue
        if first is None or second is None or not _close(first, second):
            return False
        agreed += 1
    return agreed >= ENOUGH


def _written(node: tree.Node, formulas: Mapping[str, tree.Node]) -> tree.Node:
    for _ in range(12):
        used = free_letters(node) & formulas.keys()
        if not used:
            break
        node = substitute(node, {name: formulas[name] for name in used}, caught=True)
    return plain(node)


def whole_letters(nodes: Iterable[tree.Node]) -> frozenset[str]:
    """Letters that must be whole numbers: those in indices and in the ends of sums."""
    found: set[str] = set()
    for part in (part for node in nodes for part in node.walk()):
        if isinstance(part, tree.Index):
            for index in part.indices:
                found |= free_letters(index)
        elif isinstance(part, tree.Call) and part.function != "integral" and (span := binder(part)) is not None:
            found |= free_letters(span[1]) | free_letters(span[2])
    return frozenset(found)


def _close(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    import numpy as np

    if one.shape != other.shape:
        return False
    size = max(float(np.abs(one).max(initial=0.0)), float(np.abs(other).max(initial=0.0)))
    return bool(float(np.abs(one - other).max(initial=0.0)) <= TOLERANCE * size)


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
