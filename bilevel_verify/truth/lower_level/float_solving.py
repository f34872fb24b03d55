"""The lower level in floats: starts, minimisers and what is certified about its shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.functions.model import Function, Model
from bilevel_verify.truth.lower_level.newton import Landscape, Local, Minimised, minimise
from bilevel_verify.truth.lower_level.starts import lowest

FloatArray = NDArray[np.float64]


class FloatLowerLevel:
    """Solves the lower level (``lam=None``) and its penalised form ``f + lam g``; nothing here is proved."""

    def __init__(
        self, model: Model, mu: Callable[[], float | None] = lambda: None, convex: Callable[[], bool] = lambda: False
    ) -> None:
        self.model = model
        self._certified_mu = mu
        self._certified_convex = convex
        self._recent: tuple[bytes, Minimised] | None = None

    @cached_property
    def mu(self) -> float | None:
        """Certified strong convexity of the lower level; asked for only where Krawczyk's test does not do."""
        return self._certified_mu()

    @cached_property
    def convex(self) -> bool:
        """Whether the lower level is certified to be convex in y (strongly or not)."""
        return self._certified_convex()

    @property
    def lower(self) -> Function:
        assert self.model.lower is not None
        return self.model.lower

    @cached_property
    def range_of_y(self) -> tuple[FloatArray, FloatArray]:
        """Declared ends of y as floats, shape (dy,) each."""
        ends = [self.model.problem.range_of(s) for s in self.model.problem.y]
        return np.array([float(a) for a, _ in ends]), np.array([float(b) for _, b in ends])

    def default_start(self, rows: int) -> FloatArray:
        """Middle of the declared range of y, or its point nearest to 0."""
        low, high = self.range_of_y
        bounded = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            middle = np.where(bounded, 0.5 * (low + high), np.clip(0.0, low + 1, np.maximum(high - 1, low + 1)))
            middle = np.where(~bounded & (low < 0) & (high > 0), 0.0, middle)
        return np.tile(middle, (rows, 1))

    def landscape(self, lam: FloatArray | None) -> Landscape:
        """What is minimised."""
        return Landscape(self.lower) if lam is None else Landscape(self.lower, self.model.upper, lam)

    def local(self, lam: FloatArray | None) -> Local:
        return self.landscape(lam).local

    def solve(self, X: FloatArray, lam: FloatArray | None = None, Y0: FloatArray | None = None) -> Minimised:
        """Float solutions for every row; a second attempt from a warm start is made for rows that failed.

        Parameters
        ----------
        X : shape (n, dx).
        lam : penalty per row, shape (n,); None for the lower level itself.
        Y0 : warm start, shape (n, dy).
        """
        if lam is None and Y0 is None:
            key = X.tobytes()
            if self._recent is None or self._recent[0] != key:
                self._recent = (key, self._solve(X, None, None))
            return self._recent[1]
        return self._solve(X, lam, Y0)

    def _solve(self, X: FloatArray, lam: FloatArray | None, Y0: FloatArray | None) -> Minimised:
        low, high = self.range_of_y
        searched = not self.convex and (lam is not None or Y0 is None)
        if Y0 is None:
            Y0 = self.default_start(len(X)) if lam is None else self.solve(X).y
        found = minimise(self.local(lam), X, Y0, low, high)
        if searched:
            found = lowest(self.landscape(lam), X, found, low, high)
        failed = np.flatnonzero(~found.converged)
        if not failed.size or (failed.size == len(X) and len(X) == 1):
            return found
        return self._again(X, lam, found, failed, low, high)

    def _again(
        self,
        X: FloatArray,
        lam: FloatArray | None,
        found: Minimised,
        failed: NDArray[np.intp],
        low: FloatArray,
        high: FloatArray,
    ) -> Minimised:
        """Second attempt for failed rows, from the solution of the nearest row that did not fail."""
        fine = np.flatnonzero(found.converged)
        if not fine.size:
            return found
        nearest = [fine[np.argmin(np.sum((X[fine] - X[i]) ** 2, axis=1))] for i in failed[:200]]
        failed = failed[:200]
        again = minimise(self.local(None if lam is None else lam[failed]), X[failed], found.y[nearest], low, high)
        better = again.converged
        rows = failed[better]
        y, residual = found.y.copy(), found.residual.copy()
        curvature, converged = found.curvature.copy(), found.converged.copy()
        y[rows], residual[rows] = again.y[better], again.residual[better]
        curvature[rows], converged[rows] = again.curvature[better], True
        return Minimised(y, residual, curvature, converged)
