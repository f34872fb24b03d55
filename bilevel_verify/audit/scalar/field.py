"""A relation prepared for many evaluations: what a search asks at thousands of points is worked out once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.numeric import evaluate
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.values import EvaluationError, compare, ends
from bilevel_verify.errors import CertificationError
from bilevel_verify.numbers.rounding import precision

Array = NDArray[np.float64]
BITS = 256
ROUNDING = 1e-14
"""What the ratio of two floats may be off by."""
MEETS = 1e-9
"""The excess of a strict relation whose sides are equal floats: worth a look in balls."""
FAR_BELOW = -1e-6
"""Relative excess in floats below which ball arithmetic need not be asked whether the relation fails."""


class Field:
    """The points of a claim: in floats for searching, in balls for deciding.

    Attributes
    ----------
    letters, integers, conditions : those of the claim.
    """

    def __init__(self, claim: ScalarClaim) -> None:
        self.claim = claim
        self.letters = claim.letters
        self.integers = frozenset(n for n in self.letters if claim.domains[n].kind == "integers")
        self.conditions = claim.conditions()
        self._evaluator = Evaluator({})

    def judge(self, points: Mapping[str, Array]) -> tuple[NDArray[np.bool_], Array, Array]:
        """Which points satisfy all conditions, by how much the relation fails there, and left/right (floats)."""
        size = len(next(iter(points.values()))) if points else 1
        keep = np.ones(size, dtype=bool)
        for condition in self.conditions:
            keep &= np.broadcast_to(evaluate(condition, points), (size,)).astype(bool)
        excess, ratio = self._excess(points, size)
        keep &= np.isfinite(excess)
        return keep, np.where(keep, excess, -np.inf), np.where(keep, ratio, -np.inf)

    def _excess(self, points: Mapping[str, Array], size: int) -> tuple[Array, Array]:
        claim = self.claim
        left = np.broadcast_to(np.asarray(evaluate(claim.left, points), float), (size,))
        right = np.broadcast_to(np.asarray(evaluate(claim.right, points), float), (size,))
        low, high = (left, right) if claim.op in ("<=", "<", "==") else (right, left)
        with np.errstate(all="ignore"):
            scale = np.abs(low) + np.abs(high)
            excess = np.where(scale > 0, (low - high) / scale, 0.0)
            ratio = np.where(high > 0, low / high, np.where(low > 0, np.inf, -np.inf))
        if claim.op == "==":
            excess = np.abs(excess)
        if claim.op in ("<", ">"):
            excess = np.where(low == high, MEETS, excess)
        return np.where(np.isfinite(left) & np.isfinite(right), excess, np.nan), ratio

    def hopeful(self, points: list[dict[str, Fraction]]) -> list[dict[str, Fraction]]:
        """Those of a few points at which floats do not show that the relation holds."""
        if not points or not points[0]:
            return points
        try:
            columns = {name: np.array([float(point[name]) for point in points]) for name in points[0]}
        except OverflowError:
            return points
        excess, _ = self._excess(columns, len(points))
        return [point for point, value in zip(points, excess) if not value < FAR_BELOW]

    def refuted_at(self, point: Mapping[str, Fraction]) -> tuple[float, float] | None:
        """Both sides at a rational point if it refutes the claim in ball arithmetic, else None."""
        return self._at(point, refuting=True)

    def has_values(self, point: Mapping[str, Fraction]) -> bool:
        """Whether every condition holds at a rational point and both sides have a value there, in ball arithmetic."""
        return self._at(point, refuting=False) is not None

    def ratio_at(self, point: Mapping[str, Fraction]) -> float | None:
        """Left/right (right/left of ``>=``) in balls; None where a condition fails or the larger side is not positive.

        A ratio that is above 1 by rounding alone is 1.
        """
        sides = self._at(point, refuting=False)
        if sides is None:
            return None
        low, high = sides if self.claim.op in ("<=", "<", "==") else sides[::-1]
        ratio = low / high if 0 < high < np.inf else np.nan
        if not np.isfinite(ratio):
            return None
        return 1.0 if 1 < ratio < 1 + ROUNDING else ratio

    def _at(self, point: Mapping[str, Fraction], refuting: bool) -> tuple[float, float] | None:
        if any(point[name].denominator != 1 for name in self.integers):
            return None
        evaluator = self._evaluator
        evaluator.letters = {name: (value, "proved") for name, value in point.items()}
        evaluator.new_epoch()
        with suppress(EvaluationError, CertificationError, ArithmeticError, ValueError), precision(BITS):
            if any(evaluator.answer(condition) is not True for condition in self.conditions):
                return None
            left, right = evaluator.scalar(self.claim.left), evaluator.scalar(self.claim.right)
            if not refuting or compare(left, self.claim.op, right) is False:
                return sum(ends(left)) / 2, sum(ends(right)) / 2
        return None
