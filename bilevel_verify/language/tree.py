"""The expression tree: what a text in a problem file, a card or a command line means before anything is computed.

One grammar serves all three. A tree is data: frozen, hashable, free of callables. Interpreters (to SymPy, to a unit,
to an interval, to a number, to LaTeX) live in the rooms that need them and walk the tree with ``match``.
Sums and products are n-ary, so that a sum of a thousand terms is one level deep.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""The order relation between numbers that holds where another one does not."""
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
"""The same relation read from right to left; its keys are the relations between numbers."""
HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
"""Whether a relation holds between two values that can be compared."""


class _AskedOnce:
    """A frozen tree of which the same is asked again and again: it is worked out once, and in no pickle."""

    __slots__ = ("_hash", "_parts")
    _hash: int
    _parts: tuple[Node, ...]

    def __init_subclass__(cls) -> None:
        made = vars(cls).get("__hash__")  # a dataclass with slots makes its class twice, the second time with a hash
        if made is not None:
            setattr(cls, "__hash__", _once(made))  # noqa: B010


def _once(made: Callable[[_AskedOnce], int]) -> Callable[[_AskedOnce], int]:
    def hashed(self: _AskedOnce) -> int:
        try:
            return self._hash
        except AttributeError:
            found = made(self)
            object.__setattr__(self, "_hash", found)
            return found

    return hashed


@dataclass(frozen=True, slots=True)
class Node(_AskedOnce):
    """Base of all nodes. ``column`` is the 1-based place in the source text; it takes no part in comparison."""

    column: int = field(default=0, compare=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        """The direct sub-trees, left to right."""
        for name in names_of(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            else:
                yield from (part for part in value if isinstance(part, Node))

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, in preorder, without recursion."""
        try:
            return iter(self._parts)
        except AttributeError:
            parts: list[Node] = []
            stack: list[Node] = [self]
            while stack:
                node = stack.pop()
                parts.append(node)
                for name in reversed(names_of(type(node))):
                    value = getattr(node, name)
                    if isinstance(value, tuple):
                        stack.extend([part for part in reversed(value) if isinstance(part, Node)])
                    else:
                        stack.append(value)
            if len(parts) <= MOST_KEPT:
                object.__setattr__(self, "_parts", tuple(parts))
            return iter(parts)


MOST_KEPT = 200
"""Nodes of a tree that are kept for its next walk: those of a long one would be as many as the square of its depth."""
_NAMES: dict[type[Node], tuple[str, ...]] = {}


def replaced(node: Node, altered: Mapping[str, object]) -> Node:
    """The node with some fields changed: ``dataclasses.replace`` without its questions, which cost most of it."""
    kind = type(node)
    order = _FIELDS.get(kind)
    if order is None:
        order = _FIELDS[kind] = tuple(item.name for item in fields(kind) if not item.kw_only)
    made: Callable[..., Node] = kind
    return made(*[altered[name] if name in altered else getattr(node, name) for name in order], column=node.column)


_FIELDS: dict[type[Node], tuple[str, ...]] = {}


def names_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that hold sub-trees: one, or a tuple of them."""
    found = _NAMES.get(kind)
    if found is None:
        found = _NAMES[kind] = tuple(item.name for item in fields(kind) if "Node" in str(item.type))
    return found


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An exact rational; decimals such as ``0.64`` and ``1e-3`` are read exactly."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Truth(Node):
    """``True`` or ``False``, as the last branch of a ``Piecewise`` has it."""

    value: bool


@dataclass(frozen=True, slots=True)
class Letter(Node):
    """A named quantity, ``pi``, ``E`` and ``oo`` included."""

    name: str


@dataclass(frozen=True, slots=True)
class Add(Node):
    """Sum of two or more terms; ``a - b`` is ``Add((a, Negate(b)))``."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Multiply(Node):
    """Product of two or more scalar factors (``*``)."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Divide(Node):
    """``numerator / denominator``."""

    numerator: Node
    denominator: Node


@dataclass(frozen=True, slots=True)
class Power(Node):
    """``base ** exponent``."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Modulo(Node):
    """``left % right``, with the sign of ``right`` as in Python and in mathematics."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class MatrixMultiply(Node):
    """``left @ right``."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """``-operand``."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Not(Node):
    """``not operand``."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """``and`` / ``or`` of two or more conditions."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A chain ``a < b <= c``: ``len(operands) == len(operators) + 1``; each link is judged by itself."""

    operands: tuple[Node, ...]
    operators: tuple[str, ...]

    def links(self) -> Iterator[tuple[Node, str, Node]]:
        """Neighbours with the relation between them."""
        return zip(self.operands, self.operators, self.operands[1:], strict=False)

    def pairs(self) -> Iterator[Compare]:
        """The links, each as a relation of its own."""
        for left, op, right in self.links():
            yield Compare((left, right), (op,))


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``yes if test else no``."""

    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``function(arguments)``; ``function`` is a plain name from a whitelist of the interpreter's own."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``base[i, j]``: an entry of a sequence or of a data array."""

    base: str
    indices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """A parenthesised tuple: the range ``(i, lo, hi)`` of a sum, or a ``Piecewise`` branch."""

    items: tuple[Node, ...]


def signed(value: Fraction | int) -> Node:
    """The number as the parser writes it: a negative one is the negation of a positive one."""
    exact = Fraction(value)
    return Number(exact) if exact >= 0 else Negate(Number(-exact))


def rational(node: Node) -> Fraction | None:
    """The value of a number, its negative or a quotient of such; None for anything else."""
    match node:
        case Number(value=value):
            return value
        case Negate(operand=inside):
            negated = rational(inside)
            return None if negated is None else -negated
        case Divide(numerator=top, denominator=bottom):
            above, below = rational(top), rational(bottom)
            return above / below if above is not None and below else None
    return None


def letters(node: Node) -> set[str]:
    """Every letter and every sequence name that occurs in a tree (bound indices included)."""
    found: set[str] = set()
    for part in node.walk():
        if isinstance(part, Letter):
            found.add(part.name)
        elif isinstance(part, Index):
            found.add(part.base)
    return found


def name_of(node: Node) -> str:
    """The name of a letter or of the sequence of an entry; empty for anything else."""
    return node.name if isinstance(node, Letter) else node.base if isinstance(node, Index) else ""


def head_of(node: Node) -> str:
    """The name of a letter, of the sequence of an entry or of a function that is called; empty for anything else."""
    return node.function if isinstance(node, Call) else name_of(node)


def functions(node: Node) -> set[str]:
    """Every function name that is called in a tree."""
    return {part.function for part in node.walk() if isinstance(part, Call)}


def is_zero(node: Node) -> bool:
    """Whether a tree is the number 0 as it is written."""
    return isinstance(node, Number) and node.value == 0
