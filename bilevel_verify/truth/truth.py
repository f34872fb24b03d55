"""``truth(p)``: what the answer is, with an error bound for every number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import BilevelVerifyError, InputError, MathematicalError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends, balls_in_use
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.convexity import Convexity, convexity_of
from bilevel_verify.truth.diagnosis import falls
from bilevel_verify.truth.enclosure import Certainty, Enclosure, weakest
from bilevel_verify.truth.formulas import Hyper, Penalty
from bilevel_verify.truth.minimum import Minimum, smallest_eigenvalue
from bilevel_verify.truth.model import Model, model_of
from bilevel_verify.truth.points import DEFAULT_BITS, Points, enclosure_of, point_of, precision, rows_of, spread

if TYPE_CHECKING:
    from bilevel_verify.truth.cvxpy_bridge import ConicAnswer
    from bilevel_verify.truth.error_bound import ErrorBound, ErrorBoundCheck
    from bilevel_verify.truth.high_precision import HighPrecision
    from bilevel_verify.truth.simple_bilevel import SimpleTruth
    from bilevel_verify.truth.stationary import StationarySet

FloatArray = NDArray[np.float64]
Batch = tuple[FloatArray, FloatArray]


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

    # ---- ingredients ----------------------------------------------------------------------------------------------

    @cached_property
    def model(self) -> Model:
        return model_of(self.problem)

    @cached_property
    def points(self) -> Points:
        return Points(self.model, lambda: self.convexity.mu, lambda: self.convexity.convex, lambda: self.convexity.text)

    @cached_property
    def convexity(self) -> Convexity:
        """What is certified about the convexity of the lower level in y, on the declared ranges."""
        return convexity_of(self.problem, self.model)

    @property
    def batch_certainty(self) -> Certainty:
        """What the ``..._batch`` methods may claim.

        Their intervals are rounded outward, but elementary functions are NumPy's, widened by 8 units in the last place
        (an assumption): ``computed``. Inside ``with intervals.ball_ends():`` they are proved and this is ``certainty``.
        """
        return self.certainty if balls_in_use() else weakest(self.certainty, "computed")

    @property
    def certainty(self) -> Certainty:
        """What enclosures at points may claim.

        ``certified`` if the lower level is certified to be convex on the declared range of y, so that the proved
        nondegenerate stationary point is the only minimiser; otherwise ``computed``.
        """
        return "certified" if self.convexity.convex else "computed"

    def _method(self, text: str) -> str:
        return f"{text}; {self.convexity.text}" if self.convexity.text else text

    @property
    def _proof(self) -> str:
        if self.model.lower is None:
            return "evaluated in balls"
        return f"Newton and {self.points.level.proof} in balls"

    def _refuse_unbounded(self, point: FloatArray) -> None:
        """Where convexity is not certified: a lower level that falls to minus infinity has no y*."""
        if self.convexity.convex or self.model.lower is None:
            return
        fall = falls(self.model, point)
        if fall is not None and fall.proved:
            raise MathematicalError(f"the lower level has no minimiser at x = {point.tolist()}: {fall.text}")

    def _hyper(self, x: ArrayLike) -> Hyper:
        point = point_of(x, self.model.dx)
        self._refuse_unbounded(point)
        return self.points.ball_hyper(_exact(point), point)

    def _penalty(self, x: ArrayLike, lam: float) -> Penalty:
        if self.model.lower is None:
            raise InputError("a single-level problem has no penalty function")
        if not (np.isfinite(lam) and lam > 0):
            raise InputError("the penalty lam must be positive and finite")
        point = point_of(x, self.model.dx)
        return self.points.ball_penalty(_exact(point), _exact(np.array([lam]))[0], point, float(lam))

    def _at(self, x: ArrayLike, pick: Callable[[Hyper], Any], vector: bool = False) -> Enclosure:
        with precision(self.bits):
            found = enclosure_of(pick(self._hyper(x)), self.certainty, "")
        found = replace(found, method=self._method(self._proof))
        return _flat(found) if vector else found

    def _at_penalty(self, x: ArrayLike, lam: float, pick: Callable[[Penalty], Any], vector: bool = False) -> Enclosure:
        with precision(self.bits):
            found = enclosure_of(pick(self._penalty(x, lam)), self.certainty, self._method(self._proof))
        return _flat(found) if vector else found

    def _needs_lower(self) -> None:
        if self.model.lower is None:
            raise InputError("a single-level problem has no lower level")

    # ---- one point ------------------------------------------------------------------------------------------------

    def y_star(self, x: ArrayLike) -> Enclosure:
        """Minimiser of the lower level at x, shape (dy,), Euclidean error."""
        if self.model.lower is None:
            return Enclosure(np.empty(0), 0.0, "proved", "no lower level")
        return self._at(x, lambda h: h.algebra.matrix([[v] for v in h.y], h.z), vector=True)

    def y_star_lam(self, x: ArrayLike, lam: float) -> Enclosure:
        """Minimiser over y of ``f + lam g`` at x, shape (dy,)."""
        return self._at_penalty(x, lam, lambda p: p.algebra.matrix([[v] for v in p.y_lam], p.x), vector=True)

    def phi(self, x: ArrayLike) -> Enclosure:
        """Hyper-objective ``f(x, y*(x))`` (f itself for one level)."""
        return self._at(x, lambda h: h.value)

    def grad_phi(self, x: ArrayLike) -> Enclosure:
        """Hypergradient, shape (dx,)."""
        return self._at(x, lambda h: h.gradient, vector=True)

    def hess_phi(self, x: ArrayLike) -> Enclosure:
        """Hyper-Hessian, shape (dx, dx), error in the Frobenius norm."""
        return self._at(x, lambda h: h.hessian)

    def lambda_min_hess_phi(self, x: ArrayLike) -> Enclosure:
        """Smallest eigenvalue of the hyper-Hessian."""
        hessian = self.hess_phi(x)
        matrix = np.asarray(hessian.value)
        low, high = _eigenvalue_bounds(matrix)
        value = 0.5 * (low + high)
        error = float(np.nextafter(max(high - value, value - low) + hessian.error, np.inf))
        return Enclosure(value, error, hessian.certainty, hessian.method + ", verified eigenvalue")

    def grad_y_star(self, x: ArrayLike) -> Enclosure:
        """``nabla y*``, shape (dx, dy)."""
        self._needs_lower()
        return self._at(x, lambda h: h.jacobian)

    def hess_y_star(self, x: ArrayLike) -> list[Enclosure]:
        """``nabla^2 y*``: one (dx, dx) enclosure per component of y."""
        self._needs_lower()
        with precision(self.bits):
            matrices = self._hyper(x).second_derivative
            return [enclosure_of(m, self.certainty, self._method(self._proof)) for m in matrices]

    def v_star(self, x: ArrayLike, y: ArrayLike | None = None) -> Enclosure:
        """Solution v of ``nabla^2_yy g(x, y) v = nabla_y f(x, y)``, shape (dy,); at y = y*(x) if y is omitted."""
        self._needs_lower()
        if y is None:
            return self._at(x, lambda h: h.v, vector=True)
        with precision(self.bits):
            point = point_of(x, self.model.dx)
            hyper = Hyper(_balls(), self.model, _exact(point), _exact(point_of(y, self.model.dy)))
            return _flat(enclosure_of(hyper.v, "certified", "verified linear system in balls"))

    def L_star(self, x: ArrayLike, lam: float) -> Enclosure:
        """``L*_lam(x) = min_y f + lam (g - g*(x))``."""
        return self._at_penalty(x, lam, lambda p: p.value)

    def grad_L_star(self, x: ArrayLike, lam: float) -> Enclosure:
        """Gradient of ``L*_lam``, shape (dx,)."""
        return self._at_penalty(x, lam, lambda p: p.gradient, vector=True)

    def hess_L_star(self, x: ArrayLike, lam: float) -> Enclosure:
        """Hessian of ``L*_lam``, shape (dx, dx)."""
        return self._at_penalty(x, lam, lambda p: p.hessian)

    def grad_y_star_lam(self, x: ArrayLike, lam: float) -> Enclosure:
        """``nabla y*_lam``, shape (dx, dy)."""
        return self._at_penalty(x, lam, lambda p: p.jacobian)

    def g_min(self, x: ArrayLike) -> Enclosure:
        """Lower-level value ``g(x, y*(x))``."""
        self._needs_lower()
        return self._at(x, lambda h: h.g.value)

    # ---- batches --------------------------------------------------------------------------------------------------

    def y_star_batch(self, X: ArrayLike) -> Batch:
        """y* for rows of X: values (n, dy), Euclidean errors (n,)."""
        if self.model.lower is None:
            n = len(rows_of(X, self.model.dx))
            return np.empty((n, 0)), np.zeros(n)
        values, errors = self.points.batch(X, lambda h: h.algebra.matrix([[v] for v in h.y], h.z))
        return values[:, :, 0], errors

    def y_star_lam_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """y*_lam for rows of X (lam: a number or one per row): values (n, dy), errors (n,)."""
        self._needs_lower()
        values, errors = self.points.batch_penalty(X, lam, lambda p: p.algebra.matrix([[v] for v in p.y_lam], p.x))
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
        return self.points.batch(X, lambda h: _eigenvalue_interval(h.hessian))

    def grad_y_star_batch(self, X: ArrayLike) -> Batch:
        """nabla y*: values (n, dx, dy), Frobenius errors (n,)."""
        self._needs_lower()
        return self.points.batch(X, lambda h: h.jacobian)

    def hess_y_star_batch(self, X: ArrayLike) -> Batch:
        """nabla^2 y*: values (n, dy, dx, dx), Frobenius errors (n,) over all components of y."""
        self._needs_lower()
        parts = [self.points.batch(X, lambda h, k=k: h.second_derivative[k]) for k in range(self.model.dy)]  # type: ignore[misc]
        errors = np.nextafter(np.sqrt(np.sum([e**2 for _, e in parts], axis=0)) * (1 + 1e-15), np.inf)
        return np.stack([v for v, _ in parts], axis=1), errors

    def L_star_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """L*_lam: values (n,), errors (n,)."""
        self._needs_lower()
        return self.points.batch_penalty(X, lam, lambda p: p.value)

    def grad_L_star_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """Gradients of L*_lam: values (n, dx), errors (n,)."""
        self._needs_lower()
        values, errors = self.points.batch_penalty(X, lam, lambda p: p.gradient)
        return values[:, :, 0], errors

    def hess_L_star_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """Hessians of L*_lam: values (n, dx, dx), errors (n,)."""
        self._needs_lower()
        return self.points.batch_penalty(X, lam, lambda p: p.hessian)

    def grad_y_star_lam_batch(self, X: ArrayLike, lam: ArrayLike) -> Batch:
        """nabla y*_lam: values (n, dx, dy), errors (n,)."""
        self._needs_lower()
        return self.points.batch_penalty(X, lam, lambda p: p.jacobian)

    # ---- the upper level ------------------------------------------------------------------------------------------

    @cached_property
    def range_of_x(self) -> tuple[FloatArray, FloatArray]:
        """Declared ends of x as floats."""
        ends = [self.problem.range_of(s) for s in self.problem.x]
        return np.array([float(a) for a, _ in ends]), np.array([float(b) for _, b in ends])

    @cached_property
    def minimum(self) -> Minimum:
        """Everything known about the infimum of phi on the declared range of x."""
        from bilevel_verify.truth.infimum import infimum

        return infimum(self.problem, self.points, *self.range_of_x)

    def phi_min(self) -> Enclosure:
        """Enclosure of ``inf phi`` on the declared range of x; ``attained`` says whether it is a minimum.

        The value is minus infinity where phi is not bounded below.
        """
        return self.minimum.enclosure(self.certainty)

    def phi_argmin(self) -> FloatArray:
        """The best point found, shape (dx,)."""
        return self.minimum.x

    def delta(self, x0: ArrayLike) -> Enclosure:
        """``Delta = phi(x0) - inf phi``."""
        least = self.phi_min()
        if np.isinf(float(least.value)):
            return Enclosure(np.inf, 0.0, least.certainty, "phi is not bounded below")
        start = self.phi(x0)
        low = max(0.0, float(np.nextafter(start.lower - least.upper, -np.inf)))
        high = float(np.nextafter(start.upper - least.lower, np.inf))
        return _between(
            low, high, weakest(self.certainty, least.certainty), f"phi(x0) minus the infimum ({least.method})"
        )

    def stationary_points(self, budget: int = 20_000) -> StationarySet:
        """Stationary points of phi in the declared (bounded) range of x; see :func:`stationary.stationary_points`."""
        from bilevel_verify.truth.objective import PhiObjective
        from bilevel_verify.truth.stationary import stationary_points

        with ball_ends():
            return stationary_points(
                PhiObjective(self.points), *self.range_of_x, budget=budget, certainty=self.certainty
            )

    def L_star_min(self, lam: float) -> Enclosure:
        """Enclosure of ``inf_x L*_lam(x)`` on the declared range of x."""
        from bilevel_verify.truth.infimum import penalty_infimum

        self._needs_lower()
        return penalty_infimum(self, lam)

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
        from bilevel_verify.problems.composite import split
        from bilevel_verify.truth.composite import CompositeTruth
        from bilevel_verify.truth.simple_bilevel import SimpleTruth

        polyhedral = _polyhedral(self.problem)
        if polyhedral is not None:
            return polyhedral
        composite = split(self.problem)
        return SimpleTruth(self.problem) if composite is None else CompositeTruth(self.problem, composite)

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
        from bilevel_verify.truth.error_bound import derive_error_bound

        return derive_error_bound(self.simple)

    def check_error_bound(self, alpha: float, r: float, count: int = 200, seed: int = 0) -> ErrorBoundCheck:
        """Test a claimed ``(alpha, r)`` on feasible points: a failure carries a witness, a pass is only sampled."""
        from bilevel_verify.truth.error_bound import check_error_bound

        return check_error_bound(self.simple, alpha, r, count=count, seed=seed)

    def conic_g(self, x: ArrayLike | None = None) -> ConicAnswer:
        """``g*(x)`` (``g*`` of a simple bilevel problem) by Clarabel: primal value, dual value, gap, point."""
        from bilevel_verify.truth.conic import conic_g

        return conic_g(self, x)

    def conic_f(self) -> ConicAnswer:
        """``f*`` (the minimum of a convex explicit phi, or of a simple bilevel problem) by Clarabel."""
        from bilevel_verify.truth.conic import conic_f

        return conic_f(self)

    def summary(self, x: ArrayLike | None = None) -> list[dict[str, Any]]:
        """Rows for a report: quantity, value, error, certainty, method, attained; a failure is a row with its reason.

        Parameters
        ----------
        x : where to evaluate the point quantities; the problem's start, or the best point found, if omitted.
        """
        if self.problem.kind == "simple_bilevel":
            return [_row(name, lambda name=name: getattr(self, name)) for name in ("f_star", "g_star", "x_star")]  # type: ignore[misc]
        rows = [_row("phi_min", self.phi_min)]
        at = x if x is not None else self.problem.start
        if at is None:
            at = self.phi_argmin() if np.all(np.isfinite(self.minimum.x)) else np.zeros(self.model.dx)
        names = ["phi", "grad_phi", "hess_phi", "lambda_min_hess_phi", "delta"]
        if self.model.lower is not None:
            names = ["y_star", "grad_y_star", *names]
        return rows + [_row(name, lambda name=name: getattr(self, name)(at)) for name in names]  # type: ignore[misc]

    # ---- precision ------------------------------------------------------------------------------------------------

    def with_digits(self, digits: int) -> HighPrecision:
        """The same quantities in ``digits`` decimal digits, for points as mpmath numbers, strings or fractions."""
        from bilevel_verify.truth.high_precision import HighPrecision

        return HighPrecision(self, digits)


def truth(problem: Problem, digits: int | None = None) -> Truth:
    """Truth about a problem: :class:`Truth`.

    Parameters
    ----------
    problem : the problem.
    digits : working precision of single points in decimal digits (default about 48); results are float64 either way,
        :meth:`Truth.with_digits` returns more digits.
    """
    return Truth(problem, DEFAULT_BITS if digits is None else max(DEFAULT_BITS, int(digits * 3.33) + 32))


def _polyhedral(problem: Problem) -> SimpleTruth | None:
    """Truth of a polyhedral g over a set of linear constraints; None for other problems."""
    from bilevel_verify.truth.polyhedral import PolyhedralTruth, kinks_of

    if problem.g is None or any(p.free_symbols for p in problem.f.atoms(sympy.Abs, sympy.Max)):
        return None
    found = kinks_of(problem.g, problem.x)
    try:
        return None if found is None else PolyhedralTruth(problem, *found)
    except InputError:
        return None


def _row(name: str, compute: Callable[[], Enclosure]) -> dict[str, Any]:
    try:
        found = compute()
    except BilevelVerifyError as problem:
        return {
            "quantity": name,
            "value": None,
            "error": None,
            "certainty": None,
            "method": str(problem),
            "attained": None,
        }
    value = found.value.tolist() if isinstance(found.value, np.ndarray) else float(found.value)
    return {
        "quantity": name, "value": value, "error": float(found.error), "certainty": found.certainty,
        "method": found.method, "attained": found.attained,
    }  # fmt: skip


def _exact(values: Sequence[float] | FloatArray) -> list[Any]:
    import flint

    return [flint.arb(float(v)) for v in values]


def _balls() -> Any:
    from bilevel_verify.truth.algebra import Balls

    return Balls()


def _flat(found: Enclosure) -> Enclosure:
    return Enclosure(np.asarray(found.value).reshape(-1), found.error, found.certainty, found.method, found.attained)


def _between(low: float, high: float, certainty: Certainty, method: str, attained: bool | None = None) -> Enclosure:
    """Enclosure of a scalar from two ends."""
    if not np.isfinite(high) or not np.isfinite(low):
        raise MathematicalError(f"only one side is known: [{low}, {high}] ({method})")
    value = 0.5 * low + 0.5 * high
    error = 0.0 if low == high else float(np.nextafter(max(high - value, value - low), np.inf))
    return Enclosure(value, error, certainty, method, attained)


def _eigenvalue_bounds(matrix: FloatArray) -> tuple[float, float]:
    interval = _eigenvalue_interval(Interval(matrix[None], matrix[None]))
    return float(interval.lo[0]), float(interval.hi[0])


def _eigenvalue_interval(matrix: Interval) -> Interval:
    """Enclosure of the smallest eigenvalue of symmetric interval matrices (n, d, d)."""
    low = smallest_eigenvalue(matrix)
    mid, radius = spread(matrix)
    d = mid.shape[1]
    middle = 0.5 * (mid + np.swapaxes(mid, 1, 2))
    least = middle[:, 0, 0] if d == 1 else np.linalg.eigvalsh(middle)[:, 0]
    size = np.sqrt(np.sum(middle**2, axis=(1, 2)))
    high = least + radius * (1 + 1e-12) + (8 * d + 8) * 2.0**-52 * size
    return Interval(low, np.where(np.isfinite(low), high, np.inf))
