"""The smallest value of phi: a certified lower bound by branch and bound, an attained upper bound by descent.

Every box of x gets enclosures of y*, phi, nabla phi and nabla^2 phi (Krawczyk for the lower level, interval formulas
above it). Its lower bound is the best of the natural one and of the Taylor bound
``phi(c) + sum_i min over the box of (g_i d_i + m d_i^2 / 2)`` with ``m`` a lower bound of the eigenvalues of the
Hessian
on the box. Boxes may be unbounded: then only the natural bound remains, which is what calculus on the whole space
gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.time_limit import TimeOver, goes_on
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure, between, weakest
from bilevel_verify.truth.minimum.descent import descend, start_points
from bilevel_verify.truth.minimum.eigenvalues import smallest_eigenvalue
from bilevel_verify.truth.minimum.objective import Objective

FloatArray = NDArray[np.float64]
PATIENCE, PATIENCE_UNBOUNDED = 60, 20
"""Waves without a better lower bound after which a search gives up (unbounded boxes that no split improves)."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """What is known about ``inf phi`` on the declared range of x.

    Attributes
    ----------
    lower, upper : enclosure of the infimum; ``upper`` is (a bound of) phi at ``x``.
    x : best point found, shape (dx,).
    bounded_part : True if it is proved that points outside a bounded region cannot do better (or the range is bounded).
    boxes : number of boxes examined.
    complete : the gap reached the tolerance (otherwise the budget ended the search).
    method : how the bounds were found.
    attained : whether some x has the infimum as its value; None where that is not known.
    certified : the final covering was evaluated with proved elementary functions (not NumPy's).
    """

    lower: float
    upper: float
    x: FloatArray
    bounded_part: bool
    boxes: int
    complete: bool
    method: str
    attained: bool | None = None
    certified: bool = False

    def enclosure(self, certainty: Certainty) -> Enclosure:
        """The infimum as an enclosure; minus infinity where it is known to be unbounded below.

        Raises
        ------
        MathematicalError : no lower bound, or no attained value, is known.
        """
        certainty = certainty if self.certified else weakest(certainty, "computed")
        if self.upper == -np.inf:
            return Enclosure(-np.inf, 0.0, certainty, self.method, False)
        if not np.isfinite(self.upper):
            raise MathematicalError(
                "phi could not be evaluated at any point tried: no nondegenerate minimiser of the lower level "
                "was proved"
            )
        if not np.isfinite(self.lower):
            raise MathematicalError(
                f"inf phi is only known to lie in [{self.lower:g}, {self.upper:.17g}]; best point {self.x.tolist()}. "
                "Declare a domain for x that is bounded and keeps away from points where a formula has no value "
                "(as log at 0), to get a lower bound"
            )
        return between(self.lower, self.upper, certainty, self.method, self.attained)


@dataclass
class Search:
    """State of a branch and bound run over boxes of x."""

    objective: Objective
    best: FloatArray
    upper: float
    tolerance: float
    floor: float = np.inf
    patience: int = PATIENCE_UNBOUNDED
    count: int = 0
    known: tuple[float, float, FloatArray, int] | None = None
    low: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    high: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    bounds: FloatArray = field(default_factory=lambda: np.empty(0))
    leaves: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)

    @property
    def lower(self) -> float:
        """Proved lower bound so far."""
        return min(self.floor, float(np.min(self.bounds, initial=np.inf)), self.upper)

    @property
    def cutoff(self) -> float:
        return self.upper - self.tolerance * (1 + abs(self.upper))

    def note(self) -> None:
        """What is proved between two waves: inside of one, no bound is whole."""
        self.known = (self.lower, self.upper, self.best, self.count)


@np.errstate(all="ignore")
def minimise_phi(
    objective: Objective,
    low: FloatArray,
    high: FloatArray,
    tolerance: float = 1e-12,
    budget: int | None = None,
    near: FloatArray | None = None,
    patience: int = PATIENCE_UNBOUNDED,
) -> Minimum:
    """Enclose the infimum of phi over the box ``[low, high]`` (ends may be infinite).

    Parameters
    ----------
    objective : phi or L*_lam.
    low, high : shape (dx,).
    tolerance : relative gap at which boxes are given up.
    budget : most boxes to examine; None chooses by the size of the programs.
    near : a point that is probably close to the minimiser, shape (dx,): fewer starts are tried then.
    patience : waves without a better lower bound after which a search of an unbounded box gives up.
    """
    best, upper = attained_value(objective, low, high, 256 if near is None else STARTS_BESIDE, near)
    if budget is None:
        budget = _default_budget(objective)
    search = Search(objective, best, upper, tolerance, patience=patience)
    bounds, _ = lower_bounds(objective, low[None], high[None], best)
    search.low, search.high, search.bounds, search.count = low[None], high[None], bounds, 1
    finite = bool(np.all(np.isfinite(low)) and np.all(np.isfinite(high)))
    try:
        _run(search, budget)
        lower, upper, certified = _with_proved_functions(search)
    except TimeOver as over:
        return _broken_off(search, finite, over)
    method = BY_SEARCH
    complete = search.lower >= search.cutoff
    return Minimum(
        lower,
        upper,
        search.best,
        finite,
        search.count,
        complete,
        method,
        certified=certified,
    )


BY_SEARCH = "interval branch and bound on x through y*(x), attained value by Newton from many starts"
UNFINISHED = "the search was broken off when the time was over"


def _broken_off(search: Search, finite: bool, over: TimeOver) -> Minimum:
    """What a search had proved before the wave in which it ended; its functions are those of floats.

    Raises
    ------
    TimeOver : nobody asked for unfinished searches, or there is no bound yet; says what is known.
    """
    if search.known is None:
        raise over
    lower, upper, best, count = search.known
    if not goes_on(over, "search") or not np.isfinite(lower):
        raise TimeOver(f"inf phi lies in [{lower:.9g}, {upper:.9g}] so far (computed)")
    return Minimum(lower, upper, best, finite, count, False, f"{BY_SEARCH}; {UNFINISHED}")


MOST_LEAVES = 6000
STARTS_BESIDE = 32
"""Starts of a descent beside a point that is probably close to the minimiser."""


def _with_proved_functions(search: Search) -> tuple[float, float, bool]:
    """Both ends once more on the final covering, with elementary functions from ball arithmetic."""
    low = np.vstack([search.low, *(leaf[0] for leaf in search.leaves)])
    high = np.vstack([search.high, *(leaf[1] for leaf in search.leaves)])
    if len(low) * search.objective.cost > MOST_LEAVES * 150 or not np.isfinite(search.upper):
        return search.lower, search.upper, False
    with ball_ends():
        bounds, _ = lower_bounds(search.objective, low, high, search.best)
        upper = float(search.objective.at(search.best[None]).value.hi[0])
    return min(float(np.min(bounds, initial=np.inf)), upper), upper, True


def attained_value(
    objective: Objective, low: FloatArray, high: FloatArray, starts: int = 256, near: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Best point of a multi-start descent and a proved upper bound of phi there (inf if nothing could be proved)."""
    sample = start_points(low, high, starts if objective.cost <= 20000 else 16)
    if near is not None and np.all((low <= near) & (near <= high)):
        sample = np.vstack([sample, near])
    value = objective.float_values(sample)
    order = np.argsort(value)[: 24 if objective.dx <= 4 and near is None else 8]
    final = descend(objective, sample[order], low, high, 40) if objective.smooth else sample[order]
    candidates = np.vstack([final, sample[order]])
    ranked = candidates[np.argsort(objective.float_values(candidates), kind="stable")]
    proved = objective.at(ranked).value.hi
    proved = np.where(np.isnan(proved), np.inf, proved)
    best = int(np.argmin(proved))
    return ranked[best], float(proved[best])


def _default_budget(objective: Objective) -> int:
    return int(np.clip(4_000_000 // objective.cost, 200, 40_000))


def _run(search: Search, budget: int) -> None:
    """Split the boxes that may still hold smaller values, widest side first, in waves."""
    best_lower, since = search.lower, 0
    patience = PATIENCE if np.all(np.isfinite(search.low)) and np.all(np.isfinite(search.high)) else search.patience
    while search.count < budget and search.bounds.size and since < patience:
        search.note()
        keep = search.bounds < search.cutoff
        search.floor = min(search.floor, float(np.min(search.bounds[~keep], initial=np.inf)))
        search.leaves.append((search.low[~keep], search.high[~keep]))
        search.low, search.high, search.bounds = search.low[keep], search.high[keep], search.bounds[keep]
        order = np.argsort(search.bounds)[: min(1024, max(1, (budget - search.count) // 2))]
        unbounded = search.bounds[order] == -np.inf
        if np.any(unbounded):  # no other box can raise the lower bound
            order = order[unbounded]
        low, high, stuck = split(search.low[order], search.high[order], search.objective.far)
        rest = np.setdiff1d(np.arange(search.bounds.size), order)
        parents = np.repeat(search.bounds[order][~stuck], 2)
        search.floor = min(search.floor, float(np.min(search.bounds[order][stuck], initial=np.inf)))
        search.leaves.append((search.low[order][stuck], search.high[order][stuck]))
        bounds, middles = lower_bounds(search.objective, low, high, search.best)
        search.count += len(low)
        bounds = np.maximum(bounds, parents)
        _improve(search, middles)
        search.low = np.vstack([search.low[rest], low])
        search.high = np.vstack([search.high[rest], high])
        search.bounds = np.concatenate([search.bounds[rest], bounds])
        best_lower, since = (search.lower, 0) if search.lower > best_lower else (best_lower, since + 1)


def _improve(search: Search, middles: FloatArray) -> None:
    """A better attained value among the centres of the boxes, proved in intervals."""
    if not len(middles):
        return
    values = search.objective.float_values(middles)
    best = int(np.argmin(values))
    if values[best] < search.upper:
        phi = float(search.objective.at(middles[best][None]).value.hi[0])
        if phi < search.upper:
            search.best, search.upper = middles[best], phi


def split(low: FloatArray, high: FloatArray, far: float = 1e150) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Halve every box along its widest side (unbounded sides first, at a point that doubles); tiny boxes are stuck."""
    n = len(low)
    rows = np.arange(n)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.minimum(np.abs(low), np.abs(high))  # of a half line: its finite end
        width = np.where(
            np.isfinite(low) & np.isfinite(high), high - low, np.where(np.isinf(near), np.inf, 1e200 / (1 + near))
        )
    side = np.argmax(width, axis=1)
    a, b = low[rows, side], high[rows, side]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(np.isfinite(a) & np.isfinite(b), 0.5 * a + 0.5 * b, 0.0)
        middle = np.where(
            np.isfinite(a) & ~np.isfinite(b), np.where(a >= 0, 2 * a + 1, np.where(a < -1, a / 2, 0.0)), middle
        )
        middle = np.where(
            ~np.isfinite(a) & np.isfinite(b), np.where(b <= 0, 2 * b - 1, np.where(b > 1, b / 2, 0.0)), middle
        )
    stuck = ~((a < middle) & (middle < b)) | (np.abs(middle) > far)
    go = rows[~stuck]
    left_high, right_low = high[go].copy(), low[go].copy()
    left_high[np.arange(go.size), side[go]] = middle[go]
    right_low[np.arange(go.size), side[go]] = middle[go]
    new_low, new_high = np.empty((2 * go.size, low.shape[1])), np.empty((2 * go.size, low.shape[1]))
    new_low[0::2], new_low[1::2], new_high[0::2], new_high[1::2] = low[go], right_low, left_high, high[go]
    return new_low, new_high, stuck


@np.errstate(all="ignore")
def lower_bounds(
    objective: Objective, low: FloatArray, high: FloatArray, best: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Proved lower bounds of phi on boxes (n,), and the expansion points that were used (n, dx).

    A box that holds ``best`` is expanded there, so that the bound at a minimiser is sharp to second order.
    """
    if not len(low):
        return np.empty(0), low
    centre = _expansion_points(low, high, best, objective.far)
    over = objective.over(low, high, centre)
    bounds = over.value.lo.copy()
    rows = np.flatnonzero(np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1))
    if rows.size and objective.smooth:
        taylor = _taylor(objective, over.hessian[rows], low[rows], high[rows], centre[rows])
        bounds[rows] = np.maximum(bounds[rows], taylor)
    return bounds, centre


def _expansion_points(low: FloatArray, high: FloatArray, best: FloatArray, far: float) -> FloatArray:
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * low + 0.5 * high, 0.0)
    middle = np.clip(middle, np.maximum(low, -far), np.minimum(high, far))
    holds = ((low <= best) & (best <= high)).all(axis=1)
    return np.asarray(np.where(np.asarray(holds)[:, None], best, middle))


def _taylor(
    objective: Objective, hessian: Interval, low: FloatArray, high: FloatArray, centre: FloatArray
) -> FloatArray:
    """Second-order lower bound of phi on bounded boxes; -inf where an enclosure is missing."""
    at = objective.at(centre)
    with np.errstate(invalid="ignore", over="ignore"):
        bend = smallest_eigenvalue(hessian)
        left, right = np.nextafter(low - centre, -np.inf), np.nextafter(high - centre, np.inf)
        gradient = at.gradient
        total = at.value.lo.copy()
        for i in range(low.shape[1]):
            total = np.nextafter(total + _parabola(gradient[:, i, 0], bend, left[:, i], right[:, i]), -np.inf)
    return np.asarray(np.where(np.isfinite(total), total, -np.inf))


def _parabola(slope: Interval, bend: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Lower bound of ``g d + m d^2 / 2`` for d in [left, right] (0 inside), g in ``slope``.

    Rounded down by a margin.
    """
    ends = np.minimum(np.minimum(slope.lo * left, slope.hi * left) + 0.5 * bend * left**2,
                      np.minimum(slope.lo * right, slope.hi * right) + 0.5 * bend * right**2)  # fmt: skip
    size = np.maximum(np.abs(slope.lo), np.abs(slope.hi))
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(bend > 0, -0.5 * size**2 / np.where(bend > 0, bend, 1.0), ends)
    # for bend > 0 the parabola has its least value at an end or at the vertex, if the vertex lies inside
    rightmost, leftmost = -slope.lo, -slope.hi
    inside = (bend > 0) & (rightmost > bend * left) & (leftmost < bend * right)
    lowest = np.where(inside, np.minimum(ends, vertex), ends)
    reach = np.maximum(np.abs(left), np.abs(right))
    margin = 1e-15 * (size * reach + np.abs(bend) * reach**2) + 1e-300
    return np.asarray(np.minimum(lowest, 0.0) - margin)
