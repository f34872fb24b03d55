"""phi, L*_lam and their derivatives at points: batches in intervals, single points in balls of any precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import balls_in_use
from bilevel_verify.numbers.rounding import centred, floats_of
from bilevel_verify.problems.numbers import float_array
from bilevel_verify.truth.arithmetic.algebra import NO_VALUE, Balls, Boxes
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure
from bilevel_verify.truth.functions.formulas import BallHyper, BallPenalty, BoxHyper, BoxPenalty, Hyper, Penalty
from bilevel_verify.truth.functions.model import Model
from bilevel_verify.truth.lower_level.diagnosis import explain, falls
from bilevel_verify.truth.lower_level.newton import Minimised
from bilevel_verify.truth.lower_level.solving import LowerLevel

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]
BOXES, BALLS = Boxes(), Balls()
CHUNK = 4096
DEFAULT_BITS = 160


def rows_of(X: ArrayLike, dx: int) -> FloatArray:
    """A batch of points as a finite (n, dx) array."""
    points = float_array(X, "a batch of points")
    if points.ndim == 1 and dx == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] != dx:
        raise InputError(f"a batch of points has shape (n, {dx}), not {points.shape}")
    if not np.all(np.isfinite(points)):
        raise InputError("a batch of points must be finite")
    return points


def point_of(x: ArrayLike, dx: int) -> FloatArray:
    """One finite point, shape (dx,)."""
    point = float_array(x, "x").reshape(-1)
    if point.size != dx:
        raise InputError(f"x has {dx} components, {point.size} were given")
    if not np.all(np.isfinite(point)):
        raise InputError("x must be finite")
    return point


def spread(intervals: Interval, like: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Midpoints and errors of a batch: ``(n,)`` or ``(n, r, c)`` intervals; the error of a row is its Frobenius norm.

    Rows without information have error infinity and a finite value.
    """
    finite = np.isfinite(intervals.lo) & np.isfinite(intervals.hi)
    with np.errstate(invalid="ignore", over="ignore"):
        value = np.where(finite, 0.5 * intervals.lo + 0.5 * intervals.hi, 0.0 if like is None else like)
        radius = np.where(finite, np.nextafter(np.maximum(intervals.hi - value, value - intervals.lo), np.inf), np.inf)
        radius = np.where(intervals.lo == intervals.hi, 0.0, radius)
        if radius.ndim == 1:
            return value, radius
        total = frobenius(radius)
    return value, np.where(np.isfinite(total), total, np.inf)


