"""Exact text of the families in the expression language, as SymPy would print it: rational coefficients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

Number = int | Fraction


def rows_of(mirror: Sequence[Number]) -> list[list[Fraction]]:
    """The rows of ``I - 2 m m^T / m^T m``; the identity if m = 0."""
    n, length = len(mirror), sum(m * m for m in mirror)
    unit = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    if not length:
        return unit
    return [[unit[i][j] - Fraction(2 * mirror[i] * mirror[j]) / length for j in range(n)] for i in range(n)]


def times(coefficient: Number, factor: str) -> str:
    """``3*factor/5`` with a sign in front of negative ones; ``factor`` itself for 1."""
    value = Fraction(coefficient)
    top = "" if abs(value.numerator) == 1 else f"{abs(value.numerator)}*"
    bottom = "" if value.denominator == 1 else f"/{value.denominator}"
    return f"{'-' if value < 0 else ''}{top}{factor}{bottom}"


def added(parts: Sequence[str]) -> str:
    """A sum; ``0`` if nothing is left. A part that begins with a minus is subtracted."""
    kept = [part for part in parts if part not in ("", "0")]
    if not kept:
        return "0"
    text = kept[0]
    for part in kept[1:]:
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


def combination(coefficients: Sequence[Number], names: Sequence[str]) -> str:
    """``3*y1/5 - 4*y2/5``; ``0`` if nothing is left."""
    return added([times(c, name) for c, name in zip(coefficients, names) if c])


def squared(argument: str) -> str:
    """``y1**2`` or ``(y1 - y2)**2``."""
    return f"{argument if _single(argument) else f'({argument})'}**2"


def _single(text: str) -> bool:
    return bool(re.fullmatch(r"\w+", text)) or wrapped(text)


def wrapped(text: str) -> bool:
    """Whether one pair of parentheses holds the whole text."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and place < len(text) - 1:
            return False
    return True


def shifted(names: Sequence[str], centre: Sequence[Number]) -> tuple[str, ...]:
    """``(x1 - 2)`` for every coordinate with a centre."""
    found = []
    for name, c in zip(names, centre):
        found.append(name if not c else f"({name} {'-' if c > 0 else '+'} {abs(c)})")
    return tuple(found)


def bilinear_text(matrix: Sequence[Sequence[Number]], left: Sequence[str], right: Sequence[str]) -> str:
    """``left . matrix right``, term by term; ``0`` if nothing is left."""
    return added([times(c, f"{a}*{b}") for row, a in zip(matrix, left) for c, b in zip(row, right) if c])
