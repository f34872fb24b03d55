"""Exact text of the families in the expression language: rational coefficients, nothing rounded."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilevel_verify.testing.families import Block


def rows_of(mirror: tuple[int, ...]) -> list[list[Fraction]]:
    """The rows of ``I - 2 m m^T / m^T m``; the identity if m = 0."""
    n, length = len(mirror), sum(m * m for m in mirror)
    unit = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    if not length:
        return unit
    return [[unit[i][j] - Fraction(2 * mirror[i] * mirror[j], length) for j in range(n)] for i in range(n)]


def combination(coefficients: list[Fraction], names: tuple[str, ...]) -> str:
    """``3/5*y1 - 4/5*y2``; ``0`` if nothing is left."""
    text = ""
    for coefficient, name in zip(coefficients, names):
        if coefficient:
            sign = " - " if coefficient < 0 else " + "
            size = abs(coefficient)
            text += sign + (name if size == 1 else f"{size}*{name}")
    if not text:
        return "0"
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


def block_text(block: Block, names: tuple[str, ...]) -> str:
    """A block; the variables may themselves be parenthesised shifts."""
    parts = []
    for row, curvature, atom, weight in zip(rows_of(block.mirror), block.spectrum, block.atoms, block.weights):
        t = combination(row, names)
        if curvature:
            parts.append(f"{Fraction(curvature, 2)}*({t})**2")
        if weight and atom != "none":
            parts.append(f"{weight}*{atom}({t})")
    linear = combination([Fraction(b) for b in block.linear], names)
    parts += [text for text in (linear if linear == "0" else f"({linear})", str(block.constant)) if text != "0"]
    return " + ".join(parts).replace("+ -", "- ") or "0"


def centred_text(block: Block, names: tuple[str, ...]) -> str:
    """A block around its centre."""
    centre = block.centre or (0,) * len(names)
    return block_text(
        block, tuple(f"({n} - {c})" if c > 0 else f"({n} + {-c})" if c else n for n, c in zip(names, centre))
    )


def bilinear_text(matrix: tuple[tuple[int, ...], ...], left: tuple[str, ...], right: tuple[str, ...]) -> str:
    """``left . matrix right``; ``0`` if nothing is left."""
    parts = []
    for row, name in zip(matrix, left):
        inner = combination([Fraction(c) for c in row], right)
        if inner != "0":
            parts.append(f"{name}*({inner})")
    return " + ".join(parts) or "0"
