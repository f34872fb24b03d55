"""Supremum of ``sum_l c_l |a_l . u|^k`` over unit vectors ``u``: peaks certified by curvature, the rest by eigenvalues.

On the whole space with independent rows the k-th derivative of a sum of ridges has exactly this norm. It is a convex
function that is maximised over a sphere (hard in general), but its large local maxima are few and sharp. Two bounds:

*Peaks.* Along a great circle from ``p`` the function ``f`` satisfies ``f'' + k f <= K`` where ``K`` bounds
``k (k-1) sum c_l |a_l . u|^(k-2) (a_l . v)^2`` over the cap and its tangents ``v``; comparison with the solution of
``f'' + k f = K`` (Sturm) gives ``f <= K/k + hypot(f(p) - K/k, |grad f(p)| / sqrt(k))`` on every cap of angle at most
``pi / sqrt(k)``: equal to ``f(p)`` at a critical point with ``K/k <= f(p)``.

*The rest.* If every ``|a_l . u|`` lies in ``[l, h]``, the chord of ``s -> s^(k/2)`` and multipliers for both ends give
a largest eigenvalue as bound. The interval with the largest gap is cut until nothing exceeds the best peak.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bilevel_verify.intervals.linalg import point_eigenvalues
from bilevel_verify.numbers.rounding import Array

TOLERANCE = 2e-9
"""Relative excess over the best peak at which the search is done."""

NODES = 120
"""Most cuts; afterwards the worst open bound counts."""

PEAKS = 12
"""Most peaks that get a cap, each at least ``NEAR`` times the highest one."""

NEAR = 0.8

STEP = float(np.pi / 144)
"""Angle of one step of the comparison equation."""

MULTIPLIER_STEPS = 8
ROWS = 80
"""Most rows for which the search is worth its time (and for which the rounding margins hold)."""

ANGLE_ROOM = 1e-7
"""Room in ``cos`` of computed angles (``arccos`` near 1 knows only half of the digits)."""

ROOM = 1e-12
"""Relative room for sums of at most some thousand products."""


class Peaks(NamedTuple):
    """``lower <= sup <= upper``; ``cuts`` counts the cut regions, ``caps`` the certified peaks."""

    lower: float
    upper: float
    cuts: int
    caps: int


@dataclass(frozen=True, slots=True)
class _Node:
    """Region ``low <= a_l . u <= high`` with the multipliers and the direction of its bound."""

    low: Array
    high: Array
    multipliers: Array
    direction: Array


def supremum_of_powers(rows: Array, plus: Array, minus: Array, order: int, nodes: int = NODES) -> Peaks:
    """Bounds of ``sup sum_l c_l |a_l . u|^k`` over unit ``u``; ``c_l`` depends on the sign of ``a_l . u``.

    Parameters
    ----------
    rows : shape (m, n), known to a relative 1e-15.
    plus, minus : weights for positive and negative ``a_l . u``, shape (m,), finite, not negative.
    order : the power, 3 or 4.
    """
    used = (np.abs(rows).max(axis=1, initial=0.0) > 0) & (np.maximum(plus, minus) > 0)
    if not used.any():
        return Peaks(0.0, 0.0, 0, 0)
    scale = float(np.abs(rows[used]).max())
    weight = float(np.maximum(plus, minus)[used].max())
    search = _Search(rows[used] / scale, plus[used] / weight, minus[used] / weight, order)
    upper = search.run(nodes)
    unit = weight * scale**order
    return Peaks(search.best * unit * (1 - 1e-12), upper * unit * (1 + 1e-10), search.cuts, len(search.caps))


def larger_of(first: Peaks, second: Peaks) -> Peaks:
    """The supremum of two such sums."""
    return Peaks(
        max(first.lower, second.lower),
        max(first.upper, second.upper),
        first.cuts + second.cuts,
        first.caps + second.caps,
    )


class _Search:
    def __init__(self, rows: Array, plus: Array, minus: Array, order: int) -> None:
        self.order, self.even = order, bool((plus == minus).all())
        self.rows, self.plus, self.minus = rows, plus, minus
        self.weight = np.maximum(plus, minus)
        self.norm = np.sqrt((rows**2).sum(axis=1))
        self.cuts = 0
        tops, values = self._summits()
        self.best = float(values.max())
        self.target = self.best * (1 + TOLERANCE)
        self.caps = self._caps(tops, values)
        self._add_caps()

    # -- the function ----------------------------------------------------------------------------------------------

    def value(self, directions: Array) -> Array:
        """``f`` at unit directions, shape (..., n)."""
        t = directions @ self.rows.T
        return np.asarray((np.where(t > 0, self.plus, self.minus) * np.abs(t) ** self.order).sum(axis=-1))

    def slope(self, directions: Array) -> Array:
        """``grad f / k``."""
        t = directions @ self.rows.T
        return np.asarray((np.where(t > 0, self.plus, self.minus) * t * np.abs(t) ** (self.order - 2)) @ self.rows)

    def _summits(self) -> tuple[Array, Array]:
        """Local maxima by power iterations from every row, highest first."""
        u = self.rows / self.norm[:, None]
        u = u if self.even else np.concatenate([u, -u])
        for _ in range(150):
            ascent = self.slope(u)
            size = np.sqrt((ascent**2).sum(axis=1, keepdims=True))
            u = np.where(size > 0, ascent / np.where(size > 0, size, 1.0), u)
        values = self.value(u)
        order = np.argsort(-values)
        return u[order], values[order]

    # -- peaks -----------------------------------------------------------------------------------------------------

    def _caps(self, tops: Array, values: Array) -> list[tuple[Array, float]]:
        """Directions with the angle of a cap (around them and their opposites) on which ``f <= target`` is certain."""
        found: list[tuple[Array, float]] = []
        for top, value in zip(tops, values):
            if value < NEAR * self.best or len(found) == PEAKS:
                break
            if any(abs(float(top @ other)) > 1 - 1e-6 for other, _ in found):
                continue
            angle = self._widest_cap(top)
            if angle > 0:
                found.append((top, angle))
        return found

    def _widest_cap(self, top: Array) -> float:
        """Largest certified angle: the comparison equation in steps, with the bound ``K`` of each step."""
        k, root = self.order, np.sqrt(self.order)
        states = [(end, *self._start(end)) for end in ((top,) if self.even else (top, -top))]
        angle = 0.0
        while angle + STEP <= np.pi / 3:
            fresh = []
            for point, value, slope in states:
                level = self._level(point, angle + STEP)
                above = value - level
                end = level + above * np.cos(root * STEP) + slope / root * np.sin(root * STEP)
                # falling at the start: the largest value of a step is at one of its ends
                most = max(value, end) if slope <= 0 else level + np.hypot(above, slope / root)
                if most * (1 + ROOM) > self.target:
                    return angle
                end_slope = slope * np.cos(root * STEP) - root * above * np.sin(root * STEP)
                fresh.append((point, end * (1 + ROOM), end_slope + ROOM * k * self.best))
            states, angle = fresh, angle + STEP
        return angle

    def _start(self, end: Array) -> tuple[float, float]:
        """Value and slope from above at a direction."""
        slope = self.order * self.slope(end)
        tangent = np.sqrt(((slope - (slope @ end) * end) ** 2).sum()) + ROOM * np.sqrt((slope**2).sum())
        return float(self.value(end)) * (1 + ROOM), float(tangent)

    def _level(self, point: Array, angle: float) -> float:
        """``K / k`` for all points within this angle of one and tangents of great circles through it."""
        k, at = self.order, self.rows @ point
        apart = np.arccos(np.clip(np.abs(at) / self.norm, 0.0, 1.0))
        high = self.norm * np.minimum(1.0, np.cos(np.maximum(0.0, apart - angle)) + ANGLE_ROOM)
        known = apart + angle < 0.5 * np.pi - ANGLE_ROOM
        weight = np.where(known, np.where(at > 0, self.plus, self.minus), self.weight)
        matrix = (self.rows.T * (weight * high ** (k - 2))) @ self.rows
        drop = 2 * float(point @ matrix @ point)
        # such a tangent v has |v . point| <= sin(angle)
        turned = self._largest(matrix - drop * np.outer(point, point), float(np.trace(matrix)) + drop)
        return (k - 1) * float(turned + drop * np.sin(angle) ** 2) * (1 + ROOM)

    def _largest(self, matrix: Array, size: float) -> float:
        """Verified largest eigenvalue, with room for the rounding of a sum of terms with traces up to ``size``."""
        symmetric = 0.5 * (matrix + matrix.T)
        if len(symmetric) == 1:
            return float(symmetric[0, 0]) + size * ROOM
        return float(point_eigenvalues(symmetric[None])[1][0]) + size * ROOM

    def _add_caps(self) -> None:
        """Outside the caps: rows of weight zero with ``|p . u| <= cos(angle)``."""
        count = len(self.caps)
        if count:
            self.rows = np.concatenate([self.rows, np.array([top for top, _ in self.caps])])
        nothing = np.zeros(count)
        self.plus, self.minus = np.concatenate([self.plus, nothing]), np.concatenate([self.minus, nothing])
        self.weight = np.concatenate([self.weight, nothing])
        self.norm = np.concatenate([self.norm, np.ones(count)])
        outside = np.cos(np.array([angle for _, angle in self.caps])) + 1e-9
        self.high = np.concatenate([self.norm[: len(self.norm) - count], outside])
        cosines = (self.rows @ self.rows.T) / np.outer(self.norm, self.norm)
        self.apart = np.arccos(np.clip(cosines, -1.0, 1.0))

    # -- the rest --------------------------------------------------------------------------------------------------

    def run(self, nodes: int) -> float:
        """Certified upper bound of ``f`` after at most so many cuts."""
        counter = itertools.count()
        root, bound = self._bounded(-self.high, self.high, np.zeros(len(self.rows)))
        heap = [(-bound, next(counter), root)]
        while heap and -heap[0][0] > self.target and self.cuts < nodes:
            above, _, node = heapq.heappop(heap)
            self.cuts += 1
            for low, high in self._pieces(node):
                low, high = self._shrunk(low, high)
                if (low > high).any():
                    continue
                child, bound = self._bounded(low, high, node.multipliers)
                bound = min(bound, -above)
                if bound > self.target:
                    heapq.heappush(heap, (-bound, next(counter), child))
        return max(self.target, -heap[0][0]) if heap else self.target

    def _pieces(self, node: _Node) -> list[tuple[Array, Array]]:
        """The region cut where the chord is farthest above the power at the direction of the bound."""
        t = self.rows @ node.direction
        weight, constant, slope, least, most = self._chords(node.low, node.high)
        at = int(np.argmax(weight * (constant + slope * t * t - np.abs(t) ** self.order)))
        low, high, near, far = node.low[at], node.high[at], least[at], most[at]
        if low < 0 < high:
            cut = float(min(max(0.8 * abs(t[at]), 0.5 * far), 0.9 * far))
            ends = [(cut, high), (-cut, cut), (low, -cut)]
            if self.even and not ((node.low > 0) | (node.high < 0)).any():
                ends.pop()  # u and -u are alike as long as no sign is chosen
        else:
            cut = float(np.clip(abs(t[at]), near + 0.25 * (far - near), far - 0.25 * (far - near)))
            cut = cut if low >= 0 else -cut
            ends = [(low, cut), (cut, high)]
        pieces = []
        for a, b in ends:
            fresh_low, fresh_high = node.low.copy(), node.high.copy()
            fresh_low[at], fresh_high[at] = max(low, a), min(high, b)
            pieces.append((fresh_low, fresh_high))
        return [(a, b) for a, b in pieces if (a <= b).all()]

    def _shrunk(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Ranges of all rows met with what the caps of the rows of known sign allow."""
        for _ in range(2):
            for i in np.flatnonzero((low > 0) | (high < 0)):
                end, apart = (low[i], self.apart[i]) if low[i] > 0 else (-high[i], np.pi - self.apart[i])
                angle = np.arccos(np.clip(end / self.norm[i], 0.0, 1.0))
                top = np.cos(np.maximum(0.0, apart - angle)) + ANGLE_ROOM
                bottom = np.cos(np.minimum(np.pi, apart + angle)) - ANGLE_ROOM
                high, low = np.minimum(high, self.norm * top), np.maximum(low, self.norm * bottom)
        return low, high

    def _chords(self, low: Array, high: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Weights ``c``, and ``|t|^k <= constant + slope t^2`` for ``|t|`` in ``[least, most]``."""
        crosses = (low <= 0) & (high >= 0)
        weight = np.where(crosses, self.weight, np.where(low > 0, self.plus, self.minus))
        h = np.maximum(np.abs(low), np.abs(high))
        l = np.where(crosses, 0.0, np.minimum(np.abs(low), np.abs(high)))
        if self.order == 3:
            total = np.where(h > 0, h + l, 1.0)
            return weight, -(l * l * h * h) / total, (h * h + h * l + l * l) / total, l, h
        return weight, -(l * l * h * h), h * h + l * l, l, h

    def _bounded(self, low: Array, high: Array, multipliers: Array) -> tuple[_Node, float]:
        """Bound of a region: subgradient steps on the multipliers (float), the best of them verified."""
        weight, constant, slope, least, most = self._chords(low, high)
        base, slopes = float((weight * constant).sum()), weight * slope
        free = (high < self.norm * (1 - 1e-9)) | (low > -self.norm * (1 - 1e-9))
        m = np.where(free, multipliers, 0.0)
        best, best_m, best_u = np.inf, m, np.zeros(self.rows.shape[1])
        for step in range(MULTIPLIER_STEPS + 1):
            values, vectors = np.linalg.eigh((self.rows.T * (slopes - m)) @ self.rows)
            bound = base + float(values[-1]) + float(np.where(m > 0, m * most**2, m * least**2).sum())
            if bound < best:
                best, best_m, best_u = bound, m, vectors[:, -1]
            square = (self.rows @ vectors[:, -1]) ** 2
            ends = np.where(m > 0, most**2, np.where(m < 0, least**2, np.clip(square, least**2, most**2)))
            gradient = np.where(free, ends - square, 0.0)
            length = float(gradient @ gradient)
            if best <= self.target * (1 - 1e-10) or length < 1e-18 or step == MULTIPLIER_STEPS:
                break
            m = m - gradient * ((bound - 0.98 * self.best) / length)
        node = _Node(low, high, best_m, best_u)
        return node, self._verified(base, slopes - best_m, best_m, constant * weight, least, most)

    def _verified(self, base: float, total: Array, m: Array, constants: Array, least: Array, most: Array) -> float:
        ends = np.where(m > 0, m * most**2, m * least**2)
        size = float((np.abs(total) * self.norm**2).sum())
        top = self._largest((self.rows.T * total) @ self.rows, size)
        return base + top + float(ends.sum()) + ROOM * float(np.abs(ends).sum() + np.abs(constants).sum() + size)