def _above(y: Sequence[Interval], found: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """What rests on minimisers says nothing in rows where one is not known."""
    if not len(y):
        return found
    known = np.isfinite([[v.lo, v.hi] for v in y]).all(axis=(0, 1))
    return found[0], np.where(known, found[1], np.inf)


def frobenius(radius: FloatArray) -> FloatArray:
    """Norms of the rows (n, ...) of non-negative radii, rounded up; scaled, so that nothing underflows to zero."""
    axes = tuple(range(1, radius.ndim))
    top = np.max(radius, axis=axes, initial=0.0, keepdims=True)
    scaled = np.where(np.isfinite(top) & (top > 0), radius / np.where(top > 0, top, 1.0), 0.0)
    count = float(np.prod(radius.shape[1:]))
    size = np.sqrt(np.sum(scaled**2, axis=axes)) * (1 + (count + 8) * 2.0**-51)
    flat = top.reshape(len(radius))
    return np.asarray(np.where(flat > 0, np.nextafter(flat * np.where(np.isfinite(flat), size, 1.0), np.inf), 0.0))


class Points:
    """Evaluates quantities of one problem at points; keeps the last float solutions as warm starts."""

    def __init__(
        self,
        model: Model,
        mu: Callable[[], float | None],
        convex: Callable[[], bool] = lambda: False,
        convexity: Callable[[], str] = lambda: "",
    ) -> None:
        self.model = model
        self._mu = mu
        self._convex = convex
        self._convexity = convexity
        self._level: LowerLevel | None = None
        self._last: dict[bytes, FloatArray] = {}
        self._hyper: tuple[tuple[bool, bytes], BoxHyper, FloatArray] | None = None
        self._penalty: tuple[tuple[bool, bytes, bytes], BoxPenalty] | None = None

    @property
    def level(self) -> LowerLevel:
        if self._level is None:
            self._level = LowerLevel(self.model, self._mu, self._convex)
        return self._level

    # ---- batches --------------------------------------------------------------------------------------------------

    @np.errstate(all="ignore")
    def hyper(self, X: FloatArray) -> tuple[BoxHyper, FloatArray]:
        """phi's ingredients in intervals at a batch of points, and the float y*; the last batch is kept."""
        key = (balls_in_use(), X.tobytes())
        if self._hyper is None or self._hyper[0] != key:
            boxes = [Interval(column, column) for column in np.ascontiguousarray(X.T)]
            if self.model.lower is None:
                self._hyper = (key, Hyper(BOXES, self.model, boxes, []), np.empty((len(X), 0)))
            else:
                Y = self.level.solve(X).y
                self._hyper = (key, Hyper(BOXES, self.model, boxes, self.level.enclose(boxes, Y)[0]), Y)
        return self._hyper[1], self._hyper[2]

    @np.errstate(all="ignore")
    def penalty(self, X: FloatArray, lam: FloatArray) -> BoxPenalty:
        """The same for ``L*_lam``, one exact lam per row."""
        key = (balls_in_use(), X.tobytes(), np.ascontiguousarray(lam).tobytes())
        if self._penalty is None or self._penalty[0] != key:
            boxes = [Interval(column, column) for column in np.ascontiguousarray(X.T)]
            Y = self.level.solve(X).y
            Z = self.level.solve(X, lam, Y).y
            lower, penalised = self.level.enclose(boxes, Y)[0], self.level.enclose(boxes, Z, lam)[0]
            self._penalty = (key, Penalty(BOXES, self.model, Interval(lam, lam), boxes, lower, penalised))
        return self._penalty[1]

    @np.errstate(all="ignore")
    def batch(self, X: ArrayLike, pick: Callable[[BoxHyper], Interval]) -> tuple[FloatArray, FloatArray]:
        """Values and errors of one quantity over a batch."""
        points = rows_of(X, self.model.dx)
        hypers = (self.hyper(points[a : a + CHUNK])[0] for a in range(0, max(len(points), 1), CHUNK))
        parts = [_above(hyper.y, spread(pick(hyper))) for hyper in hypers]
        errors = np.concatenate([p[1] for p in parts])
        return np.concatenate([p[0] for p in parts]), self._without_minimiser(points, errors)

    @np.errstate(all="ignore")
    def has_value(self, x: FloatArray) -> bool:
        """Whether f, and g where there is a lower level, are real numbers at x and the float y*: log(-1) is none."""
        import flint

        y = np.empty(0) if self.model.lower is None else self.level.solve(x[None, :]).y[0]
        at = [flint.arb(float(v)) for v in (*x, *y)]
        values = [f.program.run(BALLS.arithmetic, at)[0] for f in self.model.minimised(penalised=True)]
        return not any(flint.arb(value).is_nan() for value in values)

    def _without_minimiser(self, points: FloatArray, errors: FloatArray) -> FloatArray:
        """Infinite errors where a lower level that is not certified to be convex falls to minus infinity."""
        if self.model.lower is None or not len(points) or self._convex():
            return errors
        if len(points) <= 64:
            gone = [fall is not None and fall.proved for fall in (falls(self.model, x) for x in points)]
            return np.where(gone, np.inf, errors)
        first, last = falls(self.model, points[0]), falls(self.model, points[-1])
        return np.full_like(errors, np.inf) if first and last and first.proved and last.proved else errors

    def batch_penalty(
        self, X: ArrayLike, lam: ArrayLike, pick: Callable[[BoxPenalty], Interval]
    ) -> tuple[FloatArray, FloatArray]:
        """Values and errors of one quantity of ``L*_lam`` over a batch."""
        points = rows_of(X, self.model.dx)
        weights = float_array(lam, "lam")
        if weights.shape not in ((), (1,), (len(points),)):
            raise InputError(f"lam is one number or one for each of the {len(points)} points, not {weights.shape}")
        weights = np.broadcast_to(weights, (len(points),))
        if not np.all(np.isfinite(weights)) or np.any(weights <= 0):
            raise InputError("the penalty lam must be positive and finite")
        starts = range(0, max(len(points), 1), CHUNK)
        penalties = (self.penalty(points[a : a + CHUNK], weights[a : a + CHUNK]) for a in starts)
        parts = [_above([*p.y, *p.y_lam], spread(pick(p))) for p in penalties]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    # ---- one point ------------------------------------------------------------------------------------------------

    @np.errstate(all="ignore")
    def float_y(self, x: FloatArray, lam: float | None = None) -> FloatArray:
        """Float solution at one point.

        Raises
        ------
        MathematicalError : no minimiser was found (with what is known about the last iterate).
        """
        key = x.tobytes() + repr(lam).encode()
        if key in self._last:
            return self._last[key]
        found = self.level.solve(x[None, :], None if lam is None else np.array([lam]))
        if not found.converged[0] and not self._nearly(found, lam):
            raise MathematicalError(self._no_minimiser(x, found.y[0], lam))
        if len(self._last) > 256:
            self._last.clear()
        solution: FloatArray = found.y[0]
        self._last[key] = solution
        return solution

    def _nearly(self, found: Minimised, lam: float | None) -> bool:
        """A stationary point without curvature, which the sign of g_y may still enclose (one variable, g convex)."""
        small = found.residual[0] <= 1e-6 * (1 + np.max(np.abs(found.y[0])))
        return bool(lam is None and self.model.dy == 1 and small and self.level.convex)

    def _no_minimiser(self, x: FloatArray, y: FloatArray, lam: float | None) -> str:
        if lam is not None:
            return (
                f"no nondegenerate minimiser of the penalised lower level (lam = {lam:g}) was found at "
                f"x = {x.tolist()}: Newton stopped at y = {y.tolist()}"
            )
        why = explain(self.model, x, y, self._convexity())
        return f"no nondegenerate minimiser of the lower level was found at x = {x.tolist()}: {why}"

    def _ball(self, x: Sequence[flint.arb], near: FloatArray) -> list[flint.arb]:
        """Proved balls around y*(x); a failure says what is known about the lower level."""
        start = self.float_y(near)
        try:
            return self.level.ball(x, [float(v) for v in start])
        except MathematicalError:
            raise MathematicalError(self._no_minimiser(near, start, None)) from None

    def ball_hyper(self, x: Sequence[flint.arb], near: FloatArray) -> BallHyper:
        """phi's ingredients in balls at one point (dx balls); ``near`` is the float point for the warm start."""
        if self.model.lower is None:
            return Hyper(BALLS, self.model, list(x), [])
        y = self._ball(x, near)
        return Hyper(BALLS, self.model, list(x), y)

    def ball_penalty(self, x: Sequence[flint.arb], lam: flint.arb, near: FloatArray, near_lam: float) -> BallPenalty:
        """The same for ``L*_lam``."""
        y = self._ball(x, near)
        y_lam = self.level.ball(x, [float(v) for v in self.float_y(near, near_lam)], lam)
        return Penalty(BALLS, self.model, lam, list(x), y, y_lam)


def enclosure_of(ball: Any, certainty: Certainty, method: str) -> Enclosure:
    """A float enclosure of a ball or of a matrix of balls (columns become vectors)."""
    if not hasattr(ball, "nrows"):
        value, error = _float_ball(ball)
        return Enclosure(value, error, certainty, method)
    pairs = [_float_ball(entry) for row in ball.tolist() for entry in row]
    values = np.array([p[0] for p in pairs]).reshape(ball.nrows(), ball.ncols())
    error = float(frobenius(np.array([[p[1] for p in pairs]]))[0]) if pairs else 0.0
    return Enclosure(values, error, certainty, method)


def _float_ball(ball: flint.arb) -> tuple[float, float]:
    low, high = floats_of(ball)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise MathematicalError(NO_VALUE)
    return centred(low, high)
