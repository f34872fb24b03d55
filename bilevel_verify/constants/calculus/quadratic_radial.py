"""A quadratic times a radial function ``q(z) Phi(|z - c|^2 / 2)``: two numbers bound its derivatives, whatever n is.

The squares may have weights ``0 < s_i <= 1``: in ``sqrt(s_i) z_i`` they have none, and directions only shrink.

With ``z = c + r u`` and a unit vector ``v = x u + y w`` (``w`` across ``u``), the derivative of order k along v is
``c_0 q + c_1 q'(v) + c_2 q''(v, v)`` where the ``c_j`` are made of r, x and derivatives of Phi. For a quadratic
``q = z'Az + b'z + a`` it is linear in the two-by-two block ``B`` of ``A`` on u and w, whose eigenvalues lie between
those of A, and the supremum of ``<C, B>`` over such B is ``sum_i max(e_i lambda_max, e_i lambda_min)`` over the
eigenvalues of C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy
from sympy import Expr, Symbol

from bilevel_verify.constants.calculus.specials import Special, Square, Squares, component, profile_of, radii
from bilevel_verify.constants.search.branch import supremum
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.linalg import eigenvalue_range
from bilevel_verify.numbers.rounding import Array, down, enclose, up

TOLERANCE, BUDGET = 3e-3, 6000
ODD = (1, 1, 3, 15, 105)
"""``(2m - 1)!!``, which profiles of radial functions carry."""


@dataclass(frozen=True)
class Quadratic:
    """``z'Az + b'z + a`` about the centre: range of the eigenvalues of A, bound of ``|b|``, range of a."""

    eigenvalues: tuple[float, float]
    slope: float
    constant: tuple[float, float]


@dataclass(frozen=True)
class QuadraticRadial(Special):
    """``q(z) Phi(sum_i s_i (z_i - c_i)^2 / 2)`` on some variables."""

    quadratic: Quadratic
    phi: Expr
    variable: Symbol
    squares: tuple[Square, ...]

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        inside = all(any(i in blocks[s] for i in self.members) for s in set(slots))
        low, high = self._range(len(slots), lo, hi) if inside else (0.0, 0.0)
        return max(-low, high, 0.0), "a quadratic times a radial function"

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        low, high = self._range(2, lo, hi)
        below, above = np.zeros((n, n)), np.zeros((n, n))
        for i, square in zip(self.members, self.squares, strict=True):
            ends = Interval(*(np.asarray(v) for v in enclose(square.scale)))
            below[i, i] = float((ends * Interval(np.asarray(low), np.asarray(low))).lo)
            above[i, i] = float((ends * Interval(np.asarray(high), np.asarray(high))).hi)
        return [below], [above]

    def _range(self, order: int, lo: Array, hi: Array) -> tuple[float, float]:
        span = radii(self.members, self.squares, lo, hi)
        ends = [_supremum(self.quadratic, self.phi, self.variable, order, span, s) for s in (-1, 1)]
        if order % 2:  # an odd form takes both signs; only v with x >= 0 are looked at
            return -max(ends), max(ends)
        return -ends[0], ends[1]


def quadratic_radials(rest: Expr | None, variables: tuple[Symbol, ...]) -> tuple[list[QuadraticRadial], Expr | None]:
    """The terms of a rest that have this form, and what remains."""
    if rest is None:
        return [], None
    place = {v: i for i, v in enumerate(variables)}
    found, remaining = [], []
    for term in sympy.Add.make_args(rest):
        special = quadratic_radial(term, place)
        if special is None:
            remaining.append(term)
        else:
            found.append(special)
    return found, sympy.Add(*remaining) if remaining else None


def quadratic_radial(term: Expr, place: dict[Symbol, int]) -> QuadraticRadial | None:
    """The term in this form, if it has it and the quadratic is none of ``a |z - c|^2 + b``."""
    symbols = term.free_symbols
    if len(symbols) < 2:
        return None
    top = sympy.Mul(*(f for f in sympy.Mul.make_args(term) if f.is_polynomial(*symbols)))
    core = sympy.Mul(*(f for f in sympy.Mul.make_args(term) if not f.is_polynomial(*symbols)))
    if core.free_symbols != symbols or not top.free_symbols:
        return None
    ordered = sorted(symbols, key=lambda v: place[v])
    poly = sympy.Poly(top, *ordered)
    found = profile_of(core, symbols, _is_rational)
    if found is None or poly.total_degree() > 2 or not all(c.is_Rational for c in poly.coeffs()):
        return None
    s, phi, squares = found
    members = tuple(place[v] for v in ordered)
    put = {v: v / sympy.sqrt(square.scale) + square.centre for v, square in squares.items()}
    moved = sympy.expand(top.xreplace(put))
    try:
        component(phi, s, 0, 4, Interval(np.ones(1), np.ones(1)))
    except ValueError:
        return None
    return QuadraticRadial(term, members, _quadratic(moved, ordered), phi, s, tuple(squares[v] for v in ordered))


def _is_rational(factor: Expr, squares: Squares) -> bool:
    return bool(factor.is_Rational) and all(number.is_Rational for square in squares.values() for number in square)


def _quadratic(q: Expr, ordered: list[Symbol]) -> Quadratic:
    matrix = [[enclose(sympy.diff(q, v, w) / 2) for w in ordered] for v in ordered]
    low, high = (np.array([[entry[end] for entry in row] for row in matrix]) for end in (0, 1))
    least, most = eigenvalue_range(low[None], high[None])
    at_centre = dict.fromkeys(ordered, sympy.Integer(0))
    slope = sympy.sqrt(sum((sympy.diff(q, v).xreplace(at_centre) ** 2 for v in ordered), sympy.Integer(0)))
    constant = enclose(q.xreplace(at_centre))
    return Quadratic((float(least[0]), float(most[0])), float(enclose(slope)[1]), constant)


@lru_cache(maxsize=1024)
def _supremum(q: Quadratic, phi: Expr, s: Symbol, order: int, radii: tuple[float, float], sign: int) -> float:
    """Upper bound of ``sign D^k h (v, ..., v)`` over all radii and unit vectors."""
    if not math.isfinite(radii[1]):
        return math.inf

    def bound(lo: Array, hi: Array) -> Array:
        r, x = Interval(lo[:, 0], hi[:, 0]), Interval(lo[:, 1], hi[:, 1])
        return _largest(q, _weights(phi, s, order, r, x), r, x, sign)

    def sample(points: Array) -> Array:
        values = bound(points, points)
        return np.where(np.isfinite(values), values - 1e-9 * np.abs(values), -np.inf)

    return supremum(bound, sample, np.array([radii[0], 0.0]), np.array([radii[1], 1.0]), TOLERANCE, BUDGET).upper


def _weights(phi: Expr, s: Symbol, k: int, r: Interval, x: Interval) -> list[Interval]:
    """``c_0, c_1, c_2``: derivatives of the radial factor along v, times binomial coefficients."""
    parts = [component(phi, s, 0, m, r) * _number(1, ODD[m]) for m in range(k + 1)]
    along, square = r * x, (r * x).square()
    derivatives = [parts[0]]
    if k >= 1:
        derivatives.append(parts[1] * along)
    if k >= 2:
        derivatives.append(parts[1] + parts[2] * square)
    if k >= 3:
        derivatives.append(parts[2] * along * _number(3) + parts[3] * square * along)
    if k >= 4:
        derivatives.append(parts[2] * _number(3) + parts[3] * square * _number(6) + parts[4] * square.square())
    return [derivatives[k - j] * _number(math.comb(k, j)) for j in range(min(k, 2) + 1)]


def _number(top: int, bottom: int = 1) -> Interval:
    return Interval(*(np.asarray(v) for v in enclose(sympy.Rational(top, bottom))))


def _largest(q: Quadratic, weights: list[Interval], r: Interval, x: Interval, sign: int) -> Array:
    """Upper bound of ``sign (c_0 q + c_1 q'(v) + c_2 q''(v, v))`` over a box of r and x."""
    zero = Interval(np.zeros_like(r.lo), np.zeros_like(r.lo))
    c0, c1, c2 = [w if sign > 0 else -w for w in (*weights, zero, zero)[:3]]
    with np.errstate(invalid="ignore"):
        across = Interval(np.sqrt(np.maximum(down(1 - up(x.hi * x.hi)), 0.0)), np.sqrt(up(1 - down(x.lo * x.lo))))
    y = Interval(np.maximum(down(across.lo), 0.0), up(across.hi))
    two = _number(2)
    first = c0 * r.square() + c1 * r * x * two + c2 * x.square() * two
    mixed = c1 * r * y + c2 * x * y * two
    last = c2 * y.square() * two
    value = _over_blocks(first, mixed, last, q.eigenvalues)
    linear = [(c0 * r + c1 * x).magnitude(), (c1 * y).magnitude()]
    slope = up(up(np.hypot(*linear) * (1 + 1e-15)) * q.slope) if q.slope else 0.0
    ends = Interval(*(np.asarray(v) for v in q.constant))
    return np.asarray(up(up(value + slope) + (c0 * ends).hi))


def _over_blocks(first: Interval, mixed: Interval, last: Interval, ends: tuple[float, float]) -> Array:
    """Upper bound of ``<C, B>`` over symmetric B (2, 2) with eigenvalues in a range; C by its entries."""
    half = _number(1, 2)
    mean, gap = (first + last) * half, (first - last) * half
    root = (gap.square() + mixed.square()).hi
    reach = up(np.sqrt(up(root)))
    least = down(np.sqrt(np.maximum(down((gap.square() + mixed.square()).lo), 0.0)))
    spread = Interval(np.maximum(least, 0.0), reach)
    total = np.zeros_like(reach)
    for eigenvalue in (mean + spread, mean - spread):
        products = [eigenvalue * Interval(np.asarray(e), np.asarray(e)) for e in ends]
        total = up(total + np.maximum(products[0].hi, products[1].hi))
    return np.asarray(total)
