"""One point at a time: quantities in balls, with what may be claimed about them.

A value is ``certified`` where the lower level is certified to be convex, so that the stationary point that Newton found
and Krawczyk's test proved is the only minimiser; else it is ``computed``, and a lower level that provably falls without
end is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.intervals.elementary import balls_in_use
from bilevel_verify.numbers.rounding import inward, precision
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.algebra import Balls
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure, flattened, weakest
from bilevel_verify.truth.functions.formulas import Hyper, Penalty
from bilevel_verify.truth.functions.model import Model, model_of
from bilevel_verify.truth.lower_level.convexity import Convexity, convexity_of
from bilevel_verify.truth.lower_level.diagnosis import falls
from bilevel_verify.truth.lower_level.points import Points, enclosure_of, point_of

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]


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

    def hyper(self, x: ArrayLike) -> Hyper:
        """phi and its kin at x, as balls at the precision of ``flint.ctx``.

        Raises
        ------
        MathematicalError : the lower level provably has no minimiser at x.
        """
        point = point_of(x, self.model.dx)
        self._refuse_unbounded(point)
        return self.points.ball_hyper(_exact(point), point)

    def penalty(self, x: ArrayLike, lam: float) -> Penalty:
        """L*_lam and its kin at x, as balls at the precision of ``flint.ctx``.

        Raises
        ------
        InputError : one level only, or a lam that is not positive and finite.
        """
        if self.model.lower is None:
            raise InputError("a single-level problem has no penalty function")
        if not (isinstance(lam, Real) and np.isfinite(float(lam)) and lam > 0):
            raise InputError("the penalty lam must be positive and finite")
        point = point_of(x, self.model.dx)
        return self.points.ball_penalty(_exact(point), _exact(np.array([lam]))[0], point, float(lam))

    def _refuse_unbounded(self, point: FloatArray) -> None:
        """Where convexity is not certified: a lower level that falls to minus infinity has no y*."""
        if self.convexity.convex or self.model.lower is None:
            return
        fall = falls(self.model, point)
        if fall is not None and fall.proved:
            raise MathematicalError(f"the lower level has no minimiser at x = {point.tolist()}: {fall.text}")

    def at(self, x: ArrayLike, pick: Callable[[Hyper], Any], vector: bool = False) -> Enclosure:
        """One quantity above y*(x); ``vector`` for columns."""
        with precision(self.bits):
            found = enclosure_of(pick(self.hyper(x)), self.certainty_at(x), "")
        found = replace(found, method=self.method(self.proof))
        return flattened(found) if vector else found

    def at_penalty(self, x: ArrayLike, lam: float, pick: Callable[[Penalty], Any], vector: bool = False) -> Enclosure:
        """One quantity above y*_lam(x); ``vector`` for columns."""
        with precision(self.bits):
            found = enclosure_of(pick(self.penalty(x, lam)), self.certainty_at(x), self.method(self.proof))
        return flattened(found) if vector else found

    def second_derivative(self, x: ArrayLike) -> list[Enclosure]:
        """``nabla^2 y*``: one (dx, dx) enclosure per component of y."""
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
