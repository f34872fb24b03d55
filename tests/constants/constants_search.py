"""A naive transcription of branch and bound: one box at a time, in Python floats (imported by its test)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

INF = math.inf
Box = tuple[tuple[float, ...], tuple[float, ...]]
Point = tuple[float, ...]


def middle(lo: float, hi: float) -> float:
    """Mid-point; 8 times the end (at least 8) on a half line; 0 on the line."""
    if math.isinf(lo) and math.isinf(hi):
        return 0.0
    if math.isinf(hi):
        return min(max(8.0 * lo if lo > 0 else 8.0, 8.0), 1e300)
    if math.isinf(lo):
        return max(min(8.0 * hi if hi < 0 else -8.0, -8.0), -1e300)
    return 0.5 * lo + 0.5 * hi


def centre(box: Box) -> Point:
    return tuple(middle(a, b) for a, b in zip(*box))


@dataclass
class Naive:
    """The search as its documentation tells it. ``said`` is what it asks for: the kind of question, and of what."""

    bound: Callable[[Box], float]
    sample: Callable[[Point], float]
    boxes: list[Box]
    tolerance: float
    budget: int
    floor: float = 0.0
    split: tuple[bool, ...] | None = None
    ceiling: float = INF
    slopes: Callable[[Point], Point] | None = None
    said: list[tuple[str, set[Any]]] = field(default_factory=list)

    def search(self) -> tuple[float, float, Point, Box, int]:
        self.n = len(self.boxes[0][0])
        wide = [max(box[1][i] - box[0][i] for box in self.boxes) for i in range(self.n)]
        self.scale = [w if math.isfinite(w) and w > 0 else 1.0 for w in wide]
        self.upper = [self.bound(box) for box in self.boxes]
        self.said.append(("bound", set(self.boxes)))
        self.evaluated, self.lower, self.where = len(self.boxes), self.floor, centre(self.boxes[0])
        self.probe([centre(box) for box in self.boxes])
        using = self.slopes if self.n > 3 else None
        while self.evaluated < self.budget:
            if not self.step(min(2048, max(64, self.budget - self.evaluated)), using):
                break
            if self.evaluated > max(self.budget // 4, 1920) and max(self.upper) >= self.ceiling:
                break
            if self.evaluated > self.budget // 5:
                using = self.slopes
        return self.finish()

    def probe(self, points: list[Point]) -> None:
        self.said.append(("sample", set(points)))
        for point in points:
            value = self.sample(point)
            if math.isfinite(value) and value > self.lower:
                self.lower, self.where = value, point

    def widths(self, box: Box) -> list[float]:
        free = self.split or (True,) * self.n
        return [(box[1][i] - box[0][i]) / self.scale[i] if free[i] else 0.0 for i in range(self.n)]

    def active(self, k: int) -> bool:
        low = self.lower
        target = low + self.tolerance * max(abs(low), 1e-300) if math.isfinite(low) else -INF
        far = any((b == INF and a >= 1e12) or (a == -INF and b <= -1e12) for a, b in zip(*self.boxes[k]))
        return self.upper[k] > target and max(self.widths(self.boxes[k])) > 1e-11 and not far

    def step(self, most: int, using: Callable[[Point], Point] | None) -> bool:
        chosen = [k for k in range(len(self.boxes)) if self.active(k)]
        if not chosen:
            return False
        chosen = sorted(chosen, key=lambda k: -self.upper[k])[:most]
        pieces = [(self.boxes[k], self.upper[k]) for k in chosen]
        for _ in range(6):
            pieces = self.halves(pieces, using)
            if len(pieces) >= 160:
                break
        self.said.append(("bound", {box for box, _ in pieces}))
        bounds = [min(self.bound(box), parent) for box, parent in pieces]
        self.evaluated += len(pieces)
        self.boxes = [box for k, box in enumerate(self.boxes) if k not in set(chosen)] + [box for box, _ in pieces]
        self.upper = [u for k, u in enumerate(self.upper) if k not in set(chosen)] + bounds
        best = sorted(range(len(pieces)), key=lambda k: -bounds[k])[:512]
        self.probe([centre(pieces[k][0]) for k in best])
        return True

    def halves(
        self, pieces: list[tuple[Box, float]], using: Callable[[Point], Point] | None
    ) -> list[tuple[Box, float]]:
        finite = all(math.isfinite(v) for box, _ in pieces for end in box for v in end)
        if using is not None and finite:
            middles = {tuple(0.5 * a + 0.5 * b for a, b in zip(*box)) for box, _ in pieces}
            self.said.append(("slopes", middles))
        left, right = [], []
        for (lo, hi), parent in pieces:
            widths = self.widths((lo, hi))
            speaks = widths
            if using is not None and finite:
                rates = using(tuple(0.5 * a + 0.5 * b for a, b in zip(lo, hi)))
                changes = [r * (b - a) for r, a, b in zip(rates, lo, hi)]
                kept = [c if w >= max(widths) / 8.0 and w > 0 else 0.0 for c, w in zip(changes, widths)]
                if all(math.isfinite(c) for c in kept) and max(kept) > 0:
                    speaks = kept
            axis = speaks.index(max(speaks))
            at = middle(lo[axis], hi[axis])
            left.append(((lo, (*hi[:axis], at, *hi[axis + 1 :])), parent))
            right.append((((*lo[:axis], at, *lo[axis + 1 :]), hi), parent))
        return left + right

    def finish(self) -> tuple[float, float, Point, Box, int]:
        worst = self.upper.index(max(self.upper))
        if math.isinf(self.upper[worst]):
            return INF, self.lower, self.where, self.boxes[worst], self.evaluated
        for start in range(0, len(self.boxes), 4096):
            self.said.append(("bound in balls", set(self.boxes[start : start + 4096])))
        sure = max(self.bound(box) for box in self.boxes) + 0.5  # balls are wider, by so much here
        return max(sure, self.lower * (1 - 1e-12)), self.lower, self.where, self.boxes[worst], self.evaluated
