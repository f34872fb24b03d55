"""Matrices below and above the Hessian of a rest over boxes, in the Loewner order.

Everything together as a function of its affine arguments, and term by term: a term of two arguments ``F(u, v)`` has its
second derivatives over a grid of cells in a table (certified once), so that boxes that are wide in all variables see
its curvature as it is and not as interval arithmetic makes it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import sympy
from sympy import Expr

from bilevel_verify.constants.formula.inner import Inner, inner_of, of_forms
from bilevel_verify.constants.formula.model import Model, Pieces, sum_of_entries, wide
from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.intervals.batch import Interval, sum_of
from bilevel_verify.intervals.curvature import CurvatureArithmetic
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.jets import coefficients_of
from bilevel_verify.intervals.linalg import eigenvalue_range
from bilevel_verify.intervals.tables import CellTable
from bilevel_verify.numbers.rounding import Array

CELLS = 32
"""Cells of a table along each of its two arguments."""


class Loewner:
    """Bounds of the Hessian of a model with a rest over boxes inside of one box.

    Parameters
    ----------
    model : the function; it has a rest. lo, hi : the box, shape (n,).
    """

    def __init__(self, model: Model, lo: Array, hi: Array) -> None:
        assert model.structure.rest is not None
        self.model, self.lo, self.hi = model, lo[None], hi[None]
        self.variables = model.structure.variables
        self.whole = inner_of(model.structure.rest, self.variables)

    @cached_property
    def terms(self) -> tuple[list[PlanarTerm], Inner | None]:
        """The terms of two arguments, and what remains."""
        found: list[PlanarTerm] = []
        remaining: list[Expr] = []
        rest = self.model.structure.rest
        parts = sympy.Add.make_args(rest)
        for part in parts if len(self.variables) > 2 and np.isfinite([self.lo, self.hi]).all() else ():
            inner = inner_of(part, self.variables, fewest=True)
            if len(inner.symbols) == 2:
                found.append(PlanarTerm(inner, self.lo, self.hi))
            else:
                remaining.append(part)
        if not found:
            return [], self.whole
        return found, inner_of(sympy.Add(*remaining), self.variables) if remaining else None

    def pieces(self, lo: Array, hi: Array) -> tuple[list[Pieces], list[Pieces]]:
        """Alternatives below and above the Hessian over boxes."""
        ridges = self.model.ridge_ranges(2, self.model.arguments(lo, hi))
        constant = self.model.polynomial_part(2, lo, hi)
        planar, remaining = self.terms
        if remaining is None:
            sides = [[constant], [constant]]
        else:
            sides = [[sum_of_entries(constant, entries) for entries in some] for some in _by_forms(remaining, lo, hi)]
        more = [term.sides(lo, hi) for term in planar]
        below, above = (
            [Pieces(2, ridges, entries) for entries in _added(some, [term[side] for term in more])]
            for side, some in enumerate(sides)
        )
        return below, above


def _added(first: list[Interval], more: list[tuple[Interval, Interval]]) -> list[Interval]:
    """Every alternative of the first plus all terms by their entries; the last one plus all by their eigenvalues."""
    if not more:
        return first
    by_entries, by_eigenvalues = (sum_of([term[k] for term in more]) for k in (0, 1))
    return [*(one + by_entries for one in first), first[-1] + by_eigenvalues]


class PlanarTerm:
    """A term of two affine arguments, with a table of its second derivatives over a box of them."""

    def __init__(self, inner: Inner, lo: Array, hi: Array) -> None:
        self.inner = inner
        self.model = Model(Structure(inner.symbols, {}, {}, (), inner.outer), (False, False))
        ends = [(float(a[0]), float(b[0])) for a, b in zip(*(u.T for u in inner.arguments(lo, hi)), strict=True)]
        edges = [np.append(np.linspace(a, b, CELLS + 1)[:-1], b) for a, b in ends]
        low = np.stack(np.meshgrid(*(e[:-1] for e in edges), indexing="ij"), axis=-1).reshape(-1, 2)
        high = np.stack(np.meshgrid(*(e[1:] for e in edges), indexing="ij"), axis=-1).reshape(-1, 2)
        with ball_ends():
            entries = self.model.evaluate(2, low, high).entries
            eigenvalues = _eigenvalues(entries)
        shape = (CELLS, CELLS, -1)
        columns = [
            np.column_stack(pair).reshape(shape)
            for pair in ((entries.lo, eigenvalues.lo), (entries.hi, eigenvalues.hi))
        ]
        self.table = CellTable((edges[0], edges[1]), Interval(columns[0], columns[1]))

    def sides(self, lo: Array, hi: Array) -> tuple[tuple[Interval, Interval], tuple[Interval, Interval]]:
        """Below and above, each by the entries and by the eigenvalues in the plane of the arguments."""
        low, high = self.inner.arguments(lo, hi)
        found = self.table.range(low, high)
        arithmetic = CurvatureArithmetic(2)
        node = self.inner.program.run(arithmetic, arithmetic.variables(low, high))[0]
        entries = found[:, :3].meet(wide(coefficients_of(node.jet, 2), len(lo)))
        eigenvalues = found[:, 3].meet(_eigenvalues(entries))
        sides = []
        for sign, ends in ((-1, eigenvalues.lo), (1, eigenvalues.hi)):
            multiple = np.stack([ends, np.zeros_like(ends), ends], axis=1)
            by_entries = of_forms(self.inner.weights, entries, sign)[1]
            sides.append((by_entries, of_forms(self.inner.weights, Interval(multiple, multiple), sign)[0]))
        return sides[0], sides[1]


def _eigenvalues(entries: Interval) -> Interval:
    """Least and largest eigenvalues of interval matrices in the plane, by their entries (0, 0), (0, 1), (1, 1)."""
    place = np.array([[0, 1], [1, 2]])
    least, most = eigenvalue_range(entries.lo[:, place], entries.hi[:, place])
    return Interval(least, most)


def _by_forms(inner: Inner, lo: Array, hi: Array) -> tuple[list[Interval], list[Interval]]:
    """Second derivatives by multi-index: the natural extension, and matrices below and above."""
    arithmetic = CurvatureArithmetic(len(inner.symbols))
    node = inner.program.run(arithmetic, arithmetic.variables(*inner.arguments(lo, hi)))[0]
    own = wide(coefficients_of(node.jet, 2), len(lo))
    ends = [] if node.pair is None else [wide(coefficients_of(jet, 2), len(lo)) for jet in node.pair]
    below, above = [own, *ends[:1]], [own, *ends[1:]]
    if inner.plain:
        return below, above
    low, high = (
        [of_forms(inner.weights, some[0], sign)[0], *of_forms(inner.weights, some[-1], sign)]
        for some, sign in ((below, -1), (above, 1))
    )
    return low, high
