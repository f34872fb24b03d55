"""Derivatives that refuse what is not a function: jumps of Piecewise branches, floor, ceil, Dirac deltas."""

from __future__ import annotations

import random
from functools import lru_cache

import sympy

from bilevel_verify.errors import MathematicalError

_SAMPLES = 5
_STEP = sympy.Rational(1, 10**25)


def differentiate(expression: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr:
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


def gradient(expression: sympy.Expr, symbols: tuple[sympy.Symbol, ...]) -> list[sympy.Expr]:
    """Partial derivatives, in the order of the symbols."""
    return [differentiate(expression, s) for s in symbols]


def _refuse_jumps(expression: sympy.Expr, symbol: sympy.Symbol) -> None:
    for node in expression.atoms(sympy.floor, sympy.ceiling, sympy.Heaviside):
        if symbol in node.free_symbols:
            raise MathematicalError(f"{node} jumps; it has no derivative by {symbol}")
    for node in expression.atoms(sympy.Piecewise):
        if symbol in node.free_symbols:
            border = jump(node)
            if border is not None:
                raise MathematicalError(f"a Piecewise jumps where {border} = 0; its derivative is not a function")


@lru_cache(maxsize=4096)
def jump(node: sympy.Expr) -> sympy.Expr | None:
    """A border across which the branches of a Piecewise disagree, or None where it is continuous.

    Both sides are compared in 40 digits, at the exact border point where the border is affine (a hair beside it where
    a branch is undefined on it), else at points found by bisection along random lines.
    """
    symbols = sorted(node.free_symbols, key=lambda s: s.name)
    draw = random.Random(len(symbols) * 7919 + 17)
    for border in sorted(_borders(node), key=sympy.default_sort_key):
        for _ in range(1 if len(symbols) == 1 else _SAMPLES):
            if _disagree(node, _crossing(border, symbols, draw)):
                return border
    return None


def _borders(node: sympy.Expr) -> set[sympy.Expr]:
    found = set()
    for _, condition in node.args:
        for relation in condition.atoms(sympy.core.relational.Relational):
            found.add(sympy.expand(relation.lhs - relation.rhs))
    return {b if not b.could_extract_minus_sign() else -b for b in found}


Point = dict[sympy.Symbol, sympy.Expr]


def _disagree(node: sympy.Expr, ends: tuple[Point, Point] | None) -> bool:
    if ends is None:
        return False
    low, high = (node.subs(e).evalf(40) for e in ends)
    if not all(v.is_Number and v.is_finite for v in (low, high)):
        return False
    return bool(abs(low - high) > sympy.Float("1e-12", 40) * (1 + abs(low)))


def _crossing(border: sympy.Expr, symbols: list[sympy.Symbol], draw: random.Random) -> tuple[Point, Point] | None:
    """Two points a hair apart on both sides of ``border = 0``."""
    base = {s: sympy.Rational(draw.randint(-300, 300), 100) for s in symbols}
    for symbol in symbols:
        slope = border.diff(symbol)
        if slope.is_number and slope != 0:
            rest = {s: v for s, v in base.items() if s != symbol}
            place = (-border.subs(symbol, 0) / slope).subs(rest)
            return {**rest, symbol: place - _STEP}, {**rest, symbol: place + _STEP}
    return _bisection(border, base, draw)


def _bisection(border: sympy.Expr, base: Point, draw: random.Random) -> tuple[Point, Point] | None:
    way = {s: sympy.Rational(draw.randint(-100, 100), 100) for s in base}
    line = sympy.Symbol("t")
    along = border.subs({s: b + line * way[s] for s, b in base.items()}, simultaneous=True)

    def sign(t: sympy.Expr) -> int:
        value = along.subs(line, t).evalf(40)
        return 0 if not value.is_Number else int(sympy.sign(value))

    grid = [sympy.Rational(k, 2) for k in range(-16, 17)]
    signs = [sign(t) for t in grid]
    change = next((k for k in range(32) if signs[k] * signs[k + 1] < 0), None)
    if change is None:
        return None
    low, high, first = grid[change], grid[change + 1], signs[change]
    while high - low > _STEP:
        middle = (low + high) / 2
        side = sign(middle)
        if side == 0:
            low, high = middle - _STEP / 2, middle + _STEP / 2
        elif side == first:
            low = middle
        else:
            high = middle
    return tuple({s: b + t * way[s] for s, b in base.items()} for t in (low, high))  # type: ignore[return-value]
