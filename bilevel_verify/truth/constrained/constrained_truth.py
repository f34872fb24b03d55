"""Truth where the lower level is constrained to a box, an orthant or a simplex.

``y*`` and ``phi`` are enclosed at every x; derivatives of phi where strict complementarity is certified, since phi has
kinks where the face changes. The error of y* is proved in one of two ways:

* the stationary point of the lower level restricted to a face (Newton, Krawczyk's test in balls) whose free entries lie
  strictly inside and whose multipliers are strictly positive, all in balls; where g is convex in y on the set it is the
  minimiser;
* for ``mu > 0`` by a residual: for feasible y and any number s, ``mu |y - y*|^2 <= <grad g(y) - s 1, y - y*>``
  (optimality of y* and strong convexity; the ones only on a simplex, where the entries of y - y* add up to 0), and an
  entry at its end whose slope points outwards contributes nothing, so ``|y - y*| <= |r| / mu``, r the other entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.arguments import checked_methods
from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.rounding import ball, constant_ball, precision
from bilevel_verify.problems.problem import Problem
from bilevel_verify.time_limit import checked_seconds, time_limit
from bilevel_verify.truth.arithmetic.enclosure import Enclosure, flattened
from bilevel_verify.truth.constrained.faces import Face, face_near, polyhedron_of
from bilevel_verify.truth.constrained.guess import guess
from bilevel_verify.truth.functions.formulas import BallHyper
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.lower_level.convexity import Convexity
from bilevel_verify.truth.lower_level.points import Points, enclosure_of, point_of, rows_of
from bilevel_verify.truth.lower_level.pointwise import Pointwise
from bilevel_verify.truth.summary import summary_row
from bilevel_verify.truth.truth import Batch, Truth

if TYPE_CHECKING:
    from flint import arb, arb_mat

FloatArray = NDArray[np.float64]
T = TypeVar("T")
HERE = "y_star, phi, grad_phi, hess_phi, grad_y_star and g_min at a point"
POINTS_KEPT = 16
TOLERANCES = (1e-7, 1e-5, 1e-9, 1e-3)
"""Distances from an end at which an entry is tried as held; a wrong face fails its certificate, so none decides."""


class _OfTheWhole(Pointwise):
    """Functions and convexity of the whole problem; whatever rests on an unconstrained y* is refused."""

    @property
    def points(self) -> Points:
        """Not here.

        Raises
        ------
        InputError : always.
        """
        raise InputError(f"the lower level is constrained, for which this is not computed; there are {HERE}")

    def needs_lower(self) -> None:
        """Not here."""
        _ = self.points

    def hyper(self, x: ArrayLike) -> BallHyper:
        """Not here."""
        return self.points.ball_hyper([], np.empty(0))


@checked_methods
class ConstrainedTruth(Truth):
    """:class:`Truth` of a ``constrained_bilevel`` problem, as far as it exists at single points."""

    def __init__(self, problem: Problem, bits: int) -> None:
        super().__init__(problem, bits)
        self._pointwise = _OfTheWhole(problem, bits)
        self.polyhedron = polyhedron_of(problem)
        self._levels: dict[Face, Pointwise] = {}
        self._near = lru_cache(POINTS_KEPT)(lambda *x: guess(self._lower, self.polyhedron, np.array(x)))

    # ---- the face -------------------------------------------------------------------------------------------------

    def face(self, x: ArrayLike) -> Face | None:
        """The face that holds y*(x) in its relative interior with positive multipliers, certified; None if none was."""
        return self._on_face(x, lambda level, face, hyper: face)

    def _on_face(self, x: ArrayLike, pick: Callable[[Pointwise, Face, BallHyper], T]) -> T | None:
        point = point_of(x, self.problem.dx)
        near = self._near(*point.tolist())
        for face in dict.fromkeys(face_near(self.problem, self.polyhedron, near, t) for t in TOLERANCES):
            level = self._level(face)
            with precision(self.bits):
                try:
                    hyper = level.hyper(point)
                except MathematicalError:
                    continue
                if self._certified(face, point, hyper):
                    return pick(level, face, hyper)
        return None

    def _level(self, face: Face) -> Pointwise:
        """The restricted problem; it is as convex as the whole one (an embedding does not shorten)."""
        if face not in self._levels:
            inherited = self.convexity if face.free else Convexity(None, True)
            self._levels[face] = Pointwise(face.restricted, self.bits, inherited)
        return self._levels[face]

    @property
    def _lower(self) -> Function:
        assert self.model.lower is not None
        return self.model.lower

    def _multipliers(self, face: Face, x: list[arb], y: list[arb]) -> list[arb]:
        """Slopes of g along y, less that of the eliminated entry on a simplex; balls."""
        slopes = list(self._lower.gradient_y.run(ArbBalls(), [*x, *y]))
        return slopes if face.eliminated is None else [s - slopes[face.eliminated] for s in slopes]

    def _certified(self, face: Face, point: FloatArray, hyper: BallHyper) -> bool:
        """Free entries strictly inside, multipliers strictly positive; balls compare True only where it is certain."""
        y = face.whole(hyper.y, _number)
        multipliers = self._multipliers(face, _balls(point), y)
        low, high, held = self.polyhedron.low, self.polyhedron.high, dict(face.held)
        return all(
            bool(multipliers[i] * -held[i] > 0)
            if i in held
            else bool(y[i] > _number(low[i])) and bool(y[i] < _number(high[i]))
            for i in range(self.problem.dy)
        )

    # ---- one point ------------------------------------------------------------------------------------------------

    def y_star(self, x: ArrayLike) -> Enclosure:
        """Minimiser of the lower level over its set, shape (dy,), Euclidean error."""
        found = self._on_face(
            x, lambda level, face, hyper: self._enclosure(x, level, face, _column(face.whole(hyper.y, _number)))
        )
        return self._by_residual(x) if found is None else flattened(found)

    def phi(self, x: ArrayLike) -> Enclosure:
        """``f(x, y*(x))``."""
        found = self._on_face(x, lambda level, face, hyper: self._enclosure(x, level, face, hyper.value))
        return found if found is not None else self._above(self.model.upper, x, self._by_residual(x))

    def g_min(self, x: ArrayLike) -> Enclosure:
        """``g(x, y*(x))``."""
        return self._above(self._lower, x, self.y_star(x))

    def grad_phi(self, x: ArrayLike) -> Enclosure:
        """Gradient of phi where the face is certain, shape (dx,)."""
        return flattened(self._smooth(x, "grad_phi", lambda face, hyper: hyper.gradient))

    def hess_phi(self, x: ArrayLike) -> Enclosure:
        """Hessian of phi where the face is certain, shape (dx, dx), error in the Frobenius norm."""
        return self._smooth(x, "hess_phi", lambda face, hyper: hyper.hessian)

    def grad_y_star(self, x: ArrayLike) -> Enclosure:
        """``nabla y*`` where the face is certain, shape (dx, dy): zero for held entries."""

        def rows(face: Face, hyper: BallHyper) -> arb_mat:
            import flint

            free = range(len(face.free))
            jacobian = [[hyper.jacobian[i, j] for j in free] for i in range(self.problem.dx)]
            return flint.arb_mat([face.tangent(row, flint.arb(0)) for row in jacobian])

        return self._smooth(x, "grad_y_star", rows)

    def _smooth(self, x: ArrayLike, name: str, pick: Callable[[Face, BallHyper], object]) -> Enclosure:
        """A derivative of the restricted problem.

        Raises
        ------
        MathematicalError : strict complementarity is not certain at x.
        """
        found = self._on_face(x, lambda level, face, hyper: self._enclosure(x, level, face, pick(face, hyper)))
        if found is None:
            at = point_of(x, self.problem.dx).tolist()
            raise MathematicalError(
                f"{name}: strict complementarity is not certain at x = {at}; phi may have a kink where the face changes"
            )
        return found

    def _enclosure(self, x: ArrayLike, level: Pointwise, face: Face, ball_or_matrix: object) -> Enclosure:
        held = ", ".join(f"{self.problem.y[i]} at its {'lower' if side < 0 else 'upper'} end" for i, side in face.held)
        proof = f"{level.proof} on the face with {held or 'no entry at an end'}, multipliers positive"
        return enclosure_of(ball_or_matrix, self._pointwise.certainty_at(x), level.method(proof))

    def _above(self, function: Function, x: ArrayLike, y: Enclosure) -> Enclosure:
        """A function at (x, y) for y in its enclosure."""
        with precision(self.bits):
            around = [_around(v, y.error) for v in np.asarray(y.value)]
            value = function.program.run(ArbBalls(), [*_balls(point_of(x, self.problem.dx)), *around])[0]
            return enclosure_of(value, y.certainty, y.method)

    def _by_residual(self, x: ArrayLike) -> Enclosure:
        """y* where no face is certain.

        Raises
        ------
        MathematicalError : the lower level is not certified to be strongly convex.
        """
        mu = self.convexity.mu
        if mu is None:
            raise MathematicalError(f"no face of the set is certain at this x, and {self.convexity.text}")
        point = point_of(x, self.problem.dx)
        near = self._near(*point.tolist())
        face = face_near(self.problem, self.polyhedron, near, TOLERANCES[0])
        with precision(self.bits):
            y = face.whole([_number(near[i]) for i in face.free], _number)
            if face.eliminated is not None and not y[face.eliminated] >= 0:
                raise MathematicalError("no point of the simplex near y* was found")
            error = self._residual(face, _balls(point), y) / _number(mu)
            found = flattened(
                enclosure_of(_column([_widened(v, error) for v in y]), self._pointwise.certainty_at(x), "")
            )
        return replace(found, method="residual over mu; no face is certain here, phi may have a kink")

    def _residual(self, face: Face, x: list[arb], y: list[arb]) -> arb:
        """Upper bound of ``|r|`` at a feasible y: an entry at its end counts as far as its slope points inwards."""
        import flint

        held, total = dict(face.held), flint.arb(0)
        for i, slope in enumerate(self._multipliers(face, x, y)):
            inwards = abs(slope) if i not in held else (slope * held[i]).max(flint.arb(0))
            total += inwards.abs_upper() ** 2
        return total.sqrt().abs_upper()

    def summary(self, x: ArrayLike | None = None, seconds: float | None = None) -> list[dict[str, object]]:
        """Rows of what there is at x (the problem's start, or 0, if omitted), as in :meth:`Truth.summary`."""
        start = np.zeros(self.problem.dx) if self.problem.start is None else self.problem.start
        names = ("y_star", "phi", "grad_y_star", "grad_phi", "hess_phi", "lambda_min_hess_phi")
        with time_limit(checked_seconds(seconds)) as limit:
            at = start if x is None else x
            return [summary_row(name, partial(getattr(self, name), at), limit) for name in names]

    # ---- batches --------------------------------------------------------------------------------------------------

    def y_star_batch(self, X: ArrayLike) -> Batch:
        """y* for rows of X, one after the other: values (n, dy), Euclidean errors (n,)."""
        return self._rows(X, self.y_star, (self.problem.dy,))

    def phi_batch(self, X: ArrayLike) -> Batch:
        """phi for rows of X: values (n,), errors (n,)."""
        return self._rows(X, self.phi, ())

    def grad_phi_batch(self, X: ArrayLike) -> Batch:
        """Gradients of phi: values (n, dx), errors (n,); infinite where the face is not certain."""
        return self._rows(X, self.grad_phi, (self.problem.dx,))

    def _rows(self, X: ArrayLike, quantity: Callable[[FloatArray], Enclosure], shape: tuple[int, ...]) -> Batch:
        rows = rows_of(X, self.problem.dx)
        values, errors = np.zeros((len(rows), *shape)), np.full(len(rows), np.inf)
        for i, row in enumerate(rows):
            try:
                found = quantity(row)
            except MathematicalError:
                continue
            values[i], errors[i] = found.value, found.error
        return values, errors


def _number(value: Any) -> Any:
    """An exact end or a float as a ball."""
    import flint

    if isinstance(value, float | np.floating) or value in (sympy.oo, -sympy.oo):
        return flint.arb(float(value))
    return constant_ball(value, flint.ctx.prec)


def _balls(point: FloatArray) -> list[arb]:
    return [ball(float(v)) for v in point]


def _column(values: list[arb]) -> arb_mat:
    import flint

    return flint.arb_mat([[v] for v in values])


def _around(middle: float, radius: float) -> arb:
    import flint

    return flint.arb(float(middle), float(radius))


def _widened(value: arb, radius: arb | float) -> arb:
    import flint

    return value + flint.arb(0, radius)
