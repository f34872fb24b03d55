"""The set on which constants hold: a box (ends may be infinite), its text, and shrinking by periodicity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import sympy

from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.intervals.scalar import Derived, Psi, Scalar, Trigonometric
from bilevel_verify.numbers.rounding import Array, enclose
from bilevel_verify.problems import feasible as sets
from bilevel_verify.problems.problem import Problem


@dataclass(frozen=True, slots=True)
class Domain:
    """Closed box over the ordered variables; ``lo`` is rounded down and ``hi`` up."""

    lo: Array
    hi: Array
    text: str
    whole_space: bool

    def part(self, group: tuple[int, ...]) -> Domain:
        """The box of some of the variables."""
        chosen = list(group)
        return Domain(self.lo[chosen], self.hi[chosen], self.text, self.whole_space)

    @property
    def unbounded(self) -> bool:
        """True if some range is infinite."""
        return not bool(np.isfinite(self.lo).all() and np.isfinite(self.hi).all())

    @property
    def free(self) -> bool:
        """True if every range is the whole line."""
        return bool(np.isneginf(self.lo).all() and np.isposinf(self.hi).all())


def domain_of(problem: Problem) -> Domain:
    """Box of a problem; for a simple bilevel problem met with a box around the feasible set."""
    ranges = [problem.range_of(v) for v in problem.variables]
    lo = np.array([enclose(a)[0] for a, _ in ranges], dtype=float)
    hi = np.array([enclose(b)[1] for _, b in ranges], dtype=float)
    pieces = [f"{a} <= {v} <= {b}" for v, (a, b) in zip(problem.variables, ranges) if (a, b) != (-sympy.oo, sympy.oo)]
    within = problem.set_of_x  # a set of y has cut the ranges of y
    if within is not None:
        around = box_around(within, len(lo))
        lo, hi = np.maximum(lo, around[0]), np.minimum(hi, around[1])
        pieces.append(f"box around Z ({within.describe()})")
    return Domain(lo, hi, ", ".join(pieces) or "whole space", not pieces)


def box_around(feasible: sets.FeasibleSet, n: int) -> tuple[Array, Array]:
    """Smallest-known box that contains a feasible set."""
    lo, hi = np.full(n, -np.inf), np.full(n, np.inf)
    match feasible:
        case sets.Ball(radius=radius, center=center):
            middle = np.zeros(n) if center is None else np.array(center)
            return np.nextafter(middle - radius, -np.inf), np.nextafter(middle + radius, np.inf)
        case sets.Box(lo=low, hi=high):
            return np.array(low, dtype=float), np.array(high, dtype=float)
        case sets.Orthant():
            return np.zeros(n), hi
        case sets.Simplex(total=total):
            return np.zeros(n), np.full(n, total)
        case sets.L1Ball(radius=radius):
            return np.full(n, -radius), np.full(n, radius)
        case sets.Intersection(sets=parts):
            for part in parts:
                a, b = box_around(part, n)
                lo, hi = np.maximum(lo, a), np.minimum(hi, b)
    return lo, hi


def period(function: Scalar) -> sympy.Expr | None:
    """Period of a scalar atom, None if it has none."""
    base = function.base if isinstance(function, Derived) else function
    if isinstance(base, Trigonometric):
        return 2 * sympy.pi
    if isinstance(base, Psi):
        return sympy.Integer(4)
    return None


def one_period(structure: Structure, domain: Domain, order: int) -> Domain:
    """Whole lines of variables in which the derivative is periodic become one period.

    Only variables that enter through periodic ridges with commensurable coefficients (and, below second order, no
    quadratic or linear growth) qualify.
    """
    lo, hi = domain.lo.copy(), domain.hi.copy()
    blocked = {i for pair in structure.quadratic for i in pair} if order < 2 else set()
    for i in range(len(structure.variables)):
        if i in blocked or np.isfinite(lo[i]) or np.isfinite(hi[i]):
            continue
        length = _common_period(structure, i)
        if length is not None:
            lo[i], hi[i] = 0.0, enclose(length)[1]
    return Domain(lo, hi, domain.text, domain.whole_space)


def _rest_periods(structure: Structure, i: int) -> list[sympy.Expr] | None:
    """Periods of the rest in one variable (empty if it does not occur), None if it occurs outside sines and cosines."""
    variable, rest = structure.variables[i], structure.rest
    if rest is None or variable not in rest.free_symbols:
        return []
    waves = [w for w in rest.atoms(sympy.sin, sympy.cos) if variable in w.free_symbols]
    if any(not w.args[0].is_polynomial(variable) for w in waves):
        return None
    slopes = [sympy.Poly(w.args[0], variable).all_coeffs() for w in waves]
    if any(len(s) != 2 or not s[0].is_number for s in slopes):
        return None
    if rest.xreplace({w: sympy.Dummy() for w in waves}).has(variable):
        return None
    return [2 * sympy.pi / sympy.Abs(s[0]) for s in slopes]


def _common_period(structure: Structure, i: int) -> sympy.Expr | None:
    lengths = _rest_periods(structure, i)
    if lengths is None:
        return None
    for ridge in structure.ridges:
        for j, c in ridge.row:
            if j != i:
                continue
            base = period(ridge.function)
            if base is None:
                return None
            lengths.append(base / sympy.Abs(c))
    if not lengths:
        return sympy.Integer(0)
    ratios = [sympy.radsimp(v / lengths[0]) for v in lengths]  # exact: a guess from decimals would invent a period
    if not all(r.is_Rational for r in ratios):
        return None
    # the least common multiple of fractions in lowest terms of which the first is 1: that of their numerators
    return lengths[0] * math.lcm(*[int(r.p) for r in ratios])
