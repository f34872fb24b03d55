"""Derivatives of the scalar atoms in closed form: exact ranges on the whole line and critical points.

Every atom here has derivatives of one simple shape, so that everything follows from integer polynomials:

* ``generator``: ``phi^(k) = P_k(s)`` where ``s`` is a monotone function of ``t`` with ``s' = R(s)`` (tanh, sigmoid).
* ``rational``: ``phi^(k) = N_k(t) (1 + t^2)^(-e_k)`` (1/(1+t^2), t/(1+t^2), sqrt(1+t^2), and, from the first
  derivative on, atan, asinh, log(1+t^2)).
* ``gauss``: ``phi^(k) = (-1)^k He_k(t) exp(-t^2/2)``.

``phi^(k)`` is monotone between consecutive zeros of ``phi^(k+1)``, hence on an interval its range is decided by the
end points and the zeros inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import sympy
from sympy import Integer, Rational, cos, exp, oo, pi, sqrt

Polynomial = tuple[int, ...]
"""Integer coefficients, constant term first."""


def _derivative(p: Polynomial) -> Polynomial:
    return tuple(i * c for i, c in enumerate(p))[1:]


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    out = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return tuple(out)


def _difference(p: Polynomial, q: Polynomial) -> Polynomial:
    size = max(len(p), len(q))
    padded = [(p[i] if i < len(p) else 0) - (q[i] if i < len(q) else 0) for i in range(size)]
    while len(padded) > 1 and padded[-1] == 0:
        padded.pop()
    return tuple(padded)


@dataclass(frozen=True, slots=True)
class Family:
    """Shape of an atom's derivatives.

    Attributes
    ----------
    kind : ``generator``, ``rational`` or ``gauss``.
    start : order from which the shape holds (1 for antiderivatives such as softplus and atan).
    first : polynomial at order ``start``.
    flow : for ``generator``: ``s' = flow(s)``.
    generator : for ``generator``: name of ``s`` as an elementary function.
    span : for ``generator``: open range of ``s``.
    power : for ``rational``: twice the exponent ``e`` at order ``start`` (an integer).
    """

    kind: str
    start: int
    first: Polynomial
    flow: Polynomial = (0,)
    generator: str = ""
    span: tuple[int, int] = (-1, 1)
    power: int = 0


FAMILIES: dict[str, Family] = {
    "tanh": Family("generator", 0, (0, 1), flow=(1, 0, -1), generator="tanh"),
    "logcosh": Family("generator", 1, (0, 1), flow=(1, 0, -1), generator="tanh"),
    "sigmoid": Family("generator", 0, (0, 1), flow=(0, 1, -1), generator="sigmoid", span=(0, 1)),
    "softplus": Family("generator", 1, (0, 1), flow=(0, 1, -1), generator="sigmoid", span=(0, 1)),
    "lorentz": Family("rational", 0, (1,), power=2),
    "odd_lorentz": Family("rational", 0, (0, 1), power=2),
    "atan": Family("rational", 1, (1,), power=2),
    "log1psquare": Family("rational", 1, (0, 2), power=2),
    "asinh": Family("rational", 1, (1,), power=1),
    "hypot1": Family("rational", 0, (1,), power=-1),
    "gauss": Family("gauss", 0, (1,)),
}
"""``lorentz`` = 1/(1+t^2), ``odd_lorentz`` = t/(1+t^2), ``log1psquare`` = log(1+t^2), ``hypot1`` = sqrt(1+t^2),
``gauss`` = exp(-t^2/2); the other names are those of the expression language."""


@lru_cache(maxsize=4096)
def polynomial(name: str, order: int) -> tuple[Polynomial, int]:
    """Polynomial part of the derivative of that order, and for ``rational`` twice the exponent of 1/(1+t^2).

    Raises
    ------
    ValueError : below the order from which the shape holds.
    """
    family = FAMILIES[name]
    if order < family.start:
        raise ValueError(f"{name} has no polynomial form at order {order}")
    if order == family.start:
        return family.first, family.power
    p, power = polynomial(name, order - 1)
    if family.kind == "generator":
        return _product(_derivative(p), family.flow), 0
    if family.kind == "gauss":
        return _difference(_derivative(p), _product((0, 1), p)), 0
    raised = _product(_derivative(p), (1, 0, 1))
    return _difference(raised, _product((0, power), p)), power + 2


@lru_cache(maxsize=4096)
def critical_generators(name: str, order: int) -> tuple[tuple[Fraction, Fraction], ...]:
    """Rational enclosures of the zeros of the derivative of order ``order + 1``, in the variable of its polynomial.

    That variable is ``s`` for ``generator`` and ``t`` otherwise; zeros outside the range of ``s`` are left out.
    """
    family = FAMILIES[name]
    p, _ = polynomial(name, order + 1)
    low, high = family.span
    found = []
    for a, b in real_roots(p):
        if family.kind == "generator" and (b <= low or a >= high):
            continue
        found.append((a, b))
    return tuple(found)


@lru_cache(maxsize=4096)
def sign(name: str, order: int) -> int:
    """1 or -1 where the derivative has that sign (or vanishes) at every argument, by its polynomial; else 0.

    Raises
    ------
    ValueError : below the order from which the shape holds.
    """
    p, _ = polynomial(name, order)
    if len(p) == 1:
        return (p[0] > 0) - (p[0] < 0)
    if critical_generators(name, order - 1):
        return 0
    low, high = FAMILIES[name].span if FAMILIES[name].kind == "generator" else (0, 0)
    middle = Fraction(low + high, 2)  # no zero inside the range of the variable: one value decides
    value = sum(c * middle**i for i, c in enumerate(p))
    return (value > 0) - (value < 0)


@lru_cache(maxsize=4096)
def real_roots(p: Polynomial, bits: int = 80) -> tuple[tuple[Fraction, Fraction], ...]:
    """Disjoint rational enclosures of the distinct real roots of an integer polynomial, in increasing order."""
    if len(p) <= 1:
        return ()
    t = sympy.Dummy("t")
    poly = sympy.Poly(list(reversed(p)), t, domain="ZZ")
    poly = poly.quo(sympy.gcd(poly, poly.diff(t)))  # simple roots only
    width = sympy.Rational(1, 2**bits)
    pieces = poly.intervals(eps=width)
    return tuple((Fraction(int(a.p), int(a.q)), Fraction(int(b.p), int(b.q))) for (a, b), _ in pieces)


def _even_odd(even: Callable[[int], sympy.Expr], odd: Callable[[int], sympy.Expr]) -> Callable[[int], sympy.Expr]:
    return lambda k: even(k) if k % 2 == 0 else odd(k)


_LORENTZ = _even_odd(lambda k: sympy.factorial(k), lambda k: sympy.factorial(k) * cos(pi / (2 * (k + 2))) ** (k + 2))
_ODD_LORENTZ = _even_odd(
    lambda k: sympy.factorial(k) * cos(pi / (2 * (k + 2))) ** (k + 2), lambda k: sympy.factorial(k)
)
_TANH: dict[int, sympy.Expr] = {
    0: Integer(1),
    1: Integer(1),
    2: 4 / (3 * sqrt(3)),
    3: Integer(2),
    5: Integer(16),
    4: sqrt((15 - sqrt(105)) / 30) * (15 + sqrt(105)) / 30 * (16 - 24 * (15 - sqrt(105)) / 30),
}
_HYPOT: dict[int, sympy.Expr] = {
    1: Integer(1),
    2: Integer(1),
    3: Rational(3, 2) * Rational(4, 5) ** Rational(5, 2),
    4: Integer(3),
}
_ASINH: dict[int, sympy.Expr] = {1: Integer(1), 2: 2 / (3 * sqrt(3)), 3: Integer(1), 5: Integer(9)}
_GAUSS: dict[int, sympy.Expr] = {
    0: Integer(1),
    1: exp(Rational(-1, 2)),
    2: Integer(1),
    3: sqrt(18 - 6 * sqrt(6)) * exp(-(3 - sqrt(6)) / 2),
    4: Integer(3),
}


def supremum(name: str, order: int) -> sympy.Expr | None:
    """Closed form of ``sup |phi^(order)|`` on the whole line; ``oo`` if infinite, None if no closed form is kept.

    Sources: Chebyshev angles for the rational atoms, quadratic equations in ``s^2`` for tanh and the Gaussian.
    """
    k = order
    match name:
        case "sin" | "cos":
            return Integer(1)
        case "tanh":
            return _TANH.get(k)
        case "logcosh":
            return oo if k == 0 else _TANH.get(k - 1)
        case "sigmoid":
            base = _TANH.get(k)
            return base if k == 0 or base is None else base / 2 ** (k + 1)
        case "softplus":
            return oo if k == 0 else supremum("sigmoid", k - 1)
        case "lorentz":
            return _LORENTZ(k)
        case "odd_lorentz":
            return _ODD_LORENTZ(k)
        case "atan":
            return pi / 2 if k == 0 else _LORENTZ(k - 1)
        case "log1psquare":
            return oo if k == 0 else 2 * _ODD_LORENTZ(k - 1)
        case "hypot1":
            return oo if k == 0 else _HYPOT.get(k)
        case "asinh":
            return oo if k == 0 else _ASINH.get(k)
        case "gauss":
            return _GAUSS.get(k)
        case "erf":
            base = None if k == 0 else _GAUSS.get(k - 1)
            return Integer(1) if k == 0 else None if base is None else base * 2 / sqrt(pi) * sqrt(2) ** (k - 1)
    return None
