"""phi and L*_lam as objectives of the upper level: in floats, at points and over boxes, behind one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.arithmetic.algebra import Boxes, Floats
from bilevel_verify.truth.functions.formulas import BoxHyper, BoxPenalty, FloatHyper, FloatPenalty, Hyper, Penalty
from bilevel_verify.truth.lower_level.points import Points

FloatArray = NDArray[np.float64]
FLOATS, BOXES = Floats(), Boxes()


class Derived(Protocol):
    """What a box or a point knows: ``value`` (n,), ``gradient`` (n, dx, 1), ``hessian`` (n, dx, dx)."""

    @property
    def value(self) -> Any: ...
    @property
    def gradient(self) -> Any: ...
    @property
    def hessian(self) -> Any: ...


class Objective(Protocol):
    """A function of x with float values and interval enclosures of value, gradient and Hessian."""

    @property
    def dx(self) -> int: ...
    @property
    def cost(self) -> int: ...
    @property
    def far(self) -> float:
        """Largest coordinate at which boxes are still split."""

    @property
    def smooth(self) -> bool:
        """Whether second derivatives exist as functions (otherwise only values are used)."""

    def float_values(self, X: FloatArray) -> FloatArray: ...
    def floats(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    def at(self, X: FloatArray) -> Derived: ...
    def over(self, low: FloatArray, high: FloatArray, centre: FloatArray) -> Derived: ...
    def continuous(self, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
        """Boxes (n,) on which the function is proved to have a value everywhere, and to be continuous."""


def boxes_of(low: FloatArray, high: FloatArray) -> list[Interval]:
    """Columns of a batch of boxes as intervals."""
    return [Interval(np.ascontiguousarray(a), np.ascontiguousarray(b)) for a, b in zip(low.T, high.T)]


def _triple(derived: Derived, rows: int, dx: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    try:
        value, gradient, hessian = derived.value, derived.gradient[:, :, 0], derived.hessian
    except np.linalg.LinAlgError:
        return np.full(rows, np.inf), np.zeros((rows, dx)), np.zeros((rows, dx, dx))
    return np.where(np.isfinite(value), value, np.inf), gradient, hessian


class _OfPoints(ABC):
    """What both functions of the truth at points share."""

    points: Points

    @property
    def dx(self) -> int:
        return self.points.model.dx

    @abstractmethod
    def _float(self, X: FloatArray) -> Derived:
        """The function and its derivatives in floats."""

    def float_values(self, X: FloatArray) -> FloatArray:
        """Values (n,), infinite where there is none."""
        with np.errstate(all="ignore"):
            value = self._float(X).value
        return np.where(np.isfinite(value), value, np.inf)

    def floats(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values (n,), gradients (n, dx), Hessians (n, dx, dx)."""
        with np.errstate(all="ignore"):
            return _triple(self._float(X), *X.shape)


class PhiObjective(_OfPoints):
    """phi."""

    def __init__(self, points: Points) -> None:
        self.points = points

    @property
    def cost(self) -> int:
        model = self.points.model
        if not self.smooth:
            return model.upper.program.size
        return max(1, model.dz_size()) * (1 if model.lower is None else 3)

    @cached_property
    def smooth(self) -> bool:
        model = self.points.model
        try:
            _ = model.upper.second_order
        except MathematicalError:
            return False
        return not model.upper.rough

    @property
    def far(self) -> float:
        return 1e150 if self.points.model.lower is None else 1e6

    def _float(self, X: FloatArray) -> FloatHyper:
        inputs, model = list(np.ascontiguousarray(X.T)), self.points.model
        if model.lower is None:
            return Hyper(FLOATS, model, inputs, [])
        found = self.points.level.solve(X)
        Y = np.where(found.converged[:, None], found.y, np.nan)
        return Hyper(FLOATS, model, inputs, list(np.ascontiguousarray(Y.T)))

    def at(self, X: FloatArray) -> BoxHyper:
        """Enclosures at points."""
        return self.points.hyper(X)[0]

    def over(self, low: FloatArray, high: FloatArray, centre: FloatArray) -> BoxHyper:
        """Enclosures over boxes; y* is enclosed around its float value at the centre."""
        X, model = boxes_of(low, high), self.points.model
        if model.lower is None:
            return Hyper(BOXES, model, X, [])
        Y = self.points.level.solve(centre).y
        return Hyper(BOXES, model, X, self.points.level.enclose(X, Y, None, centre)[0])

    def continuous(self, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
        """See :class:`Objective`; y* is continuous where it is enclosed (the lower level is nondegenerate there)."""
        over, model = self.over(low, high, 0.5 * low + 0.5 * high), self.points.model
        fine = model.upper.continuous(over.z)
        return fine if model.lower is None else fine & model.lower.continuous(over.z)


class PenaltyObjective(_OfPoints):
    """``L*_lam`` for one exact lam."""

    def __init__(self, points: Points, lam: float) -> None:
        self.points, self.lam = points, float(lam)

    @property
    def cost(self) -> int:
        return 8 * max(1, self.points.model.dz_size())

    @property
    def far(self) -> float:
        return 1e6

    @cached_property
    def smooth(self) -> bool:
        model = self.points.model
        return not model.upper.rough and model.lower is not None and not model.lower.rough

    def _float(self, X: FloatArray) -> FloatPenalty:
        level, lam = self.points.level, np.full(len(X), self.lam)
        first = level.solve(X)
        second = level.solve(X, lam, first.y)
        Y = np.where(first.converged[:, None], first.y, np.nan)
        Z = np.where(second.converged[:, None], second.y, np.nan)
        columns = [list(np.ascontiguousarray(a.T)) for a in (X, Y, Z)]
        return Penalty(FLOATS, self.points.model, lam, *columns)

    def at(self, X: FloatArray) -> BoxPenalty:
        """Enclosures at points."""
        return self.points.penalty(X, np.full(len(X), self.lam))

    def over(self, low: FloatArray, high: FloatArray, centre: FloatArray) -> BoxPenalty:
        """Enclosures over boxes."""
        X, level, lam = boxes_of(low, high), self.points.level, np.full(len(low), self.lam)
        Y = level.solve(centre).y
        Z = level.solve(centre, lam, Y).y
        lower, penalised = level.enclose(X, Y, None, centre)[0], level.enclose(X, Z, lam, centre)[0]
        return Penalty(BOXES, self.points.model, Interval(lam, lam), X, lower, penalised)

    def continuous(self, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
        """See :class:`Objective`."""
        over, model = self.over(low, high, 0.5 * low + 0.5 * high), self.points.model
        assert model.lower is not None
        penalised, lower = [*over.x, *over.y_lam], [*over.x, *over.y]
        functions = (model.upper, penalised), (model.lower, penalised), (model.lower, lower)
        return np.asarray(np.logical_and.reduce([function.continuous(z) for function, z in functions]))
