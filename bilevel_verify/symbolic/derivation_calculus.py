"""Derivatives that refuse what is not a function: jumps of Piecewise branches, floor, ceil, Dirac deltas."""

from __future__ import annotations

import random
from typing import Any

import sympy

from bilevel_verify.errors import MathematicalError

_SAMPLES = 24
_STEP = sympy.Rational(1, 10**25)


def differentiate(expression: Any, symbol: sympy.Symbol) -> Any:
    """``d expression / d symbol``.

    Raises
    ------
    MathematicalError : the expression jumps (``floor``, ``ceil``, a discontinuous ``Piecewise``), or is a kink whose
        derivative is not a locally integrable function; the message names the term.
    """
    if expression.has(sympy.Piecewise, sympy.floor, sympy.ceiling, sympy.Heaviside):
        _refuse_jumps(expression, symbol)
    result = expression.diff(symbol)
    if result.has(sympy.DiracDelta, sympy.Derivative, sympy.Subs):
        raise MathematicalError(f"the derivative by {symbol} is not a function: {str(result)[:80]}")
    return result


def gradient(expression: Any, symbols: tuple[sympy.Symbol, ...]) -> list[Any]:
    """Partial derivatives, in the order of the symbols."""
    return [differentiate(expression, s) for s in symbols]


def _refuse_jumps(expression: Any, symbol: sympy.Symbol) -> None:
    for node in expression.atoms(sympy.floor, sympy.ceiling, sympy.Heaviside):
        if symbol in node.free_symbols:
            raise MathematicalError(f"{node} jumps; it has no derivative by {symbol}")
    for node in expression.atoms(sympy.Piecewise):
        if symbol in node.free_symbols:
            _refuse_jump_of_branches(node)


def _refuse_jump_of_branches(node: Any) -> None:
    """Compare neighbouring branches in 60 digits on both sides of each border, at random points of it."""
    borders = {
        (c.lhs - c.rhs)
        for _, condition in node.args
        for c in condition.atoms(sympy.core.relational.Relational)
        if c.lhs != c.rhs
    }
    symbols = sorted(node.free_symbols, key=lambda s: s.name)
    draw = random.Random(len(symbols) * 7919 + 17)
    for border in borders:
        for _ in range(_SAMPLES):
            ends = _crossing(border, symbols, draw)
            if ends is None:
                continue
            low, high = (node.subs(e).evalf(60) for e in ends)
            if not low.is_Number or not high.is_Number or not low.is_finite or not high.is_finite:
                continue
            if abs(low - high) > sympy.Float("1e-12", 60) * (1 + abs(low)):
                raise MathematicalError(f"a Piecewise jumps where {border} = 0; its derivative is not a function")


def _crossing(
    border: Any, symbols: list[sympy.Symbol], draw: random.Random
) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """Two points a hair apart on both sides of ``border = 0``, by bisection along a random line."""
    base = [sympy.Rational(draw.randint(-300, 300), 100) for _ in symbols]
    way = [sympy.Rational(draw.randint(-100, 100), 100) for _ in symbols]
    line = sympy.Symbol("t")
    along = border.subs({s: b + line * w for s, b, w in zip(symbols, base, way)}, simultaneous=True)
    low, high = sympy.Rational(-8), sympy.Rational(8)

    def sign(t: Any) -> int:
        value = along.subs(line, t).evalf(60)
        return 0 if not value.is_Number else int(sympy.sign(value))

    first, last = sign(low), sign(high)
    if first * last >= 0:
        return None
    while high - low > _STEP:
        middle = (low + high) / 2
        side = sign(middle)
        if side == 0:
            low, high = middle - _STEP / 2, middle + _STEP / 2
        elif side == first:
            low = middle
        else:
            high = middle
    return tuple({s: b + t * w for s, b, w in zip(symbols, base, way)} for t in (low, high))  # type: ignore[return-value]
