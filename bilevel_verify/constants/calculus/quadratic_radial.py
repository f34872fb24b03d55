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

from bilevel_verify.constants.calculus.specials import Special, component
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
    """``q(z) Phi(sum_i s_i (z_i - c_i)^2 / 2)`` on some variables; ``scales`` are the s."""

    quadratic: Quadratic
    phi: Expr
    variable: Symbol
    centre: tuple[Expr, ...]
    scales: tuple[Expr, ...]

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        inside = all(any(i in blocks[s] for i in self.members) for s in set(slots))
        low, high = self._range(len(slots), lo, hi) if inside else (0.0, 0.0)
        return max(-low, high, 0.0), "a quadratic times a radial function"

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        low, high = self._range(2, lo, hi)
        below, above = np.zeros((n, n)), np.zeros((n, n))
        for i, scale in zip(self.members, self.scales, strict=True):
            ends = Interval(*(np.asarray(v) for v in enclose(scale)))
            below[i, i] = float((ends * Interval(np.asarray(low), np.asarray(low))).lo)
            above[i, i] = float((ends * Interval(np.asarray(high), np.asarray(high))).hi)
        return [below], [above]

    def _radii(self, lo: Array, hi: Array) -> tuple[float, float]:
        """Range of the weighted distance from the centre over the box."""
        total = Interval(np.zeros(1), np.zeros(1))
        for i, centre, scale in zip(self.members, self.centre, self.scales, strict=True):
            a, b = (Interval(*(np.atleast_1d(v) for v in enclose(number))) for number in (centre, scale))
            total = total + (Interval(lo[i : i + 1], hi[i : i + 1]) - a).square() * b
        return max(float(down(np.sqrt(np.maximum(total.lo, 0.0)))[0]), 0.0), float(up(np.sqrt(total.hi))[0])

    def _range(self, order: int, lo: Array, hi: Array) -> tuple[float, float]:
        radii = self._radii(lo, hi)
        ends = [_supremum(self.quadratic, self.phi, self.variable, order, radii, s) for s in (-1, 1)]
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
    found = _profile_of(core, symbols)
    if found is None or poly.total_degree() > 2 or not all(c.is_Rational for c in poly.coeffs()):
        return None
    s, phi, squares = found
    members = tuple(place[v] for v in ordered)
    put = {v: v / sympy.sqrt(scale) + centre for v, (centre, scale) in squares.items()}
    moved = sympy.expand(top.xreplace(put))
    try:
        component(phi, s, 0, 4, Interval(np.ones(1), np.ones(1)))
    except ValueError:
        return None
    centres, scales = (tuple(squares[v][k] for v in ordered) for k in (0, 1))
    return QuadraticRadial(term, members, _quadratic(moved, ordered), phi, s, centres, scales)


def _profile_of(core: Expr, symbols: set[Symbol]) -> tuple[Symbol, Expr, dict[Symbol, tuple[Expr, Expr]]] | None:
    """The function of s, and for every variable its centre and its weight."""
    s = sympy.Symbol("s", nonnegative=True)
    for node in sympy.preorder_traversal(core):
        if node.free_symbols != symbols or not isinstance(node, sympy.Add) or not node.is_polynomial(*symbols):
            continue
        shape = _weighted_squares(node, symbols)
        if shape is None:
            continue
        phi = core.xreplace({node: 2 * shape[0] * s + shape[1]})
        if phi.free_symbols == {s}:
            return s, phi, shape[2]
    return None


def _weighted_squares(node: Expr, symbols: set[Symbol]) -> tuple[Expr, Expr, dict[Symbol, tuple[Expr, Expr]]] | None:
    """``(a, b, {z_i: (c_i, s_i)})`` with ``node = a sum_i s_i (z_i - c_i)^2 + b`` and ``0 < s_i <= 1``."""
    squares = {v: sympy.diff(node, v, 2) / 2 for v in symbols}
    if not all(weight.is_Rational and weight for weight in squares.values()):
        return None
    top = max(squares.values(), key=abs)
    if not all(weight / top > 0 for weight in squares.values()):
        return None
    slopes = {v: sympy.diff(node, v).xreplace({w: sympy.Integer(0) for w in symbols}) for v in symbols}
    centres = {v: -slopes[v] / (2 * squares[v]) for v in symbols}
    rest = sympy.expand(node - sum(squares[v] * (v - centres[v]) ** 2 for v in symbols))
    if rest.free_symbols or not all(centre.is_Rational for centre in centres.values()):
        return None
    return top, rest, {v: (centres[v], squares[v] / top) for v in symbols}


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
