"""One point at a time: quantities in balls, with what may be claimed about them.

A value is ``certified`` where the lower level is certified to be convex, so that the stationary point that Newton found
and Krawczyk's test proved is the only minimiser; else it is ``computed``, and a lower level that provably falls without
end is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.intervals.elementary import ball_ends, balls_in_use
from bilevel_verify.numbers.rounding import ball, floats_of, inward, precision
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.algebra import Balls
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure, flattened, weakest
from bilevel_verify.truth.functions.formulas import BallHyper, BallPenalty, BoxHyper, BoxPenalty, Hyper
from bilevel_verify.truth.functions.model import Model, model_of
from bilevel_verify.truth.lower_level.convexity import Convexity, convexity_of, upper_curvature
from bilevel_verify.truth.lower_level.diagnosis import falls
from bilevel_verify.truth.lower_level.points import DEFAULT_BITS, Points, enclosure_of, point_of, spread

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]

FEW_IN_BALLS, MOST_IN_BALLS = 500, 25_000
"""Numbers of data up to which single points are evaluated in balls: the first where nobody asks for more than the usual
digits, so that balls take well under a second; the second where somebody does, or where intervals prove nothing."""

IN_INTERVALS = "Newton and Krawczyk in intervals of floats, sums over data in one pass"


class Pointwise:
    """Evaluates quantities of one problem in ball arithmetic.

    Parameters
    ----------
    problem : any kind with an upper level that is evaluated at points.
    bits : precision of the balls.
    convexity : what is certified about the lower level, where the caller knows it.
    """

    def __init__(self, problem: Problem, bits: int, convexity: Convexity | None = None) -> None:
        self.problem, self.bits, self._convexity = problem, bits, convexity

    @cached_property
    def model(self) -> Model:
        """The functions of the problem as programs."""
        return model_of(self.problem)

    @cached_property
    def points(self) -> Points:
        """Solutions of the lower level at points and over boxes, and the formulas above them."""
        return Points(self.model, lambda: self.convexity.mu, lambda: self.convexity.convex, lambda: self.convexity.text)

    @cached_property
    def convexity(self) -> Convexity:
        """What is certified about the convexity of the lower level in y, on the declared ranges."""
        return convexity_of(self.problem, self.model) if self._convexity is None else self._convexity

    @property
    def certainty(self) -> Certainty:
        """What enclosures at points may claim: ``certified`` for a certified convex lower level."""
        return "certified" if self.convexity.convex else "computed"

    def penalty_certainty(self, lam: float | flint.arb) -> Certainty:
        """:attr:`certainty` of what rests on ``y*_lam``: ``f + lam g`` has to be convex in y, too.

        Raises
        ------
        InputError : one level only; a penalty that is no positive number.
        """
        if not hasattr(lam, "man_exp"):
            self._check_penalty(lam)
        weight = floats_of(ball(lam))[0]
        mu, bend = self.convexity.mu or 0.0, self._upper_curvature
        convex = np.isfinite(bend) and Fraction(weight) * Fraction(mu) + Fraction(bend) >= 0
        return self.certainty if convex else weakest(self.certainty, "computed")

    def of_penalty(self, found: Enclosure, lam: float) -> Enclosure:
        """A result that rests on ``y*_lam``, with what is known of that minimiser."""
        certainty = self.penalty_certainty(lam)
        if certainty == self.certainty:
            return found
        note = f"{found.method}; f + lam g is not certified to be convex in y: y*_lam may be a local minimiser"
        return replace(found, certainty=weakest(found.certainty, certainty), method=note)

    @cached_property
    def _upper_curvature(self) -> float:
        return upper_curvature(self.problem, self.model)

    def certainty_at(self, x: ArrayLike) -> Certainty:
        """:attr:`certainty` at a point of the declared range of x; outside of it convexity is not certified."""
        if self.model.lower is None:
            return self.certainty
        ranges = (inward(*self.problem.range_of(symbol)) for symbol in self.problem.x)
        inside = all(a <= v <= b for v, (a, b) in zip(point_of(x, self.model.dx), ranges, strict=True))
        return self.certainty if inside else weakest(self.certainty, "computed")

    @property
    def batch_certainty(self) -> Certainty:
        """What batches may claim: elementary functions of NumPy are proved only inside ``ball_ends``."""
        return self.certainty if balls_in_use() else weakest(self.certainty, "computed")

    def method(self, text: str) -> str:
        """How a number was found, and why its minimiser is the minimiser."""
        return f"{text}; {self.convexity.text}" if self.convexity.text else text

    @property
    def proof(self) -> str:
        """How the last point was proved."""
        if self.model.lower is None:
            return "evaluated in balls"
        return f"Newton and {self.points.level.proof} in balls"

    def needs_lower(self) -> None:
        """Refuse a problem without a lower level.

        Raises
        ------
        InputError : one level only.
        """
        if self.model.lower is None:
            raise InputError("a single-level problem has no lower level")

    def hyper(self, x: ArrayLike) -> BallHyper:
        """phi and its kin at x, as balls at the precision of ``flint.ctx``.

        Raises
        ------
        MathematicalError : the lower level provably has no minimiser at x.
        """
        point = point_of(x, self.model.dx)
        self._refuse_unbounded(point)
        return self.points.ball_hyper(_exact(point), point)

    def penalty(self, x: ArrayLike, lam: float) -> BallPenalty:
        """L*_lam and its kin at x, as balls at the precision of ``flint.ctx``.

        Raises
        ------
        InputError : one level only, or a lam that is not positive and finite.
        """
        self._check_penalty(lam)
        point = point_of(x, self.model.dx)
        return self.points.ball_penalty(_exact(point), _exact(np.array([lam]))[0], point, float(lam))

    def _check_penalty(self, lam: float) -> None:
        if self.model.lower is None:
            raise InputError("a single-level problem has no penalty function")
        if not (isinstance(lam, Real) and np.isfinite(float(lam)) and lam > 0):
            raise InputError("the penalty lam must be positive and finite")

    def _refuse_unbounded(self, point: FloatArray) -> None:
        """Where convexity is not certified: a lower level that falls to minus infinity has no y*."""
        if self.convexity.convex or self.model.lower is None:
            return
        fall = falls(self.model, point)
        if fall is not None and fall.proved:
            raise MathematicalError(f"the lower level has no minimiser at x = {point.tolist()}: {fall.text}")

    @property
    def in_intervals(self) -> bool:
        """Whether single points are evaluated in intervals: sums over data that balls would take seconds for."""
        return self.model.numbers > (FEW_IN_BALLS if self.bits <= DEFAULT_BITS else MOST_IN_BALLS)

    def _by_intervals(self, x: ArrayLike, pick: Callable[[FloatArray], Any]) -> Enclosure:
        """One quantity in intervals of floats, elementary functions proved.

        Raises
        ------
        MathematicalError : no minimiser was proved, or the intervals lost all information.
        """
        point = point_of(x, self.model.dx)
        self._refuse_unbounded(point)
        with ball_ends():
            values, errors = spread(pick(point[None]))
        if not np.isfinite(errors[0]):
            raise MathematicalError("intervals of floats prove no minimiser of the lower level here; move the point")
        value = float(values[0]) if values.ndim == 1 else values[0]
        return Enclosure(value, float(errors[0]), self.certainty_at(x), "")

    def _intervals_first(self, x: ArrayLike, pick: Callable[[FloatArray], object]) -> Enclosure | None:
        """One quantity in intervals; None where balls are to say it.

        Raises
        ------
        MathematicalError : the intervals prove nothing, and balls would take minutes.
        """
        if not self.in_intervals:
            return None
        try:
            found = self._by_intervals(x, pick)
        except MathematicalError:
            if self.model.numbers > MOST_IN_BALLS:
                raise
            return None
        return replace(found, method=self.method(IN_INTERVALS))

    def at(self, x: ArrayLike, pick: Callable[[BallHyper | BoxHyper], Any], vector: bool = False) -> Enclosure:
        """One quantity above y*(x); ``vector`` for columns."""
        found = self._intervals_first(x, lambda X: pick(self.points.hyper(X)[0]))
        if found is None:
            with precision(self.bits):
                found = enclosure_of(pick(self.hyper(x)), self.certainty_at(x), "")
            found = replace(found, method=self.method(self.proof))
        return flattened(found) if vector else found

    def at_penalty(
        self, x: ArrayLike, lam: float, pick: Callable[[BallPenalty | BoxPenalty], object], vector: bool = False
    ) -> Enclosure:
        """One quantity above y*_lam(x); ``vector`` for columns."""
        self._check_penalty(lam)
        found = self._intervals_first(x, lambda X: pick(self.points.penalty(X, np.array([float(lam)]))))
        if found is None:
            with precision(self.bits):
                found = enclosure_of(pick(self.penalty(x, lam)), self.certainty_at(x), self.method(self.proof))
        found = self.of_penalty(found, lam)
        return flattened(found) if vector else found

    def second_derivative(self, x: ArrayLike) -> list[Enclosure]:
        """``nabla^2 y*``: one (dx, dx) enclosure per component of y."""
        parts: list[Enclosure] = []
        for k in range(self.model.dy):
            part = self._intervals_first(x, lambda X, k=k: self.points.hyper(X)[0].second_derivative[k])  # type: ignore[misc]
            if part is None:
                break
            parts.append(part)
        else:
            return parts
        with precision(self.bits):
            matrices = self.hyper(x).second_derivative
            return [enclosure_of(m, self.certainty_at(x), self.method(self.proof)) for m in matrices]

    def v(self, x: ArrayLike, y: ArrayLike) -> Enclosure:
        """Solution v of ``nabla^2_yy g(x, y) v = nabla_y f(x, y)`` at a given y, shape (dy,)."""
        with precision(self.bits):
            point = point_of(x, self.model.dx)
            hyper = Hyper(Balls(), self.model, _exact(point), _exact(point_of(y, self.model.dy)))
            return flattened(enclosure_of(hyper.v, "certified", "verified linear system in balls"))


def _exact(values: Sequence[float] | FloatArray) -> list[flint.arb]:
    import flint

    return [flint.arb(float(v)) for v in values]
