"""Faces of boxes and simplices, and the lower level restricted to one.

On the relative interior of a face the lower level is unconstrained in the free entries of y: the others stand at their
ends, and on a simplex one free entry makes up the total. While the multipliers of the held entries are positive (strict
complementarity) the face stays the same around x, and the derivatives of phi are those of the restricted problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.problems.feasible import Simplex
from bilevel_verify.problems.problem import Problem

FloatArray = NDArray[np.float64]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """``low <= y <= high``, and ``sum y = total`` if ``total`` is not None; exact ends (or infinities)."""

    low: tuple[sympy.Expr, ...]
    high: tuple[sympy.Expr, ...]
    total: sympy.Expr | None = None

    @property
    def floats(self) -> tuple[FloatArray, FloatArray]:
        """The ends, rounded to nearest."""
        return np.array([float(v) for v in self.low]), np.array([float(v) for v in self.high])


def polyhedron_of(problem: Problem) -> Polyhedron:
    """The set of y of a problem whose lower level is constrained.

    The declared range of y is cut to the set when the problem is stated; of a simplex only ``y >= 0`` binds.
    """
    ends = [problem.range_of(s) for s in problem.y]
    if isinstance(problem.feasible, Simplex):
        from bilevel_verify.problems.expression_arrays import exact_number

        return Polyhedron(
            tuple(sympy.S.Zero for _ in ends), tuple(sympy.oo for _ in ends), exact_number(problem.feasible.total)
        )
    return Polyhedron(tuple(a for a, _ in ends), tuple(b for _, b in ends))


@dataclass(frozen=True)
class Face:
    """Entries of y held at an end, the rest free.

    Attributes
    ----------
    problem : the whole problem.
    held : index -> -1 (at the lower end) or 1 (at the upper end).
    eliminated : free index that makes up the total of a simplex, else None.
    """

    problem: Problem
    polyhedron: Polyhedron
    held: tuple[tuple[int, int], ...]
    eliminated: int | None = None

    @property
    def free(self) -> tuple[int, ...]:
        """Free entries that stay variables, in order."""
        held = {i for i, _ in self.held}
        return tuple(i for i in range(self.problem.dy) if i not in held and i != self.eliminated)

    @cached_property
    def values(self) -> tuple[sympy.Expr, ...]:
        """Every entry of y as an expression of the free ones."""
        y, ends = self.problem.y, dict(self.held)
        entries: list[Any] = [
            (self.polyhedron.low[i] if ends[i] < 0 else self.polyhedron.high[i]) if i in ends else y[i]
            for i in range(self.problem.dy)
        ]
        if self.eliminated is not None:
            others = [entries[i] for i in range(self.problem.dy) if i != self.eliminated]
            entries[self.eliminated] = sympy.Add(self.polyhedron.total, *(-v for v in others))
        return tuple(entries)

    @cached_property
    def restricted(self) -> Problem:
        """The problem in the free entries; of one level where none is free."""
        places = dict(zip(self.problem.y, self.values))
        f, g = (h.subs(places, simultaneous=True) for h in (self.problem.f, self.problem.lower) if h is not None)
        domain = MappingProxyType({s.name: self.problem.range_of(s) for s in self.problem.x})
        common = replace(self.problem, feasible=None, domain=domain, text=MappingProxyType({}), data=self.problem.data)
        if not self.free:
            return replace(common, kind="single_level", f=f, g=None, y=())
        return replace(common, kind="bilevel", f=f, g=g, y=tuple(self.problem.y[i] for i in self.free))

    def whole(self, free: Sequence[object], number: Any) -> list[Any]:
        """All entries of y from the free ones; ``number`` turns an exact end into what the free ones are."""
        known = dict(zip(self.free, free))
        ends = dict(self.held)
        entries = [
            known[i] if i in known else number(self.values[i]) if i in ends else None for i in range(self.problem.dy)
        ]
        if self.eliminated is not None:
            total = number(self.polyhedron.total)
            for i, value in enumerate(entries):
                if i != self.eliminated:
                    total = total - value
            entries[self.eliminated] = total
        return entries

    def tangent(self, free: Sequence[Any], zero: Any) -> list[Any]:
        """Derivatives of all entries from those of the free ones; ``zero`` for what is held."""
        known = dict(zip(self.free, free))
        entries = [known.get(i, zero) for i in range(self.problem.dy)]
        if self.eliminated is not None:
            entries[self.eliminated] = -sum(free, zero)
        return entries


def face_near(problem: Problem, polyhedron: Polyhedron, y: FloatArray, tolerance: float) -> Face:
    """The face of the points whose entries within ``tolerance`` of an end stand there."""
    low, high = polyhedron.floats
    held = [
        (i, -1 if y[i] - low[i] <= tolerance else 1)
        for i in range(len(y))
        if min(y[i] - low[i], high[i] - y[i]) <= tolerance
    ]
    if polyhedron.total is None:
        return Face(problem, polyhedron, tuple(held))
    largest = int(np.argmax(y))
    return Face(problem, polyhedron, tuple((i, s) for i, s in held if i != largest), largest)
