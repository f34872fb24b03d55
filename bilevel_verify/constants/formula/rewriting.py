"""Exact rewriting before the decomposition: own atoms for expressions that would lose by being taken apart."""

from __future__ import annotations

import sympy
from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol
from sympy.core.relational import Relational

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.atoms.functions import AtomFunction, logsumexp, softplus
from bilevel_verify.constants.formula.piecewise import registered
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
    if isinstance(expression, sympy.Piecewise):
        along = _along_one_direction(expression)
        if along is not None:
            return along
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


def _along_one_direction(node: Expr) -> Expr | None:
    """A Piecewise that sees one affine form of several variables: a registered function of that form."""
    relations = sorted(node.atoms(Relational), key=sympy.default_sort_key)
    gap = sympy.expand(relations[0].lhs - relations[0].rhs) if relations else Integer(0)
    symbols = gap.free_symbols
    if len(symbols) < 2 or symbols != node.free_symbols or not is_affine(gap, symbols):
        return None
    form = gap - gap.as_independent(*symbols, as_Add=True)[0]
    pivot = min(symbols, key=lambda s: s.name)
    slope = form.coeff(pivot, 1)
    t = sympy.Symbol("_t", real=True)
    solved = {pivot: sympy.expand((t - (form - slope * pivot)) / slope)}
    pairs = []
    for branch, condition in node.args:
        turned = condition
        for relation in condition.atoms(Relational):
            turned = turned.xreplace(
                {relation: relation.func(sympy.expand((relation.lhs - relation.rhs).xreplace(solved)), 0)}
            )
        pairs.append((sympy.expand(branch.xreplace(solved)), turned))
    body = sympy.Piecewise(*pairs)
    if body.free_symbols != {t} or not isinstance(body, sympy.Piecewise):
        return None
    known = registered(body, t, _normalise)
    return None if known is None else known.xreplace({t: form})


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
    """``sin(u)/u``, ``(e^u - 1)/u`` and ``log(1+u)/u`` as functions of their own, and what is made of them."""
    reduced = _reduced(node)
    if reduced is not node:
        return _normalise(reduced)
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
        if denominators.free_symbols and _harmless(sympy.fraction(ratio, exact=True)[1]):
            return Mul(*numbers) * ratio * function(inner)
    return node


def _harmless(denominator: Expr) -> bool:
    """No factor that vanishes where the numerators of this module do."""
    factors = [f.as_base_exp()[0] for f in Mul.make_args(denominator)]
    return all(not f.free_symbols or isinstance(f, sympy.cos | sympy.exp) for f in factors)


def _reduced(node: Expr) -> Expr:
    """The same function in a form whose singularity is removed or known: exact identities only."""
    symbols = node.free_symbols
    denominator = sympy.fraction(node)[1]
    if not denominator.free_symbols:
        return node
    if node.is_rational_function(*symbols):
        lowest = sympy.cancel(node)
        return lowest if lowest.is_polynomial(*symbols) else node
    for factor in node.args:
        if isinstance(factor, sympy.sinh):  # 2 sinh(u)/u = (e^u - 1)/u + (e^(-u) - 1)/(-u)
            u = factor.args[0]
            ratio = sympy.cancel(node / factor * u)
            return ratio * (exprel(u) + exprel(-u)) / 2 if _harmless(sympy.fraction(ratio, exact=True)[1]) else node
        if isinstance(factor, sympy.tan):
            return node / factor * sympy.sin(factor.args[0]) / sympy.cos(factor.args[0])
        cosine = _one_minus_cosine(factor)
        if cosine is not None:  # 1 - cos u = 2 sin(u/2)^2
            sign, u = cosine
            ratio = sympy.cancel(node / factor * (u / 2) ** 2)
            return 2 * sign * ratio * sinc(u / 2) ** 2 if not sympy.fraction(ratio)[1].free_symbols else node
    return node


def _one_minus_cosine(factor: Expr) -> tuple[int, Expr] | None:
    """``(s, u)`` with ``factor = s (1 - cos u)``."""
    if not isinstance(factor, Add) or len(factor.args) != 2:
        return None
    for sign in (1, -1):
        rest = sign - factor
        if isinstance(sign * rest, sympy.cos):
            return sign, (sign * rest).args[0]
    return None


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
