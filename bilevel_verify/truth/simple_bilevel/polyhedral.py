"""Polyhedral lower levels: ``g`` a sum of ``c max(s, 0)`` and ``c |s|`` (s affine, c > 0) and a linear part.

With one variable t_i per kink, ``t_i >= the two lines of the kink``, g becomes linear over a polyhedron in (z, t). The
solutions in z are the projections of the lifted ones, the optimal values agree, and ``dist(z, X_g)`` is at most the
lifted distance at ``t = kinks(z)``: a sharpness constant of the lifted program is one of g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.problems.feasible import (
    Box,
    FeasibleSet,
    HalfSpace,
    Intersection,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.enclosure import Enclosure
from bilevel_verify.truth.functions.quadratics import affine_form
from bilevel_verify.truth.functions.structure import spread_constants
from bilevel_verify.truth.sets.convex import minimise_convex
from bilevel_verify.truth.simple_bilevel.facts import SolutionSet
from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kink:
    """``weight * max(s, 0)`` or ``weight * |s|`` (``both``), ``s = normal . z + shift``."""

    weight: Fraction
    normal: tuple[Fraction, ...]
    shift: Fraction
    both: bool


def kinks_of(g: sympy.Expr, x: tuple[sympy.Symbol, ...]) -> tuple[list[Kink], sympy.Expr] | None:
    """Kinks and the affine rest of a polyhedral function; None for any other function (or one without kinks)."""
    kinks: list[Kink] = []
    rest: list[sympy.Expr] = []
    for term in sympy.Add.make_args(spread_constants(g)):
        if affine_form(term, x) is not None:
            rest.append(term)
            continue
        factor, core = term.as_independent(*x, as_Add=False)
        kink = _kink(factor, core, x)
        if kink is None:
            return None
        kinks.append(kink)
    return (kinks, sympy.Add(*rest)) if kinks else None


def _kink(factor: sympy.Expr, core: sympy.Expr, x: tuple[sympy.Symbol, ...]) -> Kink | None:
    if not (factor.is_Rational and factor.is_positive):
        return None
    name, args = type(core).__name__, core.args
    inner, both = None, False
    if name == "pluspow" and args[0] == 1:
        inner = args[1]
    elif name == "plus":
        inner = args[0]
    elif name == "Max" and len(args) == 2 and sympy.S.Zero in args:
        inner = next(a for a in args if a != 0)
    elif name == "Abs" or (name == "abspow" and args[0] == 1):
        inner, both = args[-1], True
    form = None if inner is None else affine_form(inner, x)
    return None if form is None else Kink(Fraction(int(factor.p), int(factor.q)), *form, both)


def lifted(problem: Problem, kinks: list[Kink], rest: sympy.Expr) -> Problem:
    """The same problem with a linear g in (z, t).

    Raises
    ------
    InputError : a feasible set that is not polyhedral.
    """
    n, m = problem.dx, len(kinks)
    t = tuple(sympy.Symbol(f"kink{i + 1}", real=True) for i in range(m))
    sets = _rows(problem.feasible or WholeSpace(), n, m)
    for i, kink in enumerate(kinks):
        for sign, scale in ((1, 1.0), (-1, 1.0 if kink.both else 0.0)):
            normal = np.zeros(n + m)
            normal[:n] = [sign * scale * float(v) for v in kink.normal]
            normal[n + i] = -1.0
            sets.append(HalfSpace(tuple(normal), -sign * scale * float(kink.shift)))
    weights = [sympy.Rational(k.weight.numerator, k.weight.denominator) for k in kinks]
    g = rest + sum((w * s for w, s in zip(weights, t)), sympy.Integer(0))
    return replace(problem, g=g, x=problem.x + t, feasible=Intersection(tuple(sets)), known={}, start=None, text={})


def _rows(feasible: FeasibleSet, n: int, m: int) -> list[FeasibleSet]:
    """A polyhedral set of z as half-spaces of (z, t)."""
    from bilevel_verify.truth.sets.polyhedra import describe

    parts = feasible.sets if isinstance(feasible, Intersection) else (feasible,)
    if not all(isinstance(p, WholeSpace | Box | Orthant | Simplex | HalfSpace) for p in parts):
        raise InputError(
            "polyhedral lower levels need a set of linear constraints (box, orthant, simplex, half-spaces)"
        )
    base = describe(feasible, n)
    rows = [*zip(base.G, base.h), *zip(base.E, base.e), *zip(-base.E, -base.e)]
    return [HalfSpace((*(float(v) for v in row), *(0.0,) * m), float(end)) for row, end in rows]


class PolyhedralTruth(SimpleTruth):
    """``f*``, ``g*``, ``x*``, distances and sharpness of a problem with a polyhedral g, from its lifted form."""

    def __init__(self, problem: Problem, kinks: list[Kink], rest: sympy.Expr) -> None:
        super().__init__(problem)
        self.above = SimpleTruth(lifted(problem, kinks, rest))

    @cached_property
    def g_star(self) -> Enclosure:
        """Optimal value of the lower level."""
        return self.above.g_star

    @cached_property
    def f_star(self) -> Enclosure:
        """Optimal value."""
        return self.above.f_star

    @cached_property
    def x_star(self) -> Enclosure:
        """An optimal solution."""
        found = self.above.x_star
        return replace(found, value=np.asarray(found.value, dtype=float)[: self.n])

    @cached_property
    def solutions(self) -> SolutionSet:
        """A lower-level solution in z; its exact description is the lifted one."""
        found = self.above.solutions
        return SolutionSet(None, found.point[: self.n], found.unique, found.slack, "described by lifted constraints")

    def distance(self, x: ArrayLike) -> Enclosure:
        """Distance to the solutions in z: the projection of the lifted solution set is what is projected onto."""
        v = np.asarray(x, dtype=float).reshape(-1)
        if v.size != self.n or not np.all(np.isfinite(v)):
            raise InputError(f"x needs {self.n} finite components")
        reduced = self.above.solutions.reduced
        assert reduced is not None
        unit = np.zeros((self.above.n, self.above.n))
        unit[: self.n, : self.n] = np.eye(self.n)

        def squared(z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            gap = np.concatenate([z[: self.n] - v, np.zeros(self.above.n - self.n)])
            return 0.5 * float(gap @ gap), gap, unit

        z = minimise_convex(squared, reduced).z
        value = float(np.linalg.norm(z[: self.n] - v))
        error = self.above.solutions.slack * 8 * np.sqrt(self.above.n) + 1e-12 * (1 + float(np.linalg.norm(v)) + value)
        return Enclosure(value, float(error), "computed", "projection onto the lifted description of the argmin")
