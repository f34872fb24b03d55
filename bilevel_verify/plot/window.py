"""The part of the variables' space that a picture shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest
from bilevel_verify.problems.problem import Problem

FloatArray = NDArray[np.float64]
MOST_POINTS = 1_000_000
"""Points of a grid."""
REACH = 3.0
"""Half the width of a window where the problem declares no range."""


@dataclass(frozen=True, slots=True)
class Window:
    """One or two coordinates of x with their ends, and the point that the other coordinates stay at.

    Attributes
    ----------
    places : positions in x, one or two. ``low``, ``high`` : their ends.
    point : shape (dx,). ``whole`` : every coordinate of x is shown over its whole declared range.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    low: FloatArray
    high: FloatArray
    point: FloatArray
    whole: bool

    @property
    def slice(self) -> bool:
        """Whether some coordinates of x are not shown."""
        return len(self.places) < len(self.point)

    def grid(self, count: int) -> tuple[list[FloatArray], FloatArray]:
        """Coordinates along each axis, and all points of the grid, shape (n, dx), last axis fastest.

        Raises
        ------
        InputError : fewer than two points along an axis, or more than a picture can hold.
        """
        bounded(count, len(self.places))
        axes = [np.linspace(a, b, count) for a, b in zip(self.low, self.high, strict=True)]
        mesh = np.meshgrid(*axes, indexing="ij")
        points = np.tile(self.point, (mesh[0].size, 1))
        for place, values in zip(self.places, mesh, strict=True):
            points[:, place] = values.ravel()
        return axes, points

    def restricted(self, problem: Problem) -> Problem:
        """The problem on this window alone (every coordinate is shown)."""
        import sympy

        ends = zip(self.names, self.low.tolist(), self.high.tolist(), strict=True)
        shown = {name: (sympy.Rational(a), sympy.Rational(b)) for name, a, b in ends}
        return problem if self.whole else replace(problem, domain={**problem.domain, **shown})

    def inside(self, points: FloatArray) -> NDArray[np.bool_]:
        """Which rows of points lie in the window, as far as the shown coordinates go."""
        shown = points[:, list(self.places)]
        return np.asarray(((shown >= self.low) & (shown <= self.high)).all(axis=1))


def bounded(count: int, axes: int) -> int:
    """A number of points along each axis, if a picture can hold their grid (else InputError)."""
    most = MOST_POINTS if axes == 1 else math.isqrt(MOST_POINTS)
    if not 2 <= count <= most:
        raise InputError(f"count: 2 to {most} points along each axis, not {count if abs(count) < 10**9 else 'so many'}")
    return count


def window(
    problem: Problem,
    box: Mapping[str, Sequence[float]] | None = None,
    along: str | Sequence[str] | None = None,
    point: object = None,
    cover: FloatArray | None = None,
    most: int = 2,
) -> Window:
    """The window of a picture.

    Parameters
    ----------
    box : variable -> (low, high); by default the declared range, or what covers ``cover``, or 3 around ``point``.
    along : the coordinates of x that are shown, by default the first ``most``.
    point : where the other coordinates stay; by default the start of the problem.
    cover : points, shape (n, dx), that the window has to show.

    Raises
    ------
    InputError : an unknown variable, an empty range, or a point of another dimension.
    """
    if problem.kind == "simple_bilevel":
        raise InputError("a simple bilevel problem has no hyper-objective to draw; plot.convergence shows its runs")
    names = [s.name for s in problem.x]
    base = _point(problem, point)
    chosen = names[:most] if along is None else [along] if isinstance(along, str) else list(along)
    if not 1 <= len(set(chosen)) == len(chosen) <= most:
        raise InputError(f"along: name 1 to {most} coordinates of x, each once, not {', '.join(chosen[:12]) or 'none'}")
    given = dict(box or {})
    for name in (*chosen, *given):
        if name not in names:
            raise InputError(f"{name!r} is no coordinate of x{nearest(name, names)}; there are {', '.join(names[:12])}")
    places = tuple(names.index(name) for name in chosen)
    ends = [_ends(problem, names[i], i, given.get(names[i]), base, cover) for i in places]
    declared = [problem.range_of(problem.x[i]) for i in places]
    whole = len(chosen) == len(names) and all(
        float(a) == lo and float(b) == hi for (a, b), (lo, hi) in zip(declared, ends, strict=True)
    )
    low, high = np.array([a for a, _ in ends]), np.array([b for _, b in ends])
    return Window(tuple(chosen), places, low, high, base, whole)


def _point(problem: Problem, point: object) -> FloatArray:
    chosen = problem.start if point is None else point
    base = np.zeros(problem.dx) if chosen is None else np.atleast_1d(np.asarray(chosen, dtype=float))
    if base.shape != (problem.dx,) or not np.isfinite(base).all():
        raise InputError(f"point: {problem.dx} finite numbers are needed, not an array of shape {base.shape}")
    return base


def given_range(name: str, given: Sequence[float]) -> tuple[float, float]:
    """The ends that a user gives a variable.

    Raises
    ------
    InputError : not two finite numbers in order.
    """
    low, high = (float(v) for v in given) if len(given) == 2 else (math.nan, math.nan)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"box: the range of {name} must be two finite numbers, the smaller first, not {given}")
    return low, high


def _ends(
    problem: Problem, name: str, place: int, given: Any, base: FloatArray, cover: FloatArray | None
) -> tuple[float, float]:
    """Ends of one coordinate: given, else what the points need, else the declared range, else around the point."""
    if given is not None:
        return given_range(name, given)
    declared = [float(v) for v in problem.range_of(problem.x[place])]
    if cover is not None and len(cover):
        values = cover[:, place][np.isfinite(cover[:, place])]
        low, high = float(values.min()), float(values.max())
        room = 0.15 * (high - low) or 0.5 * max(1.0, abs(low))
        clipped = max(low - room, declared[0]), min(high + room, declared[1])
        return clipped if clipped[0] < clipped[1] else (low - room, high + room)
    low = declared[0] if math.isfinite(declared[0]) else min(base[place], declared[1]) - REACH
    high = declared[1] if math.isfinite(declared[1]) else max(base[place], declared[0]) + REACH
    return float(low), float(high)
