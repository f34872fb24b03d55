"""A simple bilevel problem as it is posed, and what its proofs start from: the record below them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.problems.feasible import Intersection, WholeSpace
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.functions.quadratics import ldl, quadratic_of
from bilevel_verify.truth.functions.structure import Structure, structure_of
from bilevel_verify.truth.lower_level.newton import evaluate
from bilevel_verify.truth.sets.convex import Smooth, Solution
from bilevel_verify.truth.sets.polyhedra import Description, Reduced, describe, reduce
from bilevel_verify.truth.sets.projections import project
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.sets.recession import Recession, recession
from bilevel_verify.truth.sets.squares import smooth_quadratic
from bilevel_verify.truth.simple_bilevel.facts import Facts, SolutionSet

FloatArray = NDArray[np.float64]


class Posed(ABC):
    """``min f over argmin_Z g``: its functions, its set, and the solutions from which proofs start.

    Parameters
    ----------
    problem : kind ``simple_bilevel``.
    """

    def __init__(self, problem: Problem) -> None:
        if problem.g is None:
            raise InputError("a simple bilevel problem needs g")
        self.problem = problem
        self.n = problem.dx
        self._f = Function(problem.f, problem.x, problem.dx)
        self._g = Function(problem.g, problem.x, problem.dx)
        self.attained: tuple[Fraction, tuple[Fraction, ...]] | None = None
        self.facts: Facts | None = None

    # ---- ingredients ----------------------------------------------------------------------------------------------

    def smooth(self, function: Function) -> Smooth:
        """Value, gradient and Hessian of f or g as a plain function of one point (quadratics by their matrices)."""
        quadratic = quadratic_of(self.problem.f if function is self._f else self.problem.g, self.problem.x)
        if quadratic is not None:
            return smooth_quadratic(quadratic)

        def at(z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            row = evaluate(function.second_order, [np.array([v]) for v in z], 1)[0]
            n = function.dz
            return float(row[0]), row[1 : 1 + n], row[1 + n :].reshape(n, n)

        return at

    @cached_property
    def feasible(self) -> Description:
        """The feasible set as linear constraints and balls."""
        return describe(self.problem.feasible or WholeSpace(), self.n)

    @cached_property
    def _reduced(self) -> Reduced:
        return reduce(self.feasible)

    @cached_property
    def structure(self) -> Structure:
        """Decomposition of g into a quadratic and ridge functions."""
        assert self.problem.g is not None
        with ball_ends():
            return structure_of(self.problem.g, self.problem.x, ranges_over(self.problem.feasible))

    def _check_convex(self, name: str, function: Function) -> None:
        """Reject a function that is visibly not convex on the feasible set (a witness is named)."""
        quadratic = quadratic_of(self.problem.f if name == "f" else self.problem.g, self.problem.x)
        if quadratic is not None and ldl(quadratic.Q).sign == 1:
            return
        B = self._reduced.B
        if not B.shape[1]:
            return
        sample = self._sample
        table = evaluate(function.second_order, list(np.ascontiguousarray(sample.T)), len(sample))
        with np.errstate(invalid="ignore"):  # a kink has no derivatives
            hessians = B.T @ table[:, 1 + self.n :].reshape(len(sample), self.n, self.n) @ B
        fine = np.isfinite(hessians).all(axis=(1, 2))
        for z, inside in zip(sample[fine], hessians[fine]):
            lowest = float(np.linalg.eigvalsh(0.5 * (inside + inside.T))[0])
            if lowest < -1e-7 * (1 + float(np.max(np.abs(inside)))):
                raise MathematicalError(
                    f"{name} is not convex on the feasible set: its Hessian has the eigenvalue {lowest:.3g} "
                    f"at {np.round(z, 6).tolist()}"
                )

    @cached_property
    def _sample(self) -> FloatArray:
        """Feasible points: projections of random ones, and points between them."""
        rng = np.random.default_rng(0)
        feasible = self.problem.feasible or WholeSpace()
        count = 4 if isinstance(feasible, Intersection) else 16
        corners = np.array([project(feasible, p) for p in rng.normal(size=(count, self.n)) * 1.5])
        weights = rng.dirichlet(np.ones(count), size=32)
        return np.vstack([corners, weights @ corners])

    @cached_property
    def recession(self) -> Recession:
        """Directions in which g never grows: whether the lower level is bounded below and attains its infimum."""
        return recession(self.structure, self.feasible)

    # ---- what proofs start from -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def lower(self) -> Solution:
        """A solution of ``min_Z g``."""

    @property
    @abstractmethod
    def supporting_sets(self) -> tuple[list[int], list[int]]:
        """Rows of the feasible set and balls that carry a multiplier at the lower solution."""

    @property
    @abstractmethod
    def solutions(self) -> SolutionSet:
        """The solution set of the lower level."""

    @property
    @abstractmethod
    def upper(self) -> Solution:
        """A solution of the upper level over the exact description."""
