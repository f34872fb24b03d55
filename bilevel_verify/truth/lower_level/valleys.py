"""Valleys of a lower level that are narrower than the distance of any points: boxes whose values in intervals are low.

The bound of a box knows of a valley inside it, however narrow, where values at points do not. Boxes are halved as long
as their bound lies below the least value that is known, the lowest first. This proves nothing: it gives a start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.lower_level.newton import Landscape

FloatArray = NDArray[np.float64]
FAR = 1024.0
"""How far unbounded sides are searched."""
MOST_ROWS = 256
MOST_BOXES = 40_000
MOST_OF_ROW = 400
AT_ONCE = 2048
NARROWEST = 2.0**-26
BETTER = 1e-9
"""Relative width below which a box is not halved, and relative gain below which it is of no interest."""


@dataclass(slots=True)
class _Boxes:
    """Boxes of y, the row of X that each belongs to, and a lower bound of the values there."""

    row: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    bound: FloatArray

    def pick(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _Boxes:
        return _Boxes(self.row[which], self.low[which], self.high[which], self.bound[which])

    def joined(self, other: _Boxes) -> _Boxes:
        return _Boxes(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.bound, other.bound]),
        )


def low_valleys(hills: Landscape, X: FloatArray, low: FloatArray, high: FloatArray, values: FloatArray) -> FloatArray:
    """For every row of X the centre (dy,) of the lowest box, NaN where no centre is below ``values``."""
    found = np.full((len(X), low.size), np.nan)
    if any(function.numbers for function in hills.functions) or len(X) > MOST_ROWS:
        return found
    least = np.where(np.isfinite(values), values, np.inf)
    row = np.arange(len(X))
    first, last = (np.tile(np.clip(end, -FAR, FAR), (len(X), 1)) for end in (low, high))
    open_, spent = _Boxes(row, first, last, np.full(len(X), -np.inf)), 0
    while open_.row.size and spent < MOST_BOXES + MOST_OF_ROW * len(X):
        order = np.argsort(open_.bound, kind="stable")
        chosen, open_ = open_.pick(order[:AT_ONCE]), open_.pick(order[AT_ONCE:])
        halves = _halved(chosen)
        spent += halves.row.size
        _bound(hills, X, halves)
        _take(hills, X, halves, least, found)
        open_ = open_.joined(halves)
        wide = np.max((open_.high - open_.low) / (1 + np.abs(open_.low)), axis=1) > NARROWEST
        goal = least[open_.row]
        gain = BETTER * np.abs(goal)
        open_ = open_.pick(wide & ~(open_.bound >= goal - np.where(np.isfinite(gain), gain, 0.0)))
    return found


def _halved(boxes: _Boxes) -> _Boxes:
    """Every box in two, across its longest side."""
    index = np.arange(boxes.row.size)
    side = np.argmax(boxes.high - boxes.low, axis=1)
    middle = (boxes.low[index, side] + boxes.high[index, side]) / 2
    first, second = boxes.pick(index), boxes.pick(index)
    first.high[index, side] = middle
    second.low[index, side] = middle
    return first.joined(second)


def _bound(hills: Landscape, X: FloatArray, boxes: _Boxes) -> None:
    sides = [Interval.of(column) for column in np.ascontiguousarray(X[boxes.row].T)]
    sides += [Interval.of(a, b) for a, b in zip(boxes.low.T, boxes.high.T)]
    with np.errstate(all="ignore"):
        values = [function.program.run(IntervalArithmetic(), sides)[0].lo for function in hills.functions]
        low = values[0] if hills.lam is None else hills.lam[boxes.row] * values[0] + values[1]
    boxes.bound = np.broadcast_to(np.where(np.isnan(low), -np.inf, low), boxes.row.shape).astype(float)


def _take(hills: Landscape, X: FloatArray, boxes: _Boxes, least: FloatArray, found: FloatArray) -> None:
    """Note centres that are lower than what is known of their row."""
    centre = (boxes.low + boxes.high) / 2
    values = hills.at(boxes.row).values(X[boxes.row], centre)
    lower = np.flatnonzero(values < least[boxes.row])
    for place in lower[np.argsort(-values[lower], kind="stable")]:  # the lowest of a row comes last
        least[boxes.row[place]] = values[place]
        found[boxes.row[place]] = centre[place]
