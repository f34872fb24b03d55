"""The same truth in as many digits as asked: proved balls handed over as mpmath numbers.

For recomputing a trajectory in 50 digits: points come as mpmath numbers (or strings, fractions, integers), results as
:class:`Precise` with an mpmath value and a proved error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.numbers.rounding import ball, precision
from bilevel_verify.truth.arithmetic.enclosure import Certainty
from bilevel_verify.truth.functions.formulas import BallHyper, BallPenalty
from bilevel_verify.truth.lower_level.pointwise import Pointwise

if TYPE_CHECKING:
    import flint
    import mpmath


@dataclass(frozen=True, slots=True)
class Precise:
    """``value`` (mpmath number, or nested lists of them) and a bound of the error of every entry."""

    value: Any
    error: Any
    certainty: Certainty


class HighPrecision:
    """Quantities of a :class:`~bilevel_verify.truth.truth.Truth` in ``digits`` decimal digits.

    Parameters
    ----------
    pointwise : the problem at single points.
    digits : decimal digits wanted; 15 guard digits are added.
    """

    def __init__(self, pointwise: Pointwise, digits: int) -> None:
        if not 1 <= digits <= 10_000:
            raise InputError("digits must lie between 1 and 10000")
        self.pointwise = pointwise
        self.digits = digits
        self.bits = int((digits + 15) * 3.3219281) + 8

    def _ball(self, value: mpmath.mpf | str) -> flint.arb:
        """An exact number as a ball (mpmath numbers are binary and exact).

        Raises
        ------
        InputError : it is infinite or not a number.
        """
        known = isinstance(value, Fraction | int) or hasattr(value, "_mpf_")
        try:
            found: flint.arb = ball(value if known else Fraction(value) if isinstance(value, str) else float(value))
        except MathematicalError:
            found = ball(float("nan"))
        if not found.is_finite():
            raise InputError("a point must be finite")
        return found

    def _point(self, x: Sequence[str | mpmath.mpf], size: int) -> list[flint.arb]:
        values = list(x) if isinstance(x, list | tuple | np.ndarray) else [x]
        if len(values) != size:
            raise InputError(f"a point has {size} components, {len(values)} were given")
        return [self._ball(v) for v in values]

    def _hyper(self, x: Sequence[str | mpmath.mpf]) -> BallHyper:
        balls = self._point(x, self.pointwise.model.dx)
        near = np.array([float(b.mid()) for b in balls])
        return self.pointwise.points.ball_hyper(balls, near)

    def _penalty(self, x: Sequence[object], lam: object) -> BallPenalty:
        balls, weight = self._point(x, self.pointwise.model.dx), self._ball(lam)
        near = np.array([float(b.mid()) for b in balls])
        return self.pointwise.points.ball_penalty(balls, weight, near, float(weight.mid()))

    def _result(self, ball: Any, lam: object = None) -> Precise:
        import mpmath

        point = self.pointwise
        certainty = point.certainty if lam is None else point.penalty_certainty(self._ball(lam))
        with mpmath.workprec(self.bits):
            if not hasattr(ball, "nrows"):
                value, error = _mpf(ball)
                return Precise(value, error, certainty)
            pairs = [[_mpf(entry) for entry in row] for row in ball.tolist()]
            values: Any = [[p[0] for p in row] for row in pairs]
            if ball.ncols() == 1:
                values = [row[0] for row in values]
            return Precise(values, max((p[1] for row in pairs for p in row), default=mpmath.mpf(0)), certainty)

    def y_star(self, x: Sequence[object]) -> Precise:
        """Minimiser of the lower level (list of dy numbers)."""
        with precision(self.bits):
            return self._result(self._hyper(x).minimiser)

    def phi(self, x: Sequence[mpmath.mpf]) -> Precise:
        """Hyper-objective."""
        with precision(self.bits):
            return self._result(self._hyper(x).value)

    def grad_phi(self, x: Sequence[object]) -> Precise:
        """Hypergradient (list of dx numbers)."""
        with precision(self.bits):
            return self._result(self._hyper(x).gradient)

    def hess_phi(self, x: Sequence[object]) -> Precise:
        """Hyper-Hessian (dx rows of dx numbers)."""
        with precision(self.bits):
            return self._result(_square(self._hyper(x).hessian))

    def y_star_lam(self, x: Sequence[object], lam: object) -> Precise:
        """Minimiser of the penalised lower level."""
        with precision(self.bits):
            return self._result(self._penalty(x, lam).minimiser, lam)

    def L_star(self, x: Sequence[object], lam: object) -> Precise:
        """``L*_lam``."""
        with precision(self.bits):
            return self._result(self._penalty(x, lam).value, lam)

    def grad_L_star(self, x: Sequence[object], lam: object) -> Precise:
        """Gradient of ``L*_lam``."""
        with precision(self.bits):
            return self._result(self._penalty(x, lam).gradient, lam)

    def hess_L_star(self, x: Sequence[object], lam: object) -> Precise:
        """Hessian of ``L*_lam``."""
        with precision(self.bits):
            return self._result(_square(self._penalty(x, lam).hessian), lam)


@dataclass(frozen=True, slots=True)
class _Square:
    """A matrix that stays a matrix even if it has one column."""

    matrix: Any

    def nrows(self) -> int:
        return int(self.matrix.nrows())

    def ncols(self) -> int:
        return max(2, int(self.matrix.ncols()))

    def tolist(self) -> list[list[flint.arb]]:
        return list(self.matrix.tolist())


def _square(matrix: object) -> _Square:
    return _Square(matrix)


def _mpf(ball: flint.arb) -> tuple[mpmath.mpf, mpmath.mpf]:
    import mpmath

    def exact(number: flint.arb) -> mpmath.mpf:
        mantissa, exponent = number.man_exp()
        return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))

    if not ball.is_finite():
        raise InputError("the ball evaluation lost all information; ask for more digits")
    return exact(ball.mid()), exact(ball.rad())
