"""Exact rewriting before the decomposition: own atoms for expressions that would lose by being taken apart."""

from __future__ import annotations

import sympy
from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.atoms.functions import AtomFunction, logsumexp, softplus
from bilevel_verify.constants.piecewise import registered
from bilevel_verify.problems.stable import stabilise


class lorentz(AtomFunction):
    """``1/(1+t^2)``."""

    atom = "lorentz"
    nargs = 1


class log1psquare(AtomFunction):
    """``log(1+t^2)``."""

    atom = "log1psquare"
    nargs = 1


class hypot1(AtomFunction):
    """``sqrt(1+t^2)``."""

    atom = "hypot1"
    nargs = 1


class gauss(AtomFunction):
    """``exp(-t^2/2)``."""

    atom = "gauss"
    nargs = 1


class sinc(AtomFunction):
    """``sin t / t`` with its value 1 at 0."""

    atom = "sinc"
    nargs = 1


class exprel(AtomFunction):
    """``(e^t - 1)/t`` with its value 1 at 0."""

    atom = "exprel"
    nargs = 1


class logrel(AtomFunction):
    """``log(1+t)/t`` with its value 1 at 0."""

    atom = "logrel"
    nargs = 1


class bell(AtomFunction):
    """``(1+t^2)^(-q/2)``; arguments ``(q, t)``."""

    atom = "bell"
    nargs = 2


def is_affine(expression: Expr, symbols: set[Symbol]) -> bool:
    """True if the expression is a polynomial of degree one in the symbols."""
    if not expression.is_polynomial(*symbols):
        return False
    return bool(sympy.Poly(expression, *symbols).total_degree() <= 1)


def normalise(expression: Expr) -> Expr:
    """Stable atoms, then roots, logarithms and powers of ``c + s q^2`` and ``exp(-s q^2)`` with their own atoms."""
    return _normalise(stabilise(expression))


def _normalise(expression: Expr) -> Expr:
    if not expression.args or not expression.free_symbols or isinstance(expression, DataSum):
        return expression
    if isinstance(expression, sympy.Piecewise) and len(expression.free_symbols) == 1:
        known = registered(expression, next(iter(expression.free_symbols)), _normalise)
        if known is not None:
            return known
    args = [_normalise(a) for a in expression.args]
    node = expression.func(*args) if list(expression.args) != args else expression
    if isinstance(node, Pow) and node.exp.is_Rational and not (node.exp.is_Integer and node.exp > 0):
        square = _positive_square(node.base)
        if square is not None:
            return _power_of_square(square, node.exp)
    if isinstance(node, Mul):
        return _removable(node)
    if isinstance(node, sympy.log):
        square = _positive_square(node.args[0])
        if square is not None:
            c, q = square
            return sympy.log(c) + log1psquare(q)
    if isinstance(node, sympy.exp):
        return _gaussian(node)
    if isinstance(node, logsumexp) and len(node.args) == 2:
        first, second = node.args
        return second + softplus(sympy.expand(first - second))
    return node


def _power_of_square(square: tuple[Expr, Expr], exponent: Rational) -> Expr:
    c, q = square
    front = c**exponent
    if exponent == Rational(1, 2):
        return front * hypot1(q)
    if exponent == -1:
        return front * lorentz(q)
    return front * bell(-2 * exponent, q)


def _positive_square(base: Expr) -> tuple[Expr, Expr] | None:
    """``(c, q)`` with ``base = c (1 + q^2)``, c > 0, q a single combination, if the base is such a quadratic."""
    symbols = base.free_symbols
    if not symbols or not base.is_polynomial(*symbols):
        return None
    poly = sympy.Poly(base, *sorted(symbols, key=lambda s: s.name))
    if poly.total_degree() != 2:
        return None
    direct = _explicit_square(base)
    if direct is not None:
        return direct
    if len(symbols) == 1:
        a, b, c = poly.all_coeffs() if poly.degree() == 2 else [Integer(0)] * 3
        low: Expr = sympy.simplify(c - b**2 / (4 * a)) if a != 0 else Integer(0)
        if a.is_positive and low.is_positive:
            t = next(iter(symbols))
            return low, sympy.sqrt(a / low) * (t + b / (2 * a))
    return None


def _explicit_square(base: Expr) -> tuple[Expr, Expr] | None:
    if not isinstance(base, Add):
        return None
    constant, varying = base.as_independent(*base.free_symbols, as_Add=True)
    if isinstance(varying, Add) or not constant.is_positive:
        return None
    s, core = varying.as_independent(*varying.free_symbols, as_Add=False)
    if isinstance(core, Pow) and core.exp == 2 and s.is_positive:
        return constant, sympy.sqrt(s / constant) * core.base
    return None


def _removable(node: Expr) -> Expr:
    """``sin(u)/u``, ``(e^u - 1)/u`` and ``log(1+u)/u`` as functions of their own."""
    factors = list(node.args)
    numbers, powers = [f for f in factors if f.is_number], [f for f in factors if not f.is_number]
    for top in powers:
        found = _vanishing_numerator(top)
        if found is None:
            continue
        function, inner = found
        others = Mul(*[f for f in powers if f is not top])
        ratio = sympy.cancel(others * inner)
        denominators = sympy.fraction(sympy.together(others))[1]
        if denominators.free_symbols and not sympy.fraction(ratio)[1].free_symbols:
            return Mul(*numbers) * ratio * function(inner)
    return node


def _vanishing_numerator(factor: Expr) -> tuple[type, Expr] | None:
    if isinstance(factor, sympy.sin):
        return sinc, factor.args[0]
    if isinstance(factor, sympy.log) and sympy.expand(factor.args[0] - 1).free_symbols:
        return logrel, sympy.expand(factor.args[0] - 1)
    if isinstance(factor, Add) and len(factor.args) == 2 and Integer(-1) in factor.args:
        other = factor.args[0] if factor.args[1] == -1 else factor.args[1]
        if isinstance(other, sympy.exp):
            return exprel, other.args[0]
    return None


def _gaussian(node: Expr) -> Expr:
    exponent = node.args[0]
    constant, varying = exponent.as_independent(*exponent.free_symbols, as_Add=True)
    if isinstance(varying, Add):
        return node
    s, core = varying.as_independent(*varying.free_symbols, as_Add=False)
    if isinstance(core, Pow) and core.exp == 2 and s.is_negative and is_affine(core.base, core.free_symbols):
        return sympy.exp(constant) * gauss(sympy.sqrt(-2 * s) * core.base)
    return node
