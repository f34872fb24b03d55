"""Enclosures of y* that need no curvature: sign changes of g_y for one lower-level variable, and global slopes of y*.

For a convex g of one variable y, ``g_y(x, a) < 0 < g_y(x, b)`` puts every minimiser into [a, b], also where the second
derivative vanishes. For any number of variables, ``y*(x) - y*(c)`` lies in ``J (x - c)`` with J an enclosure of
``-[g_yy]^{-1} g_yx`` over the segment's x and *all* y (mean value theorem): this works on unbounded boxes of x, where
no local test can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.arithmetic.algebra import Boxes

FloatArray = NDArray[np.float64]
BOXES = Boxes()
Slope = Callable[[FloatArray, NDArray[np.intp]], tuple[FloatArray, FloatArray]]
"""``(y (m,), rows (m,)) -> lower and upper ends (m,)`` of g_y over the boxes with those row numbers."""


def bracket(slope: Slope, start: FloatArray, rows: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Ends (m,) between which all minimisers over y of a convex function lie; infinite where no sign was found.

    Parameters
    ----------
    slope : enclosures of the derivative in y over the boxes.
    start : approximate minimisers, shape (m,).
    rows : numbers of the boxes, shape (m,).
    """
    low, high = _first_sign(slope, start, rows, -1), _first_sign(slope, start, rows, 1)
    for _ in range(40):
        for side, end in ((-1, low), (1, high)):
            todo = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
            if todo.size:
                middle = 0.5 * low[todo] + 0.5 * high[todo]
                lo, hi = slope(middle, rows[todo])
                certain = (hi < 0) if side < 0 else (lo > 0)
                end[todo[certain]] = middle[certain]
    return low, high


def _first_sign(slope: Slope, start: FloatArray, rows: NDArray[np.intp], side: int) -> FloatArray:
    """Nearest probed point on one side of the start where the derivative has that side's sign for certain."""
    found = np.full(len(start), side * np.inf)
    for step in 4.0 ** np.arange(-26, 26):
        todo = np.flatnonzero(~np.isfinite(found))
        if not todo.size:
            break
        trial = start[todo] + side * step * (1 + np.abs(start[todo]) * (step < 1))
        lo, hi = slope(trial, rows[todo])
        good = (lo > 0) if side > 0 else (hi < 0)
        found[todo[good]] = trial[good]
    return found


def ball_bracket(slope: Callable[[Any], Any], middle: Any) -> Any | None:
    """A ball with all minimisers of a convex function of one variable; None if the derivative shows no sign change.

    Parameters
    ----------
    slope : derivative in y as a function of an exact ball.
    middle : approximate minimiser (exact ball).
    """
    import flint

    bits = int(flint.ctx.prec)
    ends: list[Any] = []
    for side in (-1, 1):
        for exponent in range(-bits, 60, 2):
            trial = (middle + side * flint.arb(2) ** exponent * (1 + abs(middle))).mid()
            value = slope(trial)
            if (value > 0) if side > 0 else (value < 0):
                ends.append(trial)
                break
        else:
            return None
    for _ in range(2 * bits):
        centre = ((ends[0] + ends[1]) / 2).mid()
        value = slope(centre)
        if value < 0 and centre > ends[0]:
            ends[0] = centre
        elif value > 0 and centre < ends[1]:
            ends[1] = centre
        else:
            break
    return ends[0].union(ends[1])


def by_slopes(
    hessian: Interval, cross: Interval, X: Sequence[Interval], centre: FloatArray, at_centre: Sequence[Interval]
) -> list[Interval]:
    """``y*(c) + J (X - c)`` for boxes X that may be unbounded.

    Parameters
    ----------
    hessian, cross : enclosures of g_yy (n, dy, dy) and of g_yx (n, dy, dx) over X and all y.
    X : dx intervals (n,).
    centre : points of the boxes, shape (n, dx).
    at_centre : dy intervals (n,), y* at those points.
    """
    dy, dx = cross.lo.shape[1:]
    jacobian = _divide(cross, hessian) if dy == 1 else BOXES.solve(hessian, cross)
    out = []
    for j in range(dy):
        total = at_centre[j]
        for i in range(dx):
            entry = -jacobian[:, j, i]
            total = total + entry * (X[i] - Interval(centre[:, i], centre[:, i]))
        out.append(total)
    return out


def _divide(cross: Interval, hessian: Interval) -> Interval:
    """One variable: an unbounded second derivative still bounds the quotient."""
    positive = hessian.lo > 0
    lo = np.where(positive, hessian.lo, -np.inf)
    hi = np.where(positive, hessian.hi, np.inf)
    return cross / Interval(lo, hi)
