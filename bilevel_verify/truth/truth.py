"""``truth(p)``: what the answer is, with an error bound for every number."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.arguments import checked_methods
from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure
from bilevel_verify.truth.conic import conic_f, conic_g, conic_phi
from bilevel_verify.truth.functions.model import Model
from bilevel_verify.truth.high_precision import HighPrecision
from bilevel_verify.truth.infimum import infimum, penalty_infimum, range_of_x
from bilevel_verify.truth.lower_level.convexity import Convexity
from bilevel_verify.truth.lower_level.points import DEFAULT_BITS, Points, rows_of
from bilevel_verify.truth.lower_level.pointwise import Pointwise
from bilevel_verify.truth.minimum.eigenvalues import eigenvalue_bounds, eigenvalue_interval
from bilevel_verify.truth.minimum.minimum import Minimum
from bilevel_verify.truth.summary import above, least_in_time, summary_in_time

if TYPE_CHECKING:
    from bilevel_verify.truth.minimum.stationary import StationarySet
    from bilevel_verify.truth.simple_bilevel.error_bound import ErrorBound, ErrorBoundCheck
    from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth
    from bilevel_verify.truth.witness.cvxpy_bridge import ConicAnswer

FloatArray = NDArray[np.float64]
Batch = tuple[FloatArray, FloatArray]
MINIMA_KEPT = 64
"""Values of lambda for which the least penalty function is kept."""


@checked_methods
class Truth:
    """Exact quantities of one problem.

    Single points are evaluated in ball arithmetic (error far below float64's last digit); the ``..._batch`` methods
    evaluate thousands of points in outward-rounded intervals and return ``(values, errors)``, where a row without a
    proved answer has error infinity. For ``single_level`` problems phi is f and y is empty.

    Parameters
    ----------
    problem : any kind; for ``simple_bilevel`` only ``f_star``, ``g_star``, ``x_star``, ``distance_to_solutions`` exist.
    bits : precision of the balls.
    """

    def __init__(self, problem: Problem, bits: int = DEFAULT_BITS) -> None:
        self.problem = problem
        self.bits = bits
        self._pointwise = Pointwise(problem, bits)
        self._penalty_minima: dict[float, Minimum] = {}

    # ---- ingredients ----------------------------------------------------------------------------------------------

    @cached_property
    def model(self) -> Model:
        """The functions of the problem as programs."""
        return self._pointwise.model

    @cached_property
    def points(self) -> Points:
        """Solutions of the lower level at points and over boxes, and the formulas above them."""
        return self._pointwise.points

    @cached_property
    def convexity(self) -> Convexity:
        """What is certified about the convexity of the lower level in y, on the declared ranges."""
        return self._pointwise.convexity

    @property
    def batch_certainty(self) -> Certainty:
        """What the ``..._batch`` methods may claim.

        Their intervals are rounded outward, but elementary functions are NumPy's, widened by 8 units in the last place
        (an assumption): ``computed``. Inside ``with intervals.ball_ends():`` they are proved and this is ``certainty``,
        which speaks for rows in the declared ranges of x and y alone; a row outside of them is ``computed``.
        """
        return self._pointwise.batch_certainty

    def penalty_certainty(self, lam: Any) -> Certainty:
        """The same for ``y*_lam`` and what rests on it: certified where ``f + lam g`` is certified convex in y, too."""
        return self._pointwise.penalty_certainty(lam)

    @property
    def certainty(self) -> Certainty:
        """What enclosures at points may claim.

        ``certified`` if the lower level is certified to be convex on the declared range of y, so that the proved
        nondegenerate stationary point is the only minimiser; otherwise ``computed``.
        """
        return self._pointwise.certainty

    # ---- one point ------------------------------------------------------------------------------------------------

    def y_star(self, x: ArrayLike) -> Enclosure:
        """Minimiser of the lower level at x, shape (dy,), Euclidean error."""
        if self.model.lower is None:
            return Enclosure(np.empty(0), 0.0, "proved", "no lower level")
        return self._pointwise.at(x, lambda h: h.minimiser, vector=True)

    def y_star_lam(self, x: ArrayLike, lam: float) -> Enclosure:
        """Minimiser over y of ``f + lam g`` at x, shape (dy,)."""
        return self._pointwise.at_penalty(x, lam, lambda p: p.minimiser, vector=True)

    def phi(self, x: ArrayLike) -> Enclosure:
        """Hyper-objective ``f(x, y*(x))`` (f itself for one level)."""
        return self._pointwise.at(x, lambda h: h.value)

    def grad_phi(self, x: ArrayLike) -> Enclosure:
        """Hypergradient, shape (dx,)."""
        return self._pointwise.at(x, lambda h: h.gradient, vector=True)

    def hess_phi(self, x: ArrayLike) -> Enclosure:
        """Hyper-Hessian, shape (dx, dx), error in the Frobenius norm."""
        return self._pointwise.at(x, lambda h: h.hessian)

    def lambda_min_hess_phi(self, x: ArrayLike) -> Enclosure:
        """Smallest eigenvalue of the hyper-Hessian."""
        hessian = self.hess_phi(x)
        matrix = np.asarray(hessian.value)
        low, high = eigenvalue_bounds(matrix)
        value = 0.5 * (low + high)
        error = float(np.nextafter(max(high - value, value - low) + hessian.error, np.inf))
        return Enclosure(value, error, hessian.certainty, hessian.method + ", verified eigenvalue")

    def grad_y_star(self, x: ArrayLike) -> Enclosure:
        """``nabla y*``, shape (dx, dy)."""
        self._pointwise.needs_lower()
        return self._pointwise.at(x, lambda h: h.jacobian)

    def hess_y_star(self, x: ArrayLike) -> list[Enclosure]:
        """``nabla^2 y*``: one (dx, dx) enclosure per component of y."""
        self._pointwise.needs_lower()
        return self._pointwise.second_derivative(x)

    def v_star(self, x: ArrayLike, y: ArrayLike | None = None) -> Enclosure:
        """Solution v of ``nabla^2_yy g(x, y) v = nabla_y f(x, y)``, shape (dy,); at y = y*(x) if y is omitted."""
        self._pointwise.needs_lower()
        if y is None:
            return self._pointwise.at(x, lambda h: h.v, vector=True)
        return self._pointwise.v(x, y)

    def L_star(self, x: ArrayLike, lam: float) -> Enclosure:
        """``L*_lam(x) = min_y f + lam (g - g*(x))``."""
        return self._pointwise.at_penalty(x, lam, lambda p: p.value)

    def grad_L_star(self, x: ArrayLike, lam: float) -> Enclosure:
        """Gradient of ``L*_lam``, shape (dx,)."""
        return self._pointwise.at_penalty(x, lam, lambda p: p.gradient, vector=True)

    def hess_L_star(self, x: ArrayLike, lam: float) -> Enclosure:
        """Hessian of ``L*_lam``, shape (dx, dx)."""
        return self._pointwise.at_penalty(x, lam, lambda p: p.hessian)

    def grad_y_star_lam(self, x: ArrayLike, lam: float) -> Enclosure:
        """``nabla y*_lam``, shape (dx, dy)."""
        return self._pointwise.at_penalty(x, lam, lambda p: p.jacobian)

    def g_min(self, x: ArrayLike) -> Enclosure:
        """Lower-level value ``g(x, y*(x))``."""
        self._pointwise.needs_lower()
        return self._pointwise.at(x, lambda h: h.g.value)

    # ---- batches --------------------------------------------------------------------------------------------------

    def y_star_batch(self, X: ArrayLike) -> Batch:
        """y* for rows of X: values (n, dy), Euclidean errors (n,)."""
        if self.model.lower is None:
            n = len(rows_of(X, self.model.dx))
            return np.empty((n, 0)), np.zeros(n)
        values, errors = self.points.batch(X, lambda h: h.minimiser)
        return values[:, :, 0], errors

    def y_star_lam_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """y*_lam for rows of X (lam: a number or one per row): values (n, dy), errors (n,)."""
        self._pointwise.needs_lower()
        values, errors = self.points.batch_penalty(X, lam, lambda p: p.minimiser)
        return values[:, :, 0], errors

    def phi_batch(self, X: ArrayLike) -> Batch:
        """phi for rows of X: values (n,), errors (n,)."""
        return self.points.batch(X, lambda h: h.value)

    def grad_phi_batch(self, X: ArrayLike) -> Batch:
        """Hypergradients: values (n, dx), Euclidean errors (n,)."""
        values, errors = self.points.batch(X, lambda h: h.gradient)
        return values[:, :, 0], errors

    def hess_phi_batch(self, X: ArrayLike) -> Batch:
        """Hyper-Hessians: values (n, dx, dx), Frobenius errors (n,)."""
        return self.points.batch(X, lambda h: h.hessian)

    def lambda_min_hess_phi_batch(self, X: ArrayLike) -> Batch:
        """Smallest eigenvalues of the hyper-Hessians: values (n,), errors (n,)."""
        return self.points.batch(X, lambda h: eigenvalue_interval(h.hessian))

    def grad_y_star_batch(self, X: ArrayLike) -> Batch:
        """nabla y*: values (n, dx, dy), Frobenius errors (n,)."""
        self._pointwise.needs_lower()
        return self.points.batch(X, lambda h: h.jacobian)

    def hess_y_star_batch(self, X: ArrayLike) -> Batch:
        """nabla^2 y*: values (n, dy, dx, dx), Frobenius errors (n,) over all components of y."""
        self._pointwise.needs_lower()
        parts = [self.points.batch(X, lambda h, k=k: h.second_derivative[k]) for k in range(self.model.dy)]  # type: ignore[misc]
        errors = np.nextafter(np.sqrt(np.sum([e**2 for _, e in parts], axis=0)) * (1 + 1e-15), np.inf)
        return np.stack([v for v, _ in parts], axis=1), errors

    def L_star_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """L*_lam: values (n,), errors (n,)."""
        self._pointwise.needs_lower()
        return self.points.batch_penalty(X, lam, lambda p: p.value)

    def grad_L_star_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """Gradients of L*_lam: values (n, dx), errors (n,)."""
        self._pointwise.needs_lower()
        values, errors = self.points.batch_penalty(X, lam, lambda p: p.gradient)
        return values[:, :, 0], errors

    def hess_L_star_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """Hessians of L*_lam: values (n, dx, dx), errors (n,)."""
        self._pointwise.needs_lower()
        return self.points.batch_penalty(X, lam, lambda p: p.hessian)

    def grad_y_star_lam_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """nabla y*_lam: values (n, dx, dy), errors (n,)."""
        self._pointwise.needs_lower()
        return self.points.batch_penalty(X, lam, lambda p: p.jacobian)

    # ---- the upper level ------------------------------------------------------------------------------------------

    @cached_property
    def range_of_x(self) -> tuple[FloatArray, FloatArray]:
        """Declared ends of x as floats."""
        return range_of_x(self.problem)

    @cached_property
    def minimum(self) -> Minimum:
        """Everything known about the infimum of phi on the declared range of x."""
        return infimum(self.problem, self.points, *self.range_of_x)

    def phi_min(self, seconds: float | None = None) -> Enclosure:
        """Enclosure of ``inf phi`` on the declared range of x; ``attained`` says whether it is a minimum.

        The value is minus infinity where phi is not bounded below.

        Parameters
        ----------
        seconds : of the clock, after which an unfinished search says what it has, ``computed``.

        Raises
        ------
        MathematicalError : no bound is known, for want of time or at all.
        """
        return self.minimum.enclosure(self.certainty) if seconds is None else least_in_time(self, seconds)

    def phi_argmin(self) -> FloatArray:
        """The best point found, shape (dx,)."""
        return self.minimum.x

    def _minimiser(self) -> FloatArray | None:
        """A point where phi has nearly its infimum; None where none is known."""
        try:
            found = self.minimum
        except MathematicalError:
            return None
        return found.x if np.isfinite(found.upper) else None

    def delta(self, x0: ArrayLike) -> Enclosure:
        """``Delta = phi(x0) - inf phi``."""
        return above(self.phi_min(), self.phi, x0)

    def stationary_points(self, budget: int = 20_000) -> StationarySet:
        """Stationary points of phi in the declared (bounded) range of x; see :func:`stationary.stationary_points`."""
        from bilevel_verify.truth.minimum.objective import PhiObjective
        from bilevel_verify.truth.minimum.stationary import stationary_points

        with ball_ends():
            return stationary_points(
                PhiObjective(self.points), *self.range_of_x, budget=budget, certainty=self.certainty
            )

    def L_star_min(self, lam: float) -> Enclosure:
        """Enclosure of ``inf_x L*_lam(x)`` on the declared range of x."""
        self._pointwise.needs_lower()
        if lam not in self._penalty_minima:  # seconds of search, asked for by every statement on the same instance
            if len(self._penalty_minima) >= MINIMA_KEPT:
                self._penalty_minima.clear()
            self._penalty_minima[lam] = penalty_infimum(self.problem, self.points, lam, self.phi_min, self._minimiser)
        return self._pointwise.of_penalty(self._penalty_minima[lam].enclosure(self.certainty), lam)

    # ---- simple bilevel -------------------------------------------------------------------------------------------

    @cached_property
    def simple(self) -> SimpleTruth:
        """Truth of a simple bilevel problem.

        Raises
        ------
        InputError : another kind of problem.
        """
        if self.problem.kind != "simple_bilevel":
            raise InputError(
                f"f_star, g_star and x_star belong to simple bilevel problems, this one is {self.problem.kind}"
            )
        from bilevel_verify.truth.simple_bilevel.simple_kinds import simple_truth_of

        return simple_truth_of(self.problem)

    @property
    def f_star(self) -> Enclosure:
        """Optimal value of a simple bilevel problem."""
        return self.simple.f_star

    @property
    def g_star(self) -> Enclosure:
        """Optimal value of its lower level."""
        return self.simple.g_star

    @property
    def x_star(self) -> Enclosure:
        """An optimal solution of a simple bilevel problem."""
        return self.simple.x_star

    def distance_to_solutions(self, x: ArrayLike) -> Enclosure:
        """Euclidean distance of x to the solution set of the lower level of a simple bilevel problem."""
        return self.simple.distance(x)

    def error_bound(self) -> ErrorBound:
        """Hoelderian error bound ``(alpha, r)`` of a simple bilevel problem, derived for quadratic g over polyhedra."""
        from bilevel_verify.truth.simple_bilevel.error_bound import derive_error_bound

        return derive_error_bound(self.simple)

    def check_error_bound(self, alpha: float, r: float, count: int = 200, seed: int = 0) -> ErrorBoundCheck:
        """Test a claimed ``(alpha, r)`` on feasible points: a failure carries a witness, a pass is only sampled."""
        from bilevel_verify.truth.simple_bilevel.error_bound import check_error_bound

        return check_error_bound(self.simple, alpha, r, count=count, seed=seed)

    def conic_g(self, x: ArrayLike | None = None) -> ConicAnswer:
        """``g*(x)`` (``g*`` of a simple bilevel problem) by Clarabel: primal value, dual value, gap, point."""
        return conic_g(self.problem, x)

    def conic_f(self) -> ConicAnswer:
        """``f*`` (the minimum of a convex explicit phi, or of a simple bilevel problem) by Clarabel."""
        if self.problem.kind == "simple_bilevel":
            return conic_f(self.problem, self.simple.solutions)
        return conic_phi(self.problem, self.points, *self.range_of_x)

    def summary(self, x: ArrayLike | None = None, seconds: float | None = None) -> list[dict[str, object]]:
        """Rows for a report: quantity, value, error, certainty, method, attained; a failure is a row with its reason.

        Parameters
        ----------
        x : where to evaluate the point quantities; the problem's start, or the best point found, if omitted.
        seconds : of the clock. What they break off is a row that says so; an infimum whose search is not finished is
            what is known of it, ``computed``.
        """
        return summary_in_time(self, x if x is not None else self.problem.start, seconds)

    # ---- precision ------------------------------------------------------------------------------------------------

    def with_digits(self, digits: int) -> HighPrecision:
        """The same quantities in ``digits`` decimal digits, for points as mpmath numbers, strings or fractions."""
        return HighPrecision(self._pointwise, digits)
