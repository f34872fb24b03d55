"""Terms with rules of their own in any dimension: logsumexp of affine arguments, radial functions.

A special term bounds every derivative form by itself, and its Hessian from both sides in the Loewner order, so that the
calculus can add it to ridges and quadratics without expanding it into entries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import sympy
from sympy import Expr, Integer, Symbol

from bilevel_verify.atoms.functions import logsumexp
from bilevel_verify.constants.calculus.cumulants import affordable, mixed_norm
from bilevel_verify.constants.formula.rewriting import is_affine, normalise
from bilevel_verify.constants.formula.structure import as_ridge
from bilevel_verify.constants.search.branch import supremum
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.linalg import sphere_net
from bilevel_verify.intervals.scalar import Direct, Scalar
from bilevel_verify.numbers.rounding import Array, down, enclose, up

THIRD = 1 / (6 * sympy.sqrt(3))
"""Largest third cumulant of a variable of unit range."""


@dataclass(frozen=True)
class Special:
    """A term of the rest with its own rules; ``members`` are the variables that it touches (numbers in the part)."""

    term: Expr
    members: tuple[int, ...]

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        """Upper bound of a form over the box, and the rule."""
        raise NotImplementedError

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        """Matrices below and above the Hessian block of a letter over the box (alternatives, rounded to nearest)."""
        raise NotImplementedError


def specials_of(rest: Expr, variables: tuple[Symbol, ...]) -> tuple[list[Special], Expr | None]:
    """Split a rest into special terms and what remains."""
    place = {v: i for i, v in enumerate(variables)}
    found: list[Special] = []
    remaining = []
    for term in sympy.Add.make_args(rest):
        special = _logsumexp_term(term, place) or _radial_term(term, place)
        if special is None:
            remaining.append(term)
        else:
            found.append(special)
    return found, sympy.Add(*remaining) if remaining else None


# -- logsumexp


@dataclass(frozen=True)
class LogSumExp(Special):
    """``weight * log sum exp (W z + c)_i``: cumulants of a law on the rows of ``W`` (attained on the longest edge)."""

    weight: Expr
    rows: tuple[tuple[Expr, ...], ...]

    def spread(self, members: tuple[int, ...]) -> Expr:
        """Largest distance between two rows, restricted to some variables (exact)."""
        squares = [
            sympy.expand(sum((a[i] - b[i]) ** 2 for i in members)) for a, b in itertools.combinations(self.rows, 2)
        ]
        return sympy.sqrt(max(squares, key=lambda s: enclose(s)[1])) if squares else Integer(0)

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        best = enclose(self.closed(slots, blocks))[1]
        if affordable(self.rows, slots):
            size = max(abs(v) for v in enclose(self.weight))
            best = min(best, float(np.nextafter(mixed_norm(self.rows, slots, blocks["x"]) * size, math.inf)))
        return best, "logsumexp: cumulants of a law on the rows"

    def closed(self, slots: str, blocks: dict[str, tuple[int, ...]]) -> Expr:
        """Closed form of the bound for every form of order 1 to 4."""
        size = sympy.Abs(self.weight)
        k = len(slots)
        if k == 1:
            norms = [sympy.sqrt(sympy.expand(sum(r[i] ** 2 for i in blocks[slots]))) for r in self.rows]
            return size * max(norms, key=lambda v: enclose(v)[1])
        edges = [self.spread(blocks[s]) for s in slots]
        product = size * sympy.prod(edges)
        if k == 2:
            return product / 4
        if k == 3:
            # two equal slots: third cumulant of (A, A, B); three different ones lose a factor
            joint = size * self.spread(blocks["z"]) ** 3 * THIRD
            own = product / 8 if len(set(slots)) == 3 else product * THIRD
            return own if enclose(own)[1] <= enclose(joint)[1] else joint
        if len(set(slots)) == 1:
            return product / 8
        return size * self.spread(blocks["z"]) ** 4 / 8

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        w = np.array([[float(sum(enclose(c)) / 2) for c in row] for row in self.rows])
        weight = float(sum(enclose(self.weight)) / 2)
        m = len(w)
        centred = 0.5 * w.T @ (np.eye(m) - np.ones((m, m)) / m) @ w
        differences = np.array([w[i] - w[j] for i in range(m) for j in range(i)])
        _, values, right = np.linalg.svd(differences, full_matrices=False)
        basis = right[values > 1e-13 * max(values[0], 1e-300)]
        edge = float(enclose(self.spread(tuple(range(n))))[1])
        room = 1e-12 * m * edge * edge * np.eye(n)  # for the rounding of the rows and what the basis leaves out
        projector = edge * edge / 4 * (basis.T @ basis)
        top = [abs(weight) * (centred + room), abs(weight) * (projector + room)]
        nothing = [np.zeros((n, n))]
        return (nothing, top) if weight >= 0 else ([-t for t in top], nothing)


def _logsumexp_term(term: Expr, place: dict[Symbol, int]) -> LogSumExp | None:
    weight, core = term.as_independent(*term.free_symbols, as_Add=False)
    if not isinstance(core, logsumexp):
        return None
    symbols = core.free_symbols
    if not all(is_affine(a, symbols) for a in core.args):
        return None
    rows = tuple(tuple(sympy.expand(a).coeff(v, 1) for v in place) for a in core.args)
    return LogSumExp(term, tuple(sorted(place[s] for s in symbols)), weight, rows)


# -- radial


@dataclass(frozen=True)
class Radial(Special):
    """``Phi(|z - c|^2 / 2)`` on some variables; ``profile(j, m)`` is ``d^j/dr^j Phi^(m)(r^2/2)`` with its factor."""

    weight: Expr
    phi: Expr
    variable: Symbol
    centre: tuple[Expr, ...]

    def radius_range(self, lo: Array, hi: Array) -> tuple[float, float]:
        """Range of the distance from the centre over the box."""
        return radii(self.members, tuple((c, Integer(1)) for c in self.centre), lo, hi)

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        inside = {s: [i for i in self.members if i in blocks[s]] for s in set(slots)}
        if any(not members for members in inside.values()):
            return 0.0, "radial: block not touched"
        size = max(abs(v) for v in enclose(self.weight))
        r = self.radius_range(lo, hi)
        value = _radial_norm(self.phi, self.variable, len(slots), r)
        different = set(slots) - {"z"} == {"x", "y"}
        if slots in ("xy", "yx") and different:
            value = min(value, _radial_cross(self.phi, self.variable, 2, r))
        if sorted(slots) == ["x", "y", "z"]:
            value = min(value, _radial_cross(self.phi, self.variable, 3, r))
        return float(np.nextafter(value * size, math.inf)), "radial function"

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        r = self.radius_range(lo, hi)
        low, high = _radial_eigenvalues(self.phi, self.variable, r)
        weight = Interval(*(np.asarray(v) for v in enclose(self.weight)))
        scaled = Interval(np.asarray(low), np.asarray(high)) * weight
        projector = np.zeros((n, n))
        projector[self.members, self.members] = 1.0

        def times(v: float) -> Array:
            return np.where(projector > 0, v, 0.0)

        return [times(float(scaled.lo))], [times(float(scaled.hi))]


def _radial_term(term: Expr, place: dict[Symbol, int]) -> Radial | None:
    symbols = term.free_symbols
    if len(symbols) < 2 or (term.is_polynomial(*symbols) and sympy.Poly(term, *symbols).total_degree() > 8):
        return None
    weight, core = term.as_independent(*symbols, as_Add=False)
    profile = profile_of(core, symbols, lambda _, squares: all(square.scale == 1 for square in squares.values()))
    if profile is None:
        return None
    s, phi, squares = profile
    ordered = sorted(symbols, key=lambda v: place[v])
    return Radial(term, tuple(place[v] for v in ordered), weight, phi, s, tuple(squares[v].centre for v in ordered))


class Square(NamedTuple):
    """``scale (z - centre)^2``, one of a sum; the largest scale is 1."""

    centre: Expr
    scale: Expr


Squares = dict[Symbol, Square]


def profile_of(
    core: Expr, symbols: set[Symbol], fits: Callable[[Expr, Squares], bool]
) -> tuple[Symbol, Expr, Squares] | None:
    """``(s, Phi, squares)`` with ``core = Phi(s)`` at half of a sum of squares that ``fits``, with its factor."""
    s = sympy.Symbol("s", nonnegative=True)
    for node in sympy.preorder_traversal(core):
        if node.free_symbols != symbols or not isinstance(node, sympy.Add) or not node.is_polynomial(*symbols):
            continue
        shape = _squares(node, symbols)
        if shape is None or not fits(shape[0], shape[2]):
            continue
        phi = core.xreplace({node: 2 * shape[0] * s + shape[1]})
        if phi.free_symbols == {s}:
            return s, phi, shape[2]
    return None


def _squares(node: Expr, symbols: set[Symbol]) -> tuple[Expr, Expr, Squares] | None:
    """``(a, b, {z_i: (c_i, s_i)})`` with ``node = a sum_i s_i (z_i - c_i)^2 + b`` and ``0 < s_i <= 1``."""
    ordered = sorted(symbols, key=lambda v: v.name)
    poly = sympy.Poly(node, *ordered)
    if poly.total_degree() != 2:
        return None
    squares, linear, constant = {}, {}, Integer(0)
    for powers, coefficient in poly.terms():
        touched = [(ordered[i], p) for i, p in enumerate(powers) if p]
        if not touched:
            constant = coefficient
        elif len(touched) == 1 and touched[0][1] == 2:
            squares[touched[0][0]] = coefficient
        elif len(touched) == 1:
            linear[touched[0][0]] = coefficient
        else:
            return None
    if len(squares) != len(symbols):
        return None
    top = max(squares.values(), key=abs)
    if not all((weight / top).is_positive for weight in squares.values()):
        return None
    found = {v: Square(-linear.get(v, Integer(0)) / (2 * squares[v]), squares[v] / top) for v in ordered}
    offset = constant - sum((squares[v] * found[v].centre ** 2 for v in ordered), Integer(0))
    return top, sympy.expand(offset), found


def radii(members: tuple[int, ...], squares: Sequence[tuple[Expr, Expr]], lo: Array, hi: Array) -> tuple[float, float]:
    """Range of ``sqrt(sum_i s_i (z_i - c_i)^2)`` over a box, from the pairs ``(c_i, s_i)`` of the members."""
    total = Interval(np.zeros(1), np.zeros(1))
    for i, numbers in zip(members, squares, strict=True):
        centre, scale = (Interval(*(np.atleast_1d(v) for v in enclose(number))) for number in numbers)
        total = total + (Interval(lo[i : i + 1], hi[i : i + 1]) - centre).square() * scale
    return max(float(down(np.sqrt(np.maximum(total.lo, 0.0)))[0]), 0.0), float(up(np.sqrt(total.hi))[0])


@lru_cache(maxsize=256)
def _profile(phi: Expr, s: Symbol, m: int) -> tuple[Expr, Scalar] | None:
    """``(factor, function of r)`` with ``factor * function(r) = (2m-1)!! Phi^(m)(r^2/2)``; None for a constant."""
    r = sympy.Symbol("r", real=True)
    odd = math.prod(range(1, 2 * m, 2))
    expression = odd * sympy.diff(phi, s, m).subs(s, r**2 / 2)
    expression = normalise(sympy.powdenest(sympy.simplify(expression), force=True))
    weight, core = expression.as_independent(r, as_Add=False)
    if isinstance(core, sympy.Add):
        core, weight = expression, Integer(1)
    if not core.free_symbols:
        return None if expression == 0 else (expression, _constant_one(r))
    found = as_ridge(core, {r})
    if found is None:
        raise ValueError(f"no one-variable form for {core}")
    factor, function, argument, _ = found
    slope = sympy.expand(argument).coeff(r, 1)
    shift = sympy.expand(argument - slope * r)
    return weight * factor, _Scaled(function, slope, shift)


def _constant_one(r: Symbol) -> Scalar:
    from fractions import Fraction

    from bilevel_verify.intervals.scalar import scalar

    del r
    return scalar("power", Fraction(0))


def radial_power(special: Radial) -> Expr | None:
    """``p`` with ``Phi = c (2s)^(p/2)``, a pure power of the distance."""
    ratio = sympy.simplify(sympy.diff(special.phi, special.variable) * special.variable / special.phi)
    return 2 * ratio if ratio.is_number and ratio.is_Rational else None


class _Scaled(Direct):
    """``function(slope * r + shift)`` as a function of ``r``."""

    def __init__(self, function: Scalar, slope: Expr, shift: Expr) -> None:
        self.function, self.name = function, function.name
        self.slope = Interval(*(np.asarray(v) for v in enclose(slope)))
        self.shift = Interval(*(np.asarray(v) for v in enclose(shift)))
        self.plain = slope == 1 and shift == 0

    def range(self, order: int, t: Interval) -> Interval:
        value = self.function.range(order, t if self.plain else t * self.slope + self.shift)
        for _ in range(0 if self.plain else order):
            value = value * self.slope
        return value


def component(phi: Expr, s: Symbol, j: int, m: int, r: Interval) -> Interval:
    """``d^j/dr^j (2m-1)!! Phi^(m)(r^2/2)`` over ranges of r.

    Raises
    ------
    ValueError : the derivative is no function of one variable that the toolkit knows.
    """
    found = _profile(phi, s, m)
    if found is None:
        return Interval(np.zeros_like(r.lo), np.zeros_like(r.hi))
    factor, function = found
    return function.range(j, r) * Interval(*(np.asarray(v) for v in enclose(factor)))


@lru_cache(maxsize=1024)
def _radial_norm(phi: Expr, s: Symbol, order: int, r: tuple[float, float]) -> float:
    """``sup_r sup_theta |D^k h[u^k]|``, u at angle theta to the radius: the components are functions of r alone."""
    directions, delta = sphere_net(2, 160)
    cosine, sine = directions[:, 0], directions[:, 1]
    terms = [
        (order - 2 * m, m, math.comb(order, 2 * m) * cosine ** (order - 2 * m) * sine ** (2 * m))
        for m in range(order // 2 + 1)
    ]
    factor = (1 + 1e-12) / math.cos(order * delta)

    def bound(lo: Array, hi: Array) -> Array:
        span = Interval(lo[:, 0], hi[:, 0])
        value, spread = np.zeros((len(lo), len(cosine))), np.zeros((len(lo), len(cosine)))
        lost = np.zeros(len(lo), dtype=bool)
        for j, m, polynomial in terms:
            part = component(phi, s, j, m, span)
            lost |= ~(np.isfinite(part.lo) & np.isfinite(part.hi))
            centre = np.where(lost, 0.0, part.centre())
            radius = np.where(lost, 0.0, part.radius(part.centre()))
            value += centre[:, None] * polynomial
            spread += radius[:, None] * np.abs(polynomial)
        best = (np.abs(value) + spread).max(axis=1) * factor * (1 + 1e-13)
        return np.where(lost, np.inf, best)

    def sample(points: Array) -> Array:
        return bound(points, points) / factor * (1 - 1e-12)

    return supremum(bound, sample, np.array([r[0]]), np.array([r[1]]), 1e-4, 600).upper


@lru_cache(maxsize=1024)
def _radial_cross(phi: Expr, s: Symbol, order: int, r: tuple[float, float]) -> float:
    """xy blocks: ``sup |Phi''| r^2/2``; ``sup max(|Phi''| r, |Phi'' r + Phi''' r^3/2|)``.

    (``D^3 h[(u,0),(0,v),w]`` is bilinear in the squares of ``x.u`` and ``y.v``; its extremes sit at the corners.)
    """
    radius = sympy.Symbol("r", real=True)
    second, third = (sympy.diff(phi, s, k).subs(s, radius**2 / 2) for k in (2, 3))
    candidates = [second * radius**2 / 2] if order == 2 else [second * radius, second * radius + third * radius**3 / 2]
    best = 0.0
    for candidate in candidates:
        expression = normalise(sympy.factor(sympy.powdenest(sympy.simplify(candidate), force=True)))
        if expression == 0:
            continue
        weight, core = expression.as_independent(radius, as_Add=False)
        found = as_ridge(core, {radius})
        if found is None:
            return math.inf
        factor, function, argument, _ = found
        slope = sympy.expand(argument).coeff(radius, 1)
        scaled = _Scaled(function, slope, sympy.expand(argument - slope * radius))
        value = scaled.range(0, Interval(np.asarray(r[0]), np.asarray(r[1])))
        size = max(abs(v) for v in enclose(weight * factor))
        best = max(best, float(np.nextafter(float(value.magnitude()) * size, math.inf)))
    return best


@lru_cache(maxsize=1024)
def _radial_eigenvalues(phi: Expr, s: Symbol, r: tuple[float, float]) -> tuple[float, float]:
    """Range of both eigenvalues: along the radius (second derivative in r) and across it (``Phi'``)."""
    span = Interval(np.asarray(r[0]), np.asarray(r[1]))
    along, across = component(phi, s, 2, 0, span), component(phi, s, 0, 1, span)
    return float(min(along.lo, across.lo)), float(max(along.hi, across.hi))
