"""Derivatives of a decomposed formula over boxes: ridge coefficients and tensor entries as intervals.

The k-th derivative over a box is ``sum_l c_l a_l (x) ... (x) a_l + T`` with ``c_l`` in an exact range (the ridges) and
a tensor ``T`` of independent interval entries (quadratic part and rest). Keeping the two apart is what makes the bounds
tight: an interval tensor forgets that the entries of one ridge move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.constants.formula.structure import Ridge, Structure
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import coefficients_of, jet_space
from bilevel_verify.intervals.scalar import Scalar
from bilevel_verify.numbers.rounding import Array, Mask, enclose

if TYPE_CHECKING:
    import sympy

MEAN_VALUE_LIMIT = 120
"""Most partial derivatives of one order for which the centred form (one order more) is worth its cost."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """One derivative over a batch of boxes.

    Attributes
    ----------
    order : of the derivative.
    ridges : range of ``w_l phi_l^(k)``, shape (boxes, ridges).
    entries : partial derivatives of everything else by multi-index, shape (boxes, count).
    """

    order: int
    ridges: Interval
    entries: Interval


class Model:
    """Float enclosures of a structure, and its derivatives over boxes.

    Parameters
    ----------
    structure : the decomposed formula.
    is_x : for every variable, whether it belongs to the x block.
    """

    def __init__(self, structure: Structure, is_x: tuple[bool, ...]) -> None:
        self.structure, self.is_x = structure, is_x
        self.n = len(structure.variables)
        self.x = tuple(i for i in range(self.n) if is_x[i])
        self.y = tuple(i for i in range(self.n) if not is_x[i])
        self.weights = _column([r.weight for r in structure.ridges])
        self.shifts = _column([r.shift for r in structure.ridges])
        sparse = [[(i, enclose(c)) for i, c in r.row] for r in structure.ridges]
        self.summands = [_Summand(sparse, place) for place in range(max(map(len, sparse), default=0))]
        low, high = np.zeros((len(sparse), self.n)), np.zeros((len(sparse), self.n))
        for number, row in enumerate(sparse):
            for i, (a, b) in row:
                low[number, i], high[number, i] = a, b
        self.rows = Interval(low, high)
        self.row_centres = np.where(low == high, low, 0.5 * (low + high))
        self.families = _families(structure.ridges)
        self._program: Any = None

    @property
    def program(self) -> Any:
        """Straight-line program of the rest (None if there is none)."""
        if self._program is None and self.structure.rest is not None:
            from bilevel_verify.symbolic.program import program_of

            self._program = program_of(self.structure.rest, list(self.structure.variables))
        return self._program

    def slots(self, block: str) -> tuple[int, ...]:
        """Variable numbers of a block: ``x``, ``y`` or ``z`` (both)."""
        return {"x": self.x, "y": self.y, "z": tuple(range(self.n))}[block]

    def arguments(self, lo: Array, hi: Array) -> Interval:
        """Ranges of ``a_l . z + s_l`` over boxes, shape (boxes, ridges); nothing is rounded where 0 is added."""
        shape = (len(lo), len(self.structure.ridges))
        low, high = np.broadcast_to(self.shifts.lo, shape).copy(), np.broadcast_to(self.shifts.hi, shape).copy()
        plain = (low[:1] == 0) & (high[:1] == 0)
        for summand in self.summands:
            rows, term = summand.rows, summand.over(lo, hi)
            total = unless(plain[:, rows], term, Interval(low[:, rows], high[:, rows]) + term)
            low[:, rows], high[:, rows] = total.lo, total.hi
            plain[:, rows] = False
        return Interval(low, high)

    def ridge_ranges(self, order: int, arguments: Interval) -> Interval:
        """Ranges of ``w_l phi_l^(order)``; ridges of one function at a time."""
        low, high = np.empty_like(arguments.lo), np.empty_like(arguments.hi)
        for function, rows in self.families:
            values = function.range(order, arguments[:, rows])
            low[:, rows], high[:, rows] = values.lo, values.hi
        values = Interval(low, high)
        return unless((self.weights.lo == 1.0) & (self.weights.hi == 1.0), values, values * self.weights)

    def evaluate(self, order: int, lo: Array, hi: Array) -> Pieces:
        """The derivative of that order over boxes (mean-value form for the rest where the boxes are finite)."""
        ridges = self.ridge_ranges(order, self.arguments(lo, hi))
        entries = self.polynomial_part(order, lo, hi)
        if self.program is not None:
            entries = sum_of_entries(entries, self._rest(order, lo, hi))
        return Pieces(order, ridges, entries)

    def slopes(self, order: int, points: Array) -> Array:
        """Size of the derivatives of the pieces of that order along every variable at points (float estimates)."""
        pieces = self.evaluate(order + 1, points, points)
        sizes = np.abs(self.row_centres)
        out = np.abs(pieces.ridges.centre()) * np.sqrt((sizes**2).sum(axis=1)) ** order @ sizes
        space = jet_space(self.n, order + 1)
        indices = np.array([space.indices[number] for number in space.of_degree(order + 1)])
        if pieces.entries.lo.shape[1]:
            out = out + np.abs(pieces.entries.centre()) @ (indices > 0)
        return np.asarray(out)

    def polynomial_part(self, order: int, lo: Array, hi: Array) -> Interval:
        """Linear and quadratic part: gradient entries for order 1, constant Hessian entries for order 2.

        Without a rest there are no entries of order three and more, nor second ones without a quadratic (no columns).
        """
        if self.structure.rest is None and (order > 2 or (order == 2 and not self.structure.quadratic)):
            return Interval(np.zeros((len(lo), 0)), np.zeros((len(lo), 0)))
        space = jet_space(self.n, order)
        numbers = space.of_degree(order)
        low, high = np.zeros((len(lo), len(numbers))), np.zeros((len(lo), len(numbers)))
        place = {space.indices[number]: column for column, number in enumerate(numbers)}
        if order == 1:
            for i in range(self.n):
                total = self._gradient_entry(i, lo, hi)
                column = place[tuple(int(k == i) for k in range(self.n))]
                low[:, column], high[:, column] = total.lo, total.hi
        elif order == 2:
            for (i, j), value in self.structure.quadratic.items():
                index = [0] * self.n
                index[i] += 1
                index[j] += 1
                a, b = enclose(value)
                low[:, place[tuple(index)]], high[:, place[tuple(index)]] = a, b
        return Interval(low, high)

    def _gradient_entry(self, i: int, lo: Array, hi: Array) -> Interval:
        a, b = enclose(self.structure.linear.get(i, 0))
        total = Interval(np.full(len(lo), a), np.full(len(lo), b))
        for (p, q), value in self.structure.quadratic.items():
            if i in (p, q):
                other = q if p == i else p
                factor = Interval(*(np.asarray(v) for v in enclose(value)))
                total = total + Interval(lo[:, other], hi[:, other]) * factor
        return total

    def _rest(self, order: int, lo: Array, hi: Array) -> Interval:
        """Entries of the rest: natural extension, met with the centred form where the boxes are finite."""
        finite = bool(np.isfinite(lo).all() and np.isfinite(hi).all())
        thin = finite and bool((lo == hi).all())
        finite = finite and len(jet_space(self.n, order).of_degree(order)) <= MEAN_VALUE_LIMIT
        arithmetic = JetArithmetic(self.n, order + (1 if finite and not thin else 0))
        jet = self.program.run(arithmetic, arithmetic.variables(lo, hi))[0]
        natural = wide(coefficients_of(jet, order), len(lo))
        if not finite or thin:
            return natural
        slopes = wide(coefficients_of(jet, order + 1), len(lo))
        middle = 0.5 * lo + 0.5 * hi
        plain = JetArithmetic(self.n, order)
        centre = wide(coefficients_of(self.program.run(plain, plain.variables(middle, middle))[0], order), len(lo))
        return natural.meet(centre + self._slope_term(order, slopes, lo - middle, hi - middle, middle))

    def _slope_term(self, order: int, slopes: Interval, left: Array, right: Array, middle: Array) -> Interval:
        """``sum_j D^(alpha + e_j) (z_j - c_j)`` over the box, for every multi-index of the order."""
        space = jet_space(self.n, order + 1)
        lower = space.of_degree(order)
        place = {space.indices[number]: row for row, number in enumerate(space.of_degree(order + 1))}
        step = Interval(np.nextafter(left, -np.inf), np.nextafter(right, np.inf))
        low, high = np.zeros((len(left), len(lower))), np.zeros((len(left), len(lower)))
        for column, number in enumerate(lower):
            total: Interval | None = None
            for j in range(self.n):
                index = tuple(a + (k == j) for k, a in enumerate(space.indices[number]))
                row = slopes[:, place[index]]
                if not (row.lo.any() or row.hi.any()):
                    continue
                term = row * step[:, j]
                total = term if total is None else total + term
            if total is not None:
                low[:, column], high[:, column] = total.lo, total.hi
        return Interval(low, high)


class _Summand:
    """The entries of all rows at one place: ``rows``, variables and coefficients, those that are 1."""

    def __init__(self, sparse: list[list[tuple[int, tuple[float, float]]]], place: int) -> None:
        self.rows = [number for number, row in enumerate(sparse) if place < len(row)]
        entries = [sparse[number][place] for number in self.rows]
        self.variables = [i for i, _ in entries]
        self.coefficients = Interval(*(np.array([ends[side] for _, ends in entries]) for side in (0, 1)))
        self.ones = (self.coefficients.lo == 1.0) & (self.coefficients.hi == 1.0)

    def over(self, lo: Array, hi: Array) -> Interval:
        """Their ranges over boxes."""
        values = Interval(lo[:, self.variables], hi[:, self.variables])
        return values if self.ones.all() else unless(self.ones, values, values * self.coefficients)


def _families(ridges: Sequence[Ridge]) -> list[tuple[Scalar, list[int]]]:
    """The functions of the ridges, each with the ridges that have it."""
    found: dict[int, tuple[Scalar, list[int]]] = {}
    for number, ridge in enumerate(ridges):
        found.setdefault(id(ridge.function), (ridge.function, []))[1].append(number)
    return list(found.values())


def unless(plain: Mask, values: Interval, rounded: Interval) -> Interval:
    """Where nothing needs to be rounded the values themselves."""
    return Interval(np.where(plain, values.lo, rounded.lo), np.where(plain, values.hi, rounded.hi))


def sum_of_entries(constant: Interval, rest: Interval) -> Interval:
    """Entries of two parts; where the first has nothing the second stays as it is, unrounded."""
    used = (constant.lo != 0).any(axis=0) | (constant.hi != 0).any(axis=0)
    if not used.any():
        return rest
    total = constant + rest
    return Interval(np.where(used, total.lo, rest.lo), np.where(used, total.hi, rest.hi))


def wide(rows: Interval, boxes: int) -> Interval:
    """From (count, boxes or 1) to (boxes, count)."""
    shape = (rows.lo.shape[0], boxes)
    return Interval(np.broadcast_to(rows.lo, shape).T, np.broadcast_to(rows.hi, shape).T)


def _column(values: list[sympy.Expr]) -> Interval:
    pairs = [enclose(v) for v in values]
    return Interval(np.array([p[0] for p in pairs], dtype=float), np.array([p[1] for p in pairs], dtype=float))
