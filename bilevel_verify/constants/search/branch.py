"""Branch and bound for suprema over boxes, in bulk: thousands of boxes per step, the worst ones split first.

The boxes always cover the domain. The search uses NumPy's elementary functions; the final covering is bounded once more
with ball arithmetic, and only that number is certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.linalg import quick_algebra
from bilevel_verify.numbers.rounding import Array

Bound = Callable[[Array, Array], Array]
"""``(lo, hi) -> upper bounds`` over boxes of shape (boxes, n)."""
Sample = Callable[[Array], Array]
"""``points -> attained values`` (lower bounds of the supremum)."""
Slopes = Callable[[Array], Array]
"""``points -> how fast the bounded quantity changes along every variable`` (an estimate: it only chooses the cuts)."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A bound in two stages: ``first`` is cheap; ``second`` costs several times as much and is asked where it matters.

    Both bound the same supremum; so does the smaller one.
    """

    first: Bound
    second: Bound

    def __call__(self, lo: Array, hi: Array) -> Array:
        return np.minimum(_checked(self.first(lo, hi)), _checked(self.second(lo, hi)))


USEFUL = 0.05
"""The second stage helps a box if it takes away this part of what is above the target ..."""

OFTEN = 0.1
"""... and goes on if it helps this part of a batch; else it is tried again after ``PAUSE`` batches."""

PAUSE = 4

EASY = 5
"""A search that ends within this part of its budget is cut along the widest sides."""

FEW = 3
"""With more variables than this every search lasts."""

ASPECT = 8.0
"""A side is not cut while another one (relative to the domain) is this many times longer."""

LEAST_BATCH = 160
"""A step bounds at least about this many boxes at once."""

FAR = 8.0
"""First cut of unbounded ranges; further cuts at its powers."""


@dataclass(frozen=True, slots=True)
class Supremum:
    """Outcome of a search.

    ``upper`` is certified if ``certified``; ``lower`` was attained at ``where``; ``worst`` is a box with the largest
    bound; ``boxes`` counts evaluations.
    """

    upper: float
    lower: float
    where: Array
    worst: tuple[Array, Array]
    boxes: int
    certified: bool


@dataclass(frozen=True, slots=True)
class Known:
    """Bounds of a supremum that are known before a search.

    ``floor`` : a lower bound; boxes below it are not split. ``ceiling`` : an upper bound; a search that has not come
    below it after a quarter of the budget (and some steps) stops.
    """

    floor: float = 0.0
    ceiling: float = math.inf


class Alike(NamedTuple):
    """Numbers of variables that may change places, ascending; how many signs may change together (0: none)."""

    members: tuple[int, ...]
    signs: int = 0


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where a search may cut its boxes.

    ``split`` : variables that may be split (all by default). ``slopes`` : where given, a search that lasts cuts where
    the change across a box is largest instead of along the widest side. ``alike`` : classes of variables that may
    change places: of the boxes that a search cuts, it keeps those where they can ascend (and signs be as they may).
    """

    split: Array | None = None
    slopes: Slopes | None = None
    alike: tuple[Alike, ...] = ()


NOTHING, ANYWHERE = Known(), Cuts()


