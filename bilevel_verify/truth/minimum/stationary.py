"""All stationary points of phi in a box of one or two dimensions (or more, as far as the budget goes), certified.

Branch and bound: a box goes if its gradient enclosure excludes zero; an interval Newton (Krawczyk) test on
``nabla phi`` with the enclosure of ``nabla^2 phi`` proves existence and uniqueness; what the budget leaves undecided is
returned as such, never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.arithmetic.algebra import Boxes, float_inverse
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure
from bilevel_verify.truth.lower_level.points import frobenius
from bilevel_verify.truth.minimum.eigenvalues import smallest_eigenvalue
from bilevel_verify.truth.minimum.minimum import split
from bilevel_verify.truth.minimum.objective import Objective

FloatArray = NDArray[np.float64]
BOXES = Boxes()


@dataclass(frozen=True, slots=True)
class StationaryPoint:
    """A proved, locally unique stationary point.

    Attributes
    ----------
    x : enclosure, shape (dx,).
    kind : "minimum", "maximum", "saddle" (proved by the signs of the eigenvalues), or "degenerate" where that failed.
    eigenvalues : of the Hessian at the point, in floats, ascending.
    """

    x: Enclosure
    kind: str
    eigenvalues: FloatArray


@dataclass(frozen=True, slots=True)
class StationarySet:
    """``points`` are proved; ``undecided`` are boxes (low, high) that may hold further stationary points.

    ``complete`` if none.
    """

    points: tuple[StationaryPoint, ...]
    undecided: tuple[tuple[FloatArray, FloatArray], ...]

    @property
    def complete(self) -> bool:
        return not self.undecided


@np.errstate(all="ignore")
def stationary_points(
    objective: Objective, low: FloatArray, high: FloatArray, budget: int = 20_000, certainty: Certainty = "computed"
) -> StationarySet:
    """Every stationary point of the objective in the interior or on the boundary of a bounded box.

    Parameters
    ----------
    objective : phi or L*_lam.
    low, high : bounded box, shape (dx,).
    budget : most boxes to examine.
    """
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        raise InputError("stationary points are listed on a bounded domain of x only; declare one")
    if not objective.smooth:
        raise MathematicalError("phi may have jumps or kinks: stationary points are listed of smooth functions only")
    margin = 1e-9 * (1 + np.abs(high - low))
    boxes_low, boxes_high = (low - margin)[None], (high + margin)[None]
    found: list[StationaryPoint] = []
    undecided: list[tuple[FloatArray, FloatArray]] = []
    while len(boxes_low) and budget > 0:
        budget -= len(boxes_low)
        centre = 0.5 * (boxes_low + boxes_high)
        over = objective.over(boxes_low, boxes_high, centre)
        gradient, hessian = over.gradient, over.hessian
        alive = ((gradient.lo[:, :, 0] <= 0) & (gradient.hi[:, :, 0] >= 0)).all(axis=1)
        boxes_low, boxes_high, centre, hessian = boxes_low[alive], boxes_high[alive], centre[alive], hessian[alive]
        if not len(boxes_low):
            break
        image, _ = _krawczyk(objective, boxes_low, boxes_high, centre, hessian)
        empty = (image.hi < boxes_low).any(axis=1) | (image.lo > boxes_high).any(axis=1)
        image, proved = _inflated_test(objective, boxes_low, boxes_high, centre, image, empty)
        for i in np.flatnonzero(proved & ~empty):
            _add(found, _refine(objective, image.lo[i], image.hi[i], certainty), low, high, margin)
        rest = ~(proved | empty)
        cut_low, cut_high = np.maximum(boxes_low[rest], image.lo[rest]), np.minimum(boxes_high[rest], image.hi[rest])
        boxes_low, boxes_high, stuck = split(cut_low, cut_high)
        tiny = np.max(boxes_high - boxes_low, axis=1, initial=0.0) < 1e-11 * (
            1 + np.max(np.abs(boxes_low), axis=1, initial=0.0)
        )
        undecided += list(zip(cut_low[stuck], cut_high[stuck])) + list(zip(boxes_low[tiny], boxes_high[tiny]))
        boxes_low, boxes_high = boxes_low[~tiny], boxes_high[~tiny]
    undecided += list(zip(boxes_low, boxes_high))
    ordered = sorted(found, key=lambda p: tuple(np.asarray(p.x.value).tolist()))
    return StationarySet(tuple(ordered), tuple(_outside_of(undecided, found)))


def _inflated_test(
    objective: Objective,
    low: FloatArray,
    high: FloatArray,
    centre: FloatArray,
    image: Interval,
    empty: NDArray[np.bool_],
) -> tuple[Interval, NDArray[np.bool_]]:
    """Krawczyk on boxes widened by a tenth, so that a point on the boundary between boxes is proved as well.

    Only boxes that Newton did not already empty are tried. A proof says that the widened box holds exactly one point.
    """
    proved = np.zeros(len(low), dtype=bool)
    rows = np.flatnonzero(~empty)
    if not rows.size:
        return image, proved
    room = 0.1 * (high[rows] - low[rows]) + 1e-14 * (1 + np.abs(centre[rows]))
    wide_low, wide_high = low[rows] - room, high[rows] + room
    hessian = objective.over(wide_low, wide_high, centre[rows]).hessian
    wide, inside = _krawczyk(objective, wide_low, wide_high, centre[rows], hessian)
    proved[rows] = inside
    new_low, new_high = image.lo.copy(), image.hi.copy()
    new_low[rows[inside]], new_high[rows[inside]] = wide.lo[inside], wide.hi[inside]
    return Interval(new_low, new_high), proved


def _krawczyk(
    objective: Objective, low: FloatArray, high: FloatArray, centre: FloatArray, hessian: Interval
) -> tuple[Interval, NDArray[np.bool_]]:
    """``K = c - R grad(c) + (I - R H)(X - c)``; proved where K lies in the interior of the box."""
    n, d = low.shape
    middle = 0.5 * (np.where(np.isfinite(hessian.lo), hessian.lo, 0) + np.where(np.isfinite(hessian.hi), hessian.hi, 0))
    R = float_inverse(middle)
    inverse = Interval(R, R)
    at = objective.at(centre).gradient
    unit = np.broadcast_to(np.eye(d), (n, d, d))
    gap = BOXES.subtract(Interval(unit, unit), BOXES.product(inverse, hessian))
    offset = Interval(np.nextafter(low - centre, -np.inf)[:, :, None], np.nextafter(high - centre, np.inf)[:, :, None])
    point = Interval(centre[:, :, None], centre[:, :, None])
    image = BOXES.add(BOXES.subtract(point, BOXES.product(inverse, at)), BOXES.product(gap, offset))
    flat = Interval(image.lo[:, :, 0], image.hi[:, :, 0])
    regular = np.array([np.linalg.matrix_rank(r) == d for r in R]) if n else np.empty(0, dtype=bool)
    inside = ((flat.lo > low) & (flat.hi < high)).all(axis=1)
    return flat, np.asarray(inside & regular)


def _refine(objective: Objective, low: FloatArray, high: FloatArray, certainty: Certainty) -> StationaryPoint:
    for _ in range(12):
        centre = 0.5 * (low + high)
        hessian = objective.over(low[None], high[None], centre[None]).hessian
        image, _ = _krawczyk(objective, low[None], high[None], centre[None], hessian)
        new_low, new_high = np.maximum(low, image.lo[0]), np.minimum(high, image.hi[0])
        if not np.max(new_high - new_low) < 0.5 * np.max(high - low):
            low, high = np.minimum(new_low, new_high), np.maximum(new_low, new_high)
            break
        low, high = new_low, new_high
    centre = 0.5 * (low + high)
    error = float(frobenius(np.nextafter(np.maximum(high - centre, centre - low), np.inf)[None])[0])
    hessian = objective.over(low[None], high[None], centre[None]).hessian
    middle = 0.5 * (hessian.lo[0] + hessian.hi[0])
    eigenvalues = np.linalg.eigvalsh(0.5 * (middle + middle.T))
    slack = eigenvalues[0] - float(smallest_eigenvalue(hessian)[0])
    kind = "minimum" if np.all(eigenvalues > slack) else "maximum" if np.all(eigenvalues < -slack) else "saddle"
    if np.any(np.abs(eigenvalues) <= slack):
        kind = "degenerate"
    return StationaryPoint(
        Enclosure(centre, error, certainty, "Krawczyk on the hypergradient", True), kind, eigenvalues
    )


def _add(
    found: list[StationaryPoint], new: StationaryPoint, low: FloatArray, high: FloatArray, margin: FloatArray
) -> None:
    """Keep a point once; points provably outside the asked box are dropped."""
    x = np.asarray(new.x.value)
    if np.any(x + new.x.error < low) or np.any(x - new.x.error > high):
        return
    if all(float(np.linalg.norm(np.asarray(p.x.value) - x)) > p.x.error + new.x.error for p in found):
        found.append(new)


def _outside_of(
    boxes: list[tuple[FloatArray, FloatArray]], found: list[StationaryPoint]
) -> list[tuple[FloatArray, FloatArray]]:
    """Undecided boxes that are not within the enclosure of a point already proved."""
    out = []
    for low, high in boxes:
        inside = any(
            np.all(np.abs(0.5 * (low + high) - np.asarray(p.x.value)) + 0.5 * (high - low) <= p.x.error) for p in found
        )
        if not inside:
            out.append((low, high))
    return out
