"""Long formulas in pieces between which a browser may begin a new line: browsers do not break MathML themselves.

A formula is cut before relations, sums and differences of its own level, after a space (of a product) where a piece has
become long, and inside the fences of a group that is too long for a line; nothing else is changed, so the pieces one
after the other are the formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LONG = 34
"""Symbols from which a formula is cut, about half a line of a wide page."""
_SYMBOL = re.compile(r"<m(?:[ino]|text)\b")
_OPERATOR = re.compile(r"<mo(?: [^>]*)?>([^<]*)</mo>")
_OPENING = re.compile(r"<mo[^>]*>[(\[{⟨⌊⌈]</mo>")
_CLOSING = re.compile(r"<mo[^>]*>[)\]}⟩⌋⌉]</mo>")
BEFORE = frozenset("= ≤ ≥ &lt; &gt; ≈ ≡ ≲ ≳ ≪ ≫ ∼ ≔ ≜ ⟹ ⇒ ⟺ ⇔ + − ±".split())
"""Operators that begin a new piece."""


class Fenced(str):
    """MathML of a group between two fences that remembers its parts."""

    __slots__ = ("parts",)
    parts: tuple[str, ...]


def fenced(opening: str, items: Sequence[str], closing: str) -> Fenced:
    """A group with stretching fences; an empty fence is none."""
    left = f'<mo fence="true" stretchy="true">{opening}</mo>' if opening else ""
    right = f'<mo fence="true" stretchy="true">{closing}</mo>' if closing else ""
    made = Fenced(f"<mrow>{left}{''.join(items)}{right}</mrow>")
    made.parts = (left, *items, right)
    return made


def size(mathml: str) -> int:
    """How many symbols a piece has."""
    return len(_SYMBOL.findall(mathml))


def pieces(items: Sequence[str]) -> list[str]:
    """The items of a formula in pieces, each the inside of a ``<math>``; one piece if it is short."""
    if size("".join(items)) <= LONG:
        return ["".join(items)]
    found = [""]
    operand = False  # is there something to the left that a sum or a relation could join?
    depth = 0
    for item, cut in _opened(items):
        operator = _OPERATOR.fullmatch(item)
        if not cut:
            depth += bool(_OPENING.fullmatch(item)) - bool(_CLOSING.fullmatch(item))
        if operator and operator[1] in BEFORE and operand and depth <= 0:
            found.append(_infix(item))
        elif item.startswith("<mspace") and depth <= 0 and size(found[-1]) > LONG // 2:
            found[-1] += item
            found.append("")
        else:
            found[-1] += item
        operand = not item.startswith("<mspace") and (operator is None or bool(_CLOSING.fullmatch(item)))
    return [part for part in found if part]


def _opened(items: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The items, and whether each is a fence of a group that was too long for a line: those do not stretch."""
    for item in items:
        if isinstance(item, Fenced) and size(item) > LONG and item.parts[0] and item.parts[-1]:
            left, *inner, right = item.parts
            yield left.replace('stretchy="true"', 'stretchy="false"'), True
            yield from _opened(inner)
            yield right.replace('stretchy="true"', 'stretchy="false"'), True
        else:
            yield item, False


def _infix(item: str) -> str:
    """At the beginning of a piece an operator would lose its space: it is said to stand between two."""
    return item.replace("<mo", '<mo form="infix"', 1)