def supremum(
    bound: Bound,
    sample: Sample,
    lo: Array,
    hi: Array,
    tolerance: float,
    budget: int,
    known: Known = NOTHING,
    cuts: Cuts = ANYWHERE,
) -> Supremum:
    """Upper and lower bound of a supremum over the box ``[lo, hi]`` (ends may be infinite).

    Parameters
    ----------
    lo, hi : ends, shape (n,); or those of several boxes that together carry the supremum, shape (boxes, n).
    tolerance : relative gap at which the search stops.
    budget : largest number of box evaluations.
    known : bounds known beforehand. cuts : where boxes may be cut.
    """
    slopes = cuts.slopes
    search = _Search(bound, sample, lo, hi, tolerance, known.floor, cuts.split)
    search.slopes = slopes if search.lo.shape[1] > FEW else None
    search.alike = cuts.alike if len(search.lo) == 1 else ()  # one of several boxes need not be symmetric
    while search.boxes < budget and search.step(min(2048, max(64, budget - search.boxes))):
        if search.boxes > max(budget // 4, 12 * LEAST_BATCH) and float(search.upper.max()) >= known.ceiling:
            break
        if search.boxes > budget // EASY:
            search.slopes = slopes  # they cost as much as a bound: only for searches that last
    return search.finish()


class _Search:
    def __init__(
        self,
        bound: Bound,
        sample: Sample,
        lo: Array,
        hi: Array,
        tolerance: float,
        floor: float,
        split: Array | None,
    ) -> None:
        self.bound, self.sample, self.tolerance = bound, sample, tolerance
        self.slopes: Slopes | None = None
        self.alike: tuple[Alike, ...] = ()
        self.lo, self.hi = np.atleast_2d(lo).astype(float), np.atleast_2d(hi).astype(float)
        self.split = np.ones(self.lo.shape[1], dtype=bool) if split is None else split
        with np.errstate(invalid="ignore"):
            wide = (self.hi - self.lo).max(axis=0)
        self.scale = np.where(np.isfinite(wide) & (wide > 0), wide, 1.0)
        self.upper = _checked(bound(self.lo, self.hi))
        self.boxes, self.pause = len(self.lo), 0
        self.lower, self.where = floor, middle_of(self.lo, self.hi)[0]
        self._probe(middle_of(self.lo, self.hi))

    def _probe(self, points: Array) -> None:
        values = self.sample(points)
        values = np.where(np.isfinite(values), values, -np.inf)
        best = int(np.argmax(values))
        if values[best] > self.lower:
            self.lower, self.where = float(values[best]), points[best]

    def target(self) -> float:
        return self.lower + self.tolerance * max(abs(self.lower), 1e-300) if math.isfinite(self.lower) else -math.inf

    def step(self, most: int) -> bool:
        """Split the worst boxes once; False if nothing is left to do."""
        widths = self._widths(self.lo, self.hi)
        active = (self.upper > self.target()) & (widths.max(axis=1) > 1e-11) & self._worth_it()
        if not active.any():
            return False
        chosen = np.flatnonzero(active)
        if len(chosen) > most:
            order = np.argpartition(-self.upper[chosen], most - 1)[:most]
            chosen = chosen[order]
        fresh_lo, fresh_hi, parents = self._in_order(*self._pieces(chosen))
        with quick_algebra():
            bounds = self._bounded(fresh_lo, fresh_hi)
        bounds = np.minimum(bounds, self.upper[parents])
        self.boxes += len(bounds)
        keep = np.ones(len(self.upper), dtype=bool)
        keep[chosen] = False
        self.lo, self.hi = np.concatenate([self.lo[keep], fresh_lo]), np.concatenate([self.hi[keep], fresh_hi])
        self.upper = np.concatenate([self.upper[keep], bounds])
        promising = np.argsort(-bounds)[:512]
        self._probe(middle_of(fresh_lo[promising], fresh_hi[promising]))
        return True

    def _bounded(self, lo: Array, hi: Array) -> Array:
        """Bounds of new boxes; the second stage where the first one leaves a box to be cut, if that has paid."""
        if not isinstance(self.bound, Staged):
            return _checked(self.bound(lo, hi))
        values, target = _checked(self.bound.first(lo, hi)), self.target()
        open_ = values > target
        self.pause = max(0, self.pause - 1)
        if self.pause or not open_.any():
            return values
        finer = np.minimum(values[open_], _checked(self.bound.second(lo[open_], hi[open_])))
        with np.errstate(invalid="ignore"):
            helped = finer < values[open_] - USEFUL * (values[open_] - max(target, -1e300))
        self.pause = PAUSE if np.mean(helped) < OFTEN else 0
        values[open_] = finer
        return values

    def _worth_it(self) -> Array:
        """Tails beyond 1e12 are not chased further."""
        near = (np.where(np.isposinf(self.hi), self.lo, 0.0) < 1e12) & (
            np.where(np.isneginf(self.lo), self.hi, 0.0) > -1e12
        )
        return np.asarray(near.all(axis=1))

    def _pieces(self, chosen: NDArray[np.intp]) -> tuple[Array, Array, NDArray[np.intp]]:
        """The chosen boxes cut in two along their widest side; few boxes are cut again (a call costs 100 boxes)."""
        lo, hi, parents = self.lo[chosen], self.hi[chosen], chosen
        for _ in range(6):
            lo, hi, parents = self._halves(lo, hi, parents)
            if len(lo) >= LEAST_BATCH:
                break
        return lo, hi, parents

    def _in_order(self, lo: Array, hi: Array, parents: NDArray[np.intp]) -> tuple[Array, Array, NDArray[np.intp]]:
        """Of every box the hull of the points where the values of a class ascend, with its signs right, if any."""
        if not self.alike:
            return lo, hi, parents
        lo, hi = lo.copy(), hi.copy()
        for members, signs in self.alike:
            first, second = members[:2]
            if signs == 1:
                lo[:, first] = np.maximum(lo[:, first], 0.0)
            elif signs:  # x_2 >= |x_1|
                lo[:, second] = np.maximum(lo[:, second], np.maximum(-hi[:, first], 0.0))
                lo[:, first] = np.maximum(lo[:, first], -hi[:, second])
            lo[:, members] = np.maximum.accumulate(lo[:, members], axis=1)
            hi[:, members] = np.minimum.accumulate(hi[:, members][:, ::-1], axis=1)[:, ::-1]
        kept = (lo <= hi).all(axis=1)
        return lo[kept], hi[kept], parents[kept]

    def _widths(self, lo: Array, hi: Array) -> Array:
        with np.errstate(invalid="ignore"):
            widths = (hi - lo) / self.scale
        return np.where(self.split, np.where(np.isnan(widths), 0.0, widths), 0.0)

    def _changes(self, lo: Array, hi: Array) -> Array:
        """What speaks for a cut along every variable: estimated change across the box, or its relative width."""
        widths = self._widths(lo, hi)
        if self.slopes is None or not (np.isfinite(lo).all() and np.isfinite(hi).all()):
            return widths
        with np.errstate(invalid="ignore"):
            changes = self.slopes(0.5 * lo + 0.5 * hi) * (hi - lo)
        longest = widths.max(axis=1, keepdims=True)
        changes = np.where((widths >= longest / ASPECT) & (widths > 0), changes, 0.0)
        known = np.isfinite(changes).all(axis=1, keepdims=True) & (changes.max(axis=1, keepdims=True) > 0)
        return np.asarray(np.where(known, changes, widths))

    def _halves(self, lo: Array, hi: Array, parents: NDArray[np.intp]) -> tuple[Array, Array, NDArray[np.intp]]:
        axis = np.argmax(self._changes(lo, hi), axis=1)
        rows = np.arange(len(lo))
        at = middle_of(lo, hi)[rows, axis]
        left_hi, right_lo = hi.copy(), lo.copy()
        left_hi[rows, axis], right_lo[rows, axis] = at, at
        return np.concatenate([lo, right_lo]), np.concatenate([left_hi, hi]), np.concatenate([parents, parents])

    def finish(self) -> Supremum:
        """Certify the covering: every box again, elementary functions from ball arithmetic."""
        worst = int(np.argmax(self.upper))
        if math.isinf(self.upper[worst]):
            return Supremum(math.inf, self.lower, self.where, (self.lo[worst], self.hi[worst]), self.boxes, True)
        sure = self._certify()
        return Supremum(
            max(sure, self.lower * (1 - 1e-12)),
            self.lower,
            self.where,
            (self.lo[worst], self.hi[worst]),
            self.boxes,
            True,
        )

    def _certify(self) -> float:
        """Children may rest on a parent's bound: boxes whose own bound is larger are judged by the larger one."""
        best, level = -math.inf, float(self.upper.max())
        with ball_ends():
            for start in range(0, len(self.lo), 4096):
                part = slice(start, start + 4096)
                best = max(best, float(self._certified(self.lo[part], self.hi[part], level).max()))
        return best

    def _certified(self, lo: Array, hi: Array, level: float) -> Array:
        """Bounds of boxes; the second stage where the first one is above what was found."""
        if not isinstance(self.bound, Staged):
            return _checked(self.bound(lo, hi))
        values = _checked(self.bound.first(lo, hi))
        above = values > level
        if above.any():
            values[above] = np.minimum(values[above], _checked(self.bound.second(lo[above], hi[above])))
        return values


def _checked(values: Array) -> Array:
    return np.where(np.isnan(values), np.inf, values)


def middle_of(lo: Array, hi: Array) -> Array:
    """Where to cut, and where to look: mid-points; powers of 8 on half lines; 0 on the whole line."""
    with np.errstate(invalid="ignore", over="ignore"):
        middle = 0.5 * lo + 0.5 * hi
    up_open, down_open = np.isposinf(hi), np.isneginf(lo)
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.minimum(np.maximum(np.where(lo > 0, FAR * lo, FAR), FAR), 1e300)
        below = np.maximum(np.minimum(np.where(hi < 0, FAR * hi, -FAR), -FAR), -1e300)
    middle = np.where(up_open & ~down_open, above, middle)
    middle = np.where(down_open & ~up_open, below, middle)
    return np.where(up_open & down_open, 0.0, middle)
