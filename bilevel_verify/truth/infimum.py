"""inf phi with everything that is known: bounded and unbounded ranges, unattained infima, unbounded problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.enclosure import Enclosure
from bilevel_verify.truth.minimum import Minimum, minimise_phi
from bilevel_verify.truth.points import Points

if TYPE_CHECKING:
    from bilevel_verify.truth.truth import Truth

FloatArray = NDArray[np.float64]


def infimum(problem: Problem, points: Points, low: FloatArray, high: FloatArray) -> Minimum:
    """Enclose ``inf phi`` on the declared range of x."""
    return minimise_phi(points, low, high)


def penalty_infimum(truth: Truth, lam: float) -> Enclosure:
    """Enclosure of ``inf L*_lam``: it lies below inf phi and above inf phi minus ``D_0 / lam`` (ragd-gs 9.1 (i))."""
    raise NotImplementedError
