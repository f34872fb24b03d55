"""Solve ``grad_y g(x, y) = 0`` for y in closed form where that is easy and certain.

Linear systems exactly; coordinates that separate one by one, by undoing invertible functions around a single
occurrence of y, and by Cardano's formula for increasing depressed cubics. Each answer is checked by substitution in
50 digits at random points before it is believed; strong convexity makes the solution unique. Nothing is searched, so
nothing can hang.
"""

from __future__ import annotations

import random
from typing import Any

import sympy
from sympy import Rational, S

from bilevel_verify import atoms

MAXIMUM_LINEAR = 12
"""Largest linear system that is solved symbolically."""


def solve_lower_level(
    equations: list[sympy.Expr], unknowns: tuple[sympy.Symbol, ...], parameters: tuple[sympy.Symbol, ...]
) -> tuple[sympy.Expr, ...] | None:
    """``y`` with ``equations(x, y) = 0``, one expression per unknown, or None if no easy closed form exists."""
    solution = _linear(equations, unknowns) or _separable(equations, unknowns)
    if solution is None or not _holds(equations, unknowns, parameters, solution):
        return None
    return solution


def _linear(equations: list[sympy.Expr], unknowns: tuple[sympy.Symbol, ...]) -> tuple[sympy.Expr, ...] | None:
    if len(unknowns) > MAXIMUM_LINEAR:
        return None
    matrix = sympy.Matrix([[e.diff(u) for u in unknowns] for e in equations])
    if matrix.free_symbols & set(unknowns) or (len(unknowns) > 4 and matrix.free_symbols):
        return None
    offset = sympy.Matrix(equations).subs(dict.fromkeys(unknowns, 0), simultaneous=True)
    if matrix.det().is_zero:
        return None
    return tuple(sympy.expand(v) if not matrix.free_symbols else v for v in matrix.LUsolve(-offset))


def _separable(equations: list[sympy.Expr], unknowns: tuple[sympy.Symbol, ...]) -> tuple[sympy.Expr, ...] | None:
    """Equation i contains unknown i alone."""
    result = []
    for equation, unknown in zip(equations, unknowns):
        if equation.free_symbols & (set(unknowns) - {unknown}):
            return None
        value = _peel(sympy.expand(equation), unknown)
        if value is None:
            return None
        result.append(value)
    return tuple(result)


def _peel(equation: sympy.Expr, unknown: sympy.Symbol) -> sympy.Expr | None:
    """Undo sums, products and invertible functions around the unknown; None where it occurs in several places."""
    left, right = equation, S.Zero
    for _ in range(40):
        if left == unknown:
            return right
        if isinstance(left, sympy.Add):
            right = right - sympy.Add(*(a for a in left.args if not a.has(unknown)))
            left = sympy.Add(*(a for a in left.args if a.has(unknown)))
            if isinstance(left, sympy.Add):
                return _grouped(left, right, unknown)
        elif isinstance(left, sympy.Mul):
            constant = sympy.Mul(*(a for a in left.args if not a.has(unknown)))
            left, right = sympy.Mul(*(a for a in left.args if a.has(unknown))), right / constant
            if isinstance(left, sympy.Mul):
                return None
        else:
            step = _inverse(left, right, unknown)
            if step is None:
                return None
            left, right = step
    return None


def _grouped(left: sympy.Expr, right: sympy.Expr, unknown: sympy.Symbol) -> sympy.Expr | None:
    """Several terms with the unknown: cubic polynomial, or a function of one affine combination."""
    polynomial = left.as_poly(unknown) if left.is_polynomial(unknown) else None
    if polynomial is not None:
        return _cardano(polynomial, right)
    inner = {a.args[-1] for a in left.atoms(sympy.Function) if a.has(unknown)}
    if len(inner) != 1:
        return None
    combination = inner.pop()
    slope = combination.diff(unknown)
    if slope.has(unknown) or slope == 0:
        return None
    dummy = sympy.Dummy("u", real=True)
    rest = sympy.expand(
        left.subs(combination, dummy).subs(unknown, (dummy - combination.subs(unknown, 0)) / slope) - right
    )
    value = None if rest.has(unknown) else _odd_root(rest, dummy)
    return None if value is None else (value - combination.subs(unknown, 0)) / slope


def _odd_root(equation: sympy.Expr, unknown: sympy.Symbol) -> sympy.Expr | None:
    """0 if an expression without parameters vanishes there."""
    return S.Zero if equation.free_symbols == {unknown} and equation.subs(unknown, 0) == 0 else None


def _cardano(polynomial: sympy.Poly, right: sympy.Symbol) -> sympy.Expr:
    """Real root of ``a y^3 + b y = c`` with ``a b > 0`` (increasing, hence unique)."""
    a, squared, b, constant = (polynomial.coeff_monomial(polynomial.gen**k) for k in (3, 2, 1, 0))
    if polynomial.degree() != 3 or squared != 0 or not (b / a).is_positive:
        return None
    p, q = b / a, (constant - right) / a
    return -2 * sympy.sqrt(p / 3) * sympy.sinh(sympy.asinh(3 * q / (2 * p) * sympy.sqrt(3 / p)) / 3)


def _inverse(left: sympy.Expr, right: sympy.Expr, unknown: sympy.Symbol) -> tuple[object, object] | None:
    if isinstance(left, sympy.Pow) and not left.exp.has(unknown):
        exponent = left.exp
        if exponent.is_Integer and exponent % 2 == 1 and exponent > 0:
            return left.base, atoms.sgnpow(1 / exponent, right)
        return None
    if isinstance(left, atoms.sgnpow) and left.parameters[0].is_positive:
        return left.argument, atoms.sgnpow(1 / left.parameters[0], right)
    pairs: dict[Any, Any] = {
        sympy.sinh: sympy.asinh,
        sympy.asinh: sympy.sinh,
        sympy.exp: sympy.log,
        sympy.log: sympy.exp,
        sympy.tanh: sympy.atanh,
        sympy.atan: sympy.tan,
        atoms.sigmoid: lambda v: sympy.log(v / (1 - v)),
        atoms.softplus: lambda v: sympy.log(sympy.exp(v) - 1),
    }
    inverse = pairs.get(left.func)
    return None if inverse is None else (left.args[0], inverse(right))


def _holds(
    equations: list[sympy.Expr],
    unknowns: tuple[sympy.Symbol, ...],
    parameters: tuple[sympy.Symbol, ...],
    solution: tuple[sympy.Expr, ...],
) -> bool:
    draw = random.Random(20240229)
    for _ in range(3):
        point = {s: Rational(draw.randint(-2000, 2000), 1009) for s in parameters}
        values = {u: v.subs(point).evalf(50) for u, v in zip(unknowns, solution)}
        if not all(v.is_Number and v.is_finite for v in values.values()):
            return False
        for equation in equations:
            residual = equation.subs(point).subs(values, simultaneous=True).evalf(50)
            if not residual.is_Number or abs(residual) > sympy.Float("1e-35", 50):
                return False
    return True
