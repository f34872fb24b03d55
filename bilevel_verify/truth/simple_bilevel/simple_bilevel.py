"""Simple bilevel problems: ``min f over argmin_Z g`` through the exact description of the argmin.

1. Solve ``min_Z g`` (interior point in floats, then in 1280 bits, where a slope of 1e-12 beside a curvature of 1 is far
   above the noise).
2. Replace the argmin by linear constraints: inequality constraints of Z with a positive multiplier become equations,
   every ridge ``a_i . z`` of g is fixed to its value (or confined to the interval on which its profile is affine), and
   ``Q z`` is fixed for the quadratic part. A ball with a positive multiplier leaves a single point.
3. Minimise f over that set. The answer is proved by the optimality conditions of both levels (in rationals or balls),
   or its error bar follows from residuals, with g at the solution checked against g* (see ``supported``), or it has
   none.

Without such structure f* is unknown: a g that is flat for floats looks as if all points were solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import BilevelVerifyError, InfeasibleError, InputError, MathematicalError, SolverFailure
from bilevel_verify.numbers.rounding import float_above, float_below
from bilevel_verify.problems.feasible import WholeSpace
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure
from bilevel_verify.truth.lower_level.points import frobenius
from bilevel_verify.truth.sets.convex import Constraints, Solution, minimise_convex, polish, project_reduced
from bilevel_verify.truth.sets.polyhedra import Reduced, reduce
from bilevel_verify.truth.sets.projections import project
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.simple_bilevel.argmin import describe_argmin, solution_set
from bilevel_verify.truth.simple_bilevel.certificate import certificate
from bilevel_verify.truth.simple_bilevel.certified_minimum import certified_minimum
from bilevel_verify.truth.simple_bilevel.exact_quadratic import ExactAnswer, exact_answer
from bilevel_verify.truth.simple_bilevel.facts import SolutionSet
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import Certificate
from bilevel_verify.truth.simple_bilevel.supported import (
    Supported,
    exact_facts,
    float_value,
    lower_facts,
    supported,
)

FloatArray = NDArray[np.float64]
EPS = float(np.finfo(float).eps)


class SimpleTruth(Posed):
    """``f*``, ``g*``, ``x*`` and distances of one simple bilevel problem, each with an error bound.

    Parameters
    ----------
    problem : kind ``simple_bilevel``.
    """

    # ---- lower level ----------------------------------------------------------------------------------------------

    @cached_property
    def lower(self) -> Solution:
        """A solution of ``min_Z g``, in high precision where possible (``facts`` has what it proves).

        Raises
        ------
        MathematicalError : g is visibly not convex on Z, or has no minimiser.
        InfeasibleError : Z is empty.
        """
        self._check_convex("g", self._g)
        if self.recession.verdict:
            raise MathematicalError(f"the lower level has no minimiser: {self.recession.verdict}")
        try:
            found = self._free_ridges(minimise_convex(self.smooth(self._g), self._reduced))
        except (SolverFailure, MathematicalError):  # "no minimiser" may only be a set too large for floats
            anywhere = self._from_facts(project(self.problem.feasible or WholeSpace(), np.zeros(self.n)))
            if anywhere is None:
                raise
            return anywhere
        self.attained = (
            certified_minimum(self, found.z.tolist()) if self.structure.ridges or self.feasible.balls else None
        )
        if self.attained is not None and self.structure.ridges:
            self.facts = exact_facts(self, self.attained[1], self.attained[0])
            z = np.array([float(v) for v in self.attained[1]])
            return self._solution(z, float(self.attained[0]), np.zeros_like(found.multipliers), 0.0)
        return self._from_facts(found.z) or found

    def _from_facts(self, near: FloatArray) -> Solution | None:
        """The solution of the lower level in high precision, rounded; None where that fails."""
        self.facts = lower_facts(self, near)
        if self.facts is None:
            return None
        weights, linear = self.facts.weights, len(self.feasible.h)
        multipliers = np.array([*(weights[j] for j in self._reduced.rows), *weights[linear:]])
        z = np.array([float(v) for v in self.facts.z])
        return self._solution(z, float(self.facts.value), multipliers, self.facts.error)

    def _solution(self, z: FloatArray, value: float, multipliers: FloatArray, gap: float) -> Solution:
        u = np.asarray(np.linalg.lstsq(self._reduced.B, z - self._reduced.z0, rcond=None)[0])
        return Solution(z, u, value, multipliers, 0.0, 0.0, gap)

    @cached_property
    def supporting_sets(self) -> tuple[list[int], list[int]]:
        """Rows of the feasible set and balls that carry a multiplier at the lower solution."""
        found, rows = self.lower, self._reduced.rows
        if self.facts is not None:
            linear = len(self.feasible.h)
            carrying = [j for j, m in enumerate(self.facts.weights) if m > 0]
            return [j for j in carrying if j < linear], [j - linear for j in carrying if j >= linear]
        size = 1 + float(np.max(np.abs(found.multipliers), initial=0.0))
        return (
            [row for row, m in zip(rows, found.multipliers) if m > 1e-9 * size],
            [j for j, m in enumerate(found.multipliers[len(rows) :]) if m > 1e-7 * size],
        )

    def _free_ridges(self, found: Solution) -> Solution:
        """Where no ball constraint presses, solve the linear part alone again.

        Interior iterates stop short of a tangent ball.
        """
        reduced = self._reduced
        if not reduced.balls or float(np.max(found.multipliers[len(reduced.b) :], initial=0.0)) > 1e-6:
            return found
        alone = Reduced(reduced.z0, reduced.B, reduced.A, reduced.b, (), reduced.rows, reduced.equal)
        constraints = Constraints(alone)
        active = np.flatnonzero(-constraints.values(found.u) < found.multipliers[: len(reduced.b)])
        better = polish(self.smooth(self._g), constraints, found.u, found.multipliers[: len(reduced.b)], active)
        if better is None or better.quality > found.quality:
            return found
        try:
            z = project_reduced(reduce(describe_argmin(self, better, alone)), better.z)
        except BilevelVerifyError:
            return found
        value = self.smooth(self._g)(z)[0]
        multipliers = np.concatenate([better.multipliers, np.zeros(len(reduced.balls))])
        u = np.asarray(np.linalg.lstsq(reduced.B, z - reduced.z0, rcond=None)[0])
        return Solution(z, u, value, multipliers, better.stationarity, better.violation, better.gap)

    @cached_property
    def solutions(self) -> SolutionSet:
        """The solution set of the lower level."""
        return solution_set(self, self.lower)

    # ---- results --------------------------------------------------------------------------------------------------

    @cached_property
    def g_star(self) -> Enclosure:
        """Optimal value of the lower level; where it is not proved, the error is a duality gap in 1280 bits."""
        if self.exact is not None:
            return _nearest(self.exact.g_star)
        found = self.lower
        if self.attained is not None:
            return replace(_nearest(self.attained[0]), method="a lower bound of g that a rational point of Z attains")
        proved = self._from_balls("g")
        if proved is not None:
            return proved
        if self.facts is None:
            return Enclosure(found.value, float(np.inf), "computed", f"interior point; {UNSUPPORTED}", True)
        method = "interior point in 1280 bits; the duality gap bounds the error"
        value, error = float_value(self.facts.value, self.facts.error)
        return self._barred(Enclosure(value, error, "computed", method, True), self._convex[1:])

    @cached_property
    def exact(self) -> ExactAnswer | None:
        """The answer in rational arithmetic, where f and g are quadratic and the set is polyhedral."""
        return None if self._guess is None else exact_answer(self)

    @cached_property
    def proved(self) -> Certificate | None:
        """The answer proved in balls by the optimality conditions of both levels, where they are not degenerate."""
        if self._guess is None or self.exact is not None:
            return None
        try:
            return certificate(self)
        except (MathematicalError, InfeasibleError, np.linalg.LinAlgError):
            return None

    @cached_property
    def _guess(self) -> Solution | None:
        """The upper solution in floats, from which proofs start; None where floats do not find one."""
        self._check_convex("f", self._f)
        try:
            return None if self.solutions.reduced is None else self.upper
        except (SolverFailure, InfeasibleError, MathematicalError):
            return None

    @cached_property
    def _convex(self) -> tuple[bool, bool]:
        """Whether f and g are certified to be convex on the feasible set (exactly, by their structure)."""
        from bilevel_verify.truth.minimum.convex_minimum import is_convex
        from bilevel_verify.truth.witness.disciplined import convex_by_rules

        assert self.problem.g is not None
        over = ranges_over(self.problem.feasible)

        def certain(e: sympy.Expr) -> bool:
            return is_convex(e, self.problem.x, over, over) or convex_by_rules(e, self.problem.x)

        return certain(self.problem.f), certain(self.problem.g)

    def _from_balls(self, name: str) -> Enclosure | None:
        """Enclosure of one proved quantity: certified if f and g are certified to be convex."""
        found = self.proved
        if found is None:
            return None
        from bilevel_verify.truth.lower_level.points import enclosure_of

        both = self._convex if name != "g" else (True, self._convex[1])
        certainty: Certainty = "certified" if all(both) else "computed"
        method = found.method
        if name == "x":
            import flint

            column = enclosure_of(flint.arb_mat(self.n, 1, list(found.x)), certainty, method)
            return self._barred(
                Enclosure(np.asarray(column.value).reshape(-1), column.error, certainty, method, True), both
            )
        plain = enclosure_of(getattr(found, name), certainty, method)
        return self._barred(Enclosure(plain.value, plain.error, certainty, method, True), both)

    def _barred(self, found: Enclosure, convex: Sequence[bool]) -> Enclosure:
        """An error bar rests on convexity: where that was only seen at sampled points, there is none."""
        return found if all(convex) else replace(found, error=float(np.inf), method=f"{found.method}; {NOT_SEEN}")

    @cached_property
    def upper(self) -> Solution:
        """A solution of the upper level over the exact description."""
        self._check_convex("f", self._f)
        assert self.solutions.reduced is not None
        return minimise_convex(self.smooth(self._f), self.solutions.reduced)

    @cached_property
    def f_star(self) -> Enclosure:
        """Optimal value of the bilevel problem."""
        if self.exact is not None:
            return _nearest(self.exact.f_star)
        proved = self._from_balls("f")
        if proved is not None:
            return proved
        found = self.supported
        if isinstance(found, Supported):
            return self._barred(Enclosure(found.f, found.f_error, "computed", CHECKED, True), self._convex)
        if self.solutions.reduced is None:
            raise self._unknown("f*")
        return Enclosure(self.upper.value, float(np.inf), "computed", found, True)

    @cached_property
    def supported(self) -> Supported | str:
        """f* and x* with error bars that follow from checked residuals, or the reason why there are none."""
        return f"no error bar: {UNSUPPORTED}" if self.facts is None else supported(self, self.facts)

    @cached_property
    def x_star(self) -> Enclosure:
        """An optimal solution.

        The error bound uses the curvature of f on the solution set; it is infinite where there is none.
        """
        if self.exact is not None and self.exact.unique:
            parts = [_nearest(v) for v in self.exact.x]
            error = float(frobenius(np.array([[part.error for part in parts]]))[0])
            return Enclosure(np.array([float(part.value) for part in parts]), error, "proved", EXACT, True)
        proved = self._from_balls("x")
        if proved is not None:
            return proved
        found = self.supported
        if isinstance(found, Supported):
            many = "" if np.isfinite(found.x_error) else "; one of possibly many optimal solutions"
            return self._barred(Enclosure(found.x, found.x_error, "computed", CHECKED + many), self._convex)
        if self.solutions.reduced is None:
            raise self._unknown("x*")
        return Enclosure(self.upper.z, float(np.inf), "computed", found)

    def distance(self, x: ArrayLike) -> Enclosure:
        """Euclidean distance of x to the solution set of the lower level.

        Raises
        ------
        MathematicalError : the solution set has no exact description here.
        """
        v = np.asarray(x, dtype=float).reshape(-1)
        if v.size != self.n or not np.all(np.isfinite(v)):
            raise InputError(f"x needs {self.n} finite components")
        if self.solutions.reduced is None:
            raise MathematicalError(f"the solution set has no exact description: {self.solutions.missing}")
        z = project_reduced(self.solutions.reduced, v)
        value = float(np.linalg.norm(z - v))
        error = self.solutions.slack * _condition(self.solutions.reduced) + 16 * EPS * (
            1 + float(np.linalg.norm(v)) + value
        )
        return Enclosure(value, error, "computed", "projection onto the exact description of the argmin")

    def distance_batch(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Distances of the rows of X: values (n,), errors (n,)."""
        found = [self.distance(row) for row in np.asarray(X, dtype=float)]
        return np.array([float(d.value) for d in found]), np.array([d.error for d in found])

    # ---- what is left ---------------------------------------------------------------------------------------------

    def _unknown(self, name: str) -> MathematicalError:
        """What is said where nothing is known: values of ``min_Z g + eps f`` show no limit that a check supports."""
        return MathematicalError(
            f"{name} is not known: no description of the lower level's solutions is supported "
            f"({self.solutions.missing})"
        )


UNSUPPORTED = "the lower level could not be solved in high precision"
CHECKED = "the facts that the solved lower level proves, f minimised over them, g at the solution checked against g*"
NOT_SEEN = "no error bar: convexity was only seen at sampled points"
EXACT = "optimality conditions of both levels solved and checked in rational arithmetic"


def _nearest(number: Fraction) -> Enclosure:
    """A rational number as a proved enclosure."""
    below, above = float_below(number), float_above(number)
    value = float(number) if np.isfinite(float(number)) else below
    error = 0.0 if Fraction(value) == number else float(np.nextafter(max(above - value, value - below), np.inf))
    return Enclosure(value, error, "proved", EXACT, True)


def _condition(reduced: Reduced) -> float:
    """How much an error in the right-hand sides of the description moves its points (1 for orthonormal rows)."""
    return 4.0 * float(np.sqrt(max(1, len(reduced.z0))))
