"""Sampling: deterministic points of a domain and a climb from the best of them. Measures tightness, never certifies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.search.branch import middle_of
from bilevel_verify.numbers.rounding import Array


def sample_points(domain: Domain, n: int, count: int = 256) -> Array:
    """Deterministic sample of the domain (heavy tails where it is unbounded)."""
    rng = np.random.default_rng(20240229)
    lo, hi = domain.lo, domain.hi
    unit = rng.random((count, n))
    wide = rng.standard_cauchy((count, n)) * 2.0
    both = np.isfinite(lo) & np.isfinite(hi)
    with np.errstate(invalid="ignore"):
        inside = np.where(both, lo + unit * (hi - lo), wide)
    inside = np.where(np.isfinite(lo) & ~both, lo + np.abs(wide), inside)
    inside = np.where(np.isfinite(hi) & ~both, hi - np.abs(wide), inside)
    extreme = corners(lo, hi, n)
    return np.asarray(np.clip(np.concatenate([middle_of(lo[None], hi[None]), extreme, inside]), lo, hi))


def corners(lo: Array, hi: Array, n: int) -> Array:
    if n > 6 or not (np.isfinite(lo).all() and np.isfinite(hi).all()):
        return np.zeros((0, n))
    pattern = np.indices([2] * n).reshape(n, -1).T
    return np.where(pattern == 0, lo, hi)


def climb(
    values: Callable[[Array], Array], points: Array, lo: Array, hi: Array, refine: bool = True
) -> tuple[float, Array]:
    """Best sampled value: a start set, then random steps of shrinking length around the leaders."""
    found = values(points)
    rng = np.random.default_rng(7)
    leaders = np.argsort(-found)[:8]
    best_points, best_values = points[leaders], found[leaders]
    span = np.where(np.isfinite(hi - lo), hi - lo, 4.0)
    for scale in (0.2, 0.05, 0.01, 2e-3, 2e-4) if refine else ():
        trial = best_points[:, None, :] + rng.normal(size=(len(best_points), 12, points.shape[1])) * span * scale
        trial = np.clip(trial.reshape(-1, points.shape[1]), lo, hi)
        everything = np.concatenate([best_points, trial])
        scores = np.concatenate([best_values, values(trial)])
        leaders = np.argsort(-scores)[:8]
        best_points, best_values = everything[leaders], scores[leaders]
    return float(best_values[0]), best_points[0]
