"""Reading a certificate: JSON text into trees of lists, integers and names, with every limit checked on the way.

A tree is an ``int``, a ``Fraction``, the name of a letter (``str``) or a tuple ``(operator, part, ...)``. Nothing of a
certificate is executed. ``work`` counts what a certificate costs, so that a hostile one ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

Tree: TypeAlias = "int | Fraction | str | tuple[Tree, ...]"
"""A number, a letter, or an operator with its parts."""
Compound: TypeAlias = tuple[Tree, ...]
"""An operator with its parts."""
TEXT, DEPTH, DIGITS, WORK, BITS = 2_000_000, 60, 400, 200_000, 20_000
"""Characters of a certificate, nesting, digits of a literal, counted steps, bits of a coefficient."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
NUMBER = re.compile(r"-?[0-9]+(/[0-9]+)?\Z")
RELATIONS = ("<=", "<", ">=", ">", "==")
PARTS = {"+": (1, 99), "*": (1, 99), "/": (2, 2), "^": (2, 2), "neg": (1, 1), "mod": (2, 2), "sum": (4, 4)}
PARTS |= {"if": (3, 3), "max": (1, 99), "min": (1, 99), "dot": (2, 2), "and": (1, 99), "or": (1, 99), "not": (1, 1)}
PARTS |= {"prod": (4, 4), "binomial": (2, 2)} | dict.fromkeys(RELATIONS, (2, 2))
FUNCTIONS = "sqrt log exp sin cos tan sinh cosh tanh abs plus sign floor ceil norm factorial".split()
PARTS |= dict.fromkeys(FUNCTIONS, (1, 1))
"""Operator -> least and largest number of parts."""


class Refused(Exception):
    """The certificate proves nothing; the message says why, ``Refused.line`` is filled in by the proof."""


class Work:
    """Counts steps of one certificate."""

    left = WORK

    def start(self) -> None:
        """Begin a certificate."""
        self.left = WORK

    def spend(self, steps: int) -> None:
        """Count steps.

        Raises
        ------
        Refused : more than ``WORK``.
        """
        self.left -= steps
        if self.left < 0:
            raise Refused(f"more than {WORK} steps of work")


work = Work()


def read(text: str) -> Any:
    """The JSON value of a certificate.

    Raises
    ------
    Refused : too long, too deep, floats, long numbers, keys that occur twice, or no JSON.
    """
    if len(text) > TEXT:
        raise Refused(f"{len(text)} characters; at most {TEXT} are read")
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_never, parse_constant=_never
        )
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON that is read here: {str(error)[:80]}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number of more than {DIGITS} digits")
    return int(text)


def _never(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is no exact number")


def tree(data: object, depth: int = DEPTH) -> Tree:
    """A JSON value as a tree.

    Raises
    ------
    Refused : an unknown operator, a wrong number of parts, a bad name, nested too deep.
    """
    work.spend(1)
    if depth < 0:
        raise Refused(f"nested deeper than {DEPTH}")
    if isinstance(data, int) and not isinstance(data, bool):
        return data
    if isinstance(data, str):
        if NAME.match(data):
            return data
        bottom = data.partition("/")[2]
        if not NUMBER.match(data) or len(data) > 2 * DIGITS or (bottom and not bottom.strip("0")):
            raise Refused(f"{data[:40]!r} is neither a letter nor a number")
        return Fraction(data)
    if not isinstance(data, list) or not data or not isinstance(data[0], str) or data[0] not in PARTS:
        raise Refused(f"{str(data)[:40]!r} is no expression")
    low, high = PARTS[data[0]]
    parts = data[1:]
    if data[0] in ("sum", "prod") and len(parts) == 4 and not (isinstance(parts[1], str) and NAME.match(parts[1])):
        raise Refused("the index of a sum must be a letter")
    if not low <= len(parts) <= max(high, 4000 if high == 99 else 0):
        raise Refused(f"{data[0]} has {len(parts)} parts")
    return (data[0], *(tree(part, depth - 1) for part in parts))


def letter_of(node: Tree) -> str:
    """The letter that a tree is.

    Raises
    ------
    Refused : it is none.
    """
    if not isinstance(node, str):
        raise Refused(f"{str(node)[:40]} is no letter")
    return node


def rational_of(node: Tree) -> Fraction:
    """The number that a tree is.

    Raises
    ------
    Refused : it is none.
    """
    if not isinstance(node, int | Fraction):
        raise Refused(f"{str(node)[:40]} is no number")
    return Fraction(node)


def split(node: Tree) -> tuple[str, tuple[Tree, ...]]:
    """Operator and parts of a tree.

    Raises
    ------
    Refused : a letter or a number.
    """
    if not isinstance(node, tuple):
        raise Refused(f"{str(node)[:40]} has no parts")
    return letter_of(node[0]), node[1:]


def substituted(node: Tree, values: dict[str, Tree]) -> Tree:
    """Letters replaced by trees; the index of a sum hides a letter of its name, and must not capture one."""
    work.spend(1)
    if isinstance(node, str):
        return values.get(node, node)
    if not isinstance(node, tuple):
        return node
    if node[0] in ("sum", "prod"):
        body, index, low, high = node[1], letter_of(node[2]), node[3], node[4]
        inner = {name: value for name, value in values.items() if name != index and name in letters(body)}
        if any(index in letters(value) for value in inner.values()):
            raise Refused(f"the index {index} would capture a letter")
        return (node[0], substituted(body, inner), index, substituted(low, values), substituted(high, values))
    return (node[0], *(substituted(part, values) for part in node[1:]))


def is_vector(node: object, sorts: Mapping[str, str]) -> bool:
    """Whether a tree, or its JSON data, is made of vectors outside of norms and inner products."""
    if isinstance(node, tuple | list):
        return node[0] not in ("dot", "norm") and any(is_vector(part, sorts) for part in node[1:])
    return isinstance(node, str) and sorts.get(node) == "vector"


def letters(node: Tree) -> set[str]:
    """Free letters of a tree."""
    work.spend(1)
    if isinstance(node, str):
        return {node}
    if not isinstance(node, tuple):
        return set()
    if node[0] in ("sum", "prod"):
        return (letters(node[1]) - {letter_of(node[2])}) | letters(node[3]) | letters(node[4])
    return set().union(*(letters(part) for part in node[1:]))
