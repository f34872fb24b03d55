"""Whether an infimum is attained: phi is continuous on a compact set, and elsewhere larger than a value of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.truth.minimum.minimum import Minimum, lower_bounds, split
from bilevel_verify.truth.minimum.objective import Objective

FloatArray = NDArray[np.float64]
MOST_BOXES = 600
MOST_HALVINGS = 60
"""Boxes around a place that never becomes continuous are halved no further."""


@np.errstate(all="ignore")
def attains(objective: Objective, low: FloatArray, high: FloatArray, upper: float, budget: int = MOST_BOXES) -> bool:
    """Whether phi is proved to attain its infimum over a bounded box; False where that is not shown.

    Boxes on which phi exceeds ``upper`` are left out; on what remains, a bounded closed set, it has to be continuous.

    Parameters
    ----------
    low, high : shape (dx,), finite.
    upper : a value of phi on the box, or a bound of one from above.
    budget : most boxes to examine.
    """
    if not (np.isfinite(upper) and np.isfinite(low).all() and np.isfinite(high).all()):
        return False
    return _settled(objective, low[None], high[None], upper, budget, continuous=True)


def on_unbounded_range(
    objective: Objective, found: Minimum, low: FloatArray, high: FloatArray, phi: sympy.Expr | None
) -> Minimum:
    """Decide whether the infimum on an unbounded range is attained.

    Coercivity by outer boxes, or a proof of strictness.
    """
    size = float(np.max(np.abs(found.x), initial=1.0))
    budget = MOST_BOXES if objective.far > 1e9 else 24
    for radius in (2 * size, 20 * size, 1e4 * size) if size < 1e9 else ():
        outer_low, outer_high = _outside(low, high, float(radius))
        if not len(outer_low):
            break
        if _settled(objective, outer_low, outer_high, found.upper, budget):
            inside = np.maximum(low, -radius), np.minimum(high, radius)
            attained = True if attains(objective, *inside, found.upper, budget) else None
            return replace(found, attained=attained, bounded_part=True)
    if phi is not None and abs(found.lower) <= 1e-12 and phi.is_positive and found.lower <= 0:
        return replace(
            found,
            lower=0.0,
            attained=False if found.upper <= 1e-12 else None,
            method=found.method + "; phi > 0 everywhere (SymPy)",
        )
    return found


def _settled(
    objective: Objective, low: FloatArray, high: FloatArray, upper: float, budget: int, continuous: bool = False
) -> bool:
    """Whether phi is proved to exceed ``upper`` on all the boxes, or, if asked, to be continuous where it may not.

    They are split as long as the budget lasts.
    """
    nowhere = np.full(low.shape[1], np.nan)
    for _ in range(MOST_HALVINGS if continuous else budget):
        if not len(low) or budget <= 0:
            break
        budget -= len(low)
        bounds, _ = lower_bounds(objective, low, high, nowhere)
        low, high = low[~(bounds > upper)], high[~(bounds > upper)]
        if continuous and len(low):
            torn = ~objective.continuous(low, high)
            low, high = low[torn], high[torn]
        if not len(low):
            return True
        low, high, stuck = split(low, high, objective.far)
        if stuck.any():
            return False
    return not len(low)


def _outside(low: FloatArray, high: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """Half-spaces of the range beyond a cube: together they cover everything outside of it."""
    lows, highs = [], []
    for i in range(low.size):
        if high[i] > radius:
            a = low.copy()
            a[i] = max(radius, low[i])
            lows.append(a)
            highs.append(high)
        if low[i] < -radius:
            b = high.copy()
            b[i] = min(-radius, high[i])
            lows.append(low)
            highs.append(b)
    return np.array(lows).reshape(-1, low.size), np.array(highs).reshape(-1, low.size)
