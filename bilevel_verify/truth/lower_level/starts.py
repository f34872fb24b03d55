"""Starts for a lower level that is not certified to be convex: low values on a grid, so that the lowest valley is met.

A search in floats proves nothing (what rests on it is ``computed``); it finds what one start from the middle does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.lower_level.newton import Landscape, Minimised, minimise
from bilevel_verify.truth.lower_level.valleys import low_valleys

FloatArray = NDArray[np.float64]
PLACES = 1024
SLABS = 8
MOST_VALUES = 2_000_000
FEW_ROWS = 64
FIELDS = ("y", "residual", "curvature", "converged")
GOLDEN = 0.6180339887498949


def places(low: FloatArray, high: FloatArray, count: int) -> FloatArray:
    """Points (count, dy) spread over a box; on unbounded sides ever wider apart, to some thousands."""
    steps = np.arange(1, count + 1)[:, None]
    share = (
        steps * GOLDEN ** np.arange(1, low.size + 1)[None, :]
    ) % 1.0  # additive recurrence: even in every coordinate
    wide = np.tan(np.pi * (share - 0.5) * (1 - 1e-3))
    with np.errstate(invalid="ignore"):
        inside = low + share * (high - low)
        below, above = high - np.abs(wide), low + np.abs(wide)
    sides = np.where(np.isfinite(high), below, np.where(np.isfinite(low), above, wide))
    return np.asarray(np.where(np.isfinite(low) & np.isfinite(high), inside, sides))


def lowest(hills: Landscape, X: FloatArray, found: Minimised, low: FloatArray, high: FloatArray) -> Minimised:
    """Of ``found`` and the minimisers from further starts the lowest one, row by row.

    A few rows are searched from the best place of every slab; of many only those of which a place shows a lower value.
    """
    starts, values = lowest_places(hills, X, low, high)
    if len(X) <= FEW_ROWS:
        for j in range(SLABS):
            found = _lower_of(hills, X, found, minimise(hills.local, X, starts[:, j], low, high))
        return _from_valleys(hills, X, found, low, high)
    best = np.argmin(values, axis=1)
    rows = np.flatnonzero(~found.converged | (values.min(axis=1) < hills.values(X, found.y)))
    if not rows.size:
        return _from_valleys(hills, X, found, low, high)
    start = starts[rows, best[rows]]
    part = Minimised(found.y[rows], found.residual[rows], found.curvature[rows], found.converged[rows])
    some = hills.at(rows)
    part = _lower_of(some, X[rows], part, minimise(some.local, X[rows], start, low, high))
    whole = [getattr(found, name).copy() for name in FIELDS]
    for old, new in zip(whole, (getattr(part, name) for name in FIELDS)):
        old[rows] = new
    return _from_valleys(hills, X, Minimised(*whole), low, high)


def _from_valleys(hills: Landscape, X: FloatArray, found: Minimised, low: FloatArray, high: FloatArray) -> Minimised:
    """The same, with minimisers from boxes whose bounds are low where those are lower."""
    places = low_valleys(hills, X, low, high, np.where(found.converged, hills.values(X, found.y), np.inf))
    if np.isnan(places).all():
        return found
    places = np.where(np.isnan(places), found.y, places)
    return _lower_of(hills, X, found, minimise(hills.local, X, places, low, high))


def _lower_of(hills: Landscape, X: FloatArray, one: Minimised, other: Minimised) -> Minimised:
    first, second = hills.values(X, one.y), hills.values(X, other.y)
    lower = other.converged & (~one.converged | (second < first - 1e-12 * np.maximum(np.abs(first), np.abs(second))))
    pairs = [(getattr(one, name), getattr(other, name)) for name in FIELDS]
    return Minimised(*(np.where(lower[:, None] if a.ndim == 2 else lower, b, a) for a, b in pairs))


def lowest_places(hills: Landscape, X: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For every row of X the place with the least value in each slab, shape (n, SLABS, dy), and the values."""
    count = max(2 * SLABS, min(PLACES, MOST_VALUES // max(1, len(X) * hills.size)))
    grid = places(low, high, count)
    slabs = np.array_split(grid[np.argsort(grid[:, 0], kind="stable")], SLABS)
    pairs = [_lowest(hills, X, slab) for slab in slabs]
    return np.stack([place for place, _ in pairs], axis=1), np.stack([value for _, value in pairs], axis=1)


def _lowest(hills: Landscape, X: FloatArray, grid: FloatArray) -> tuple[FloatArray, FloatArray]:
    rows = np.repeat(np.arange(len(X)), len(grid))
    values = hills.at(rows).values(X[rows], np.tile(grid, (len(X), 1))).reshape(len(X), -1)
    values = np.where(np.isnan(values), np.inf, values)
    best = np.argmin(values, axis=1)
    return grid[best], values[np.arange(len(X)), best]
