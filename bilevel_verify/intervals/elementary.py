"""Elementary functions at float points, as enclosures: NumPy widened by 8 ulp, or ball arithmetic.

NumPy's accuracy (worst seen 1.14 ulp) is an assumption. Inside ``with ball_ends():`` every point value comes from
``arb`` instead, so that a covering found fast can be certified by running it once more; inside ``with array_ends():``
large arrays take the proved kernels of :mod:`~bilevel_verify.intervals.proved` where there is one (a little wider).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.proved import PROVED, proved_ends
from bilevel_verify.language.elementary import ELEMENTARY, Elementary
from bilevel_verify.numbers.rounding import LEAST, Array, down, floats_of, precision, up

ULPS = 8
"""Widening of a NumPy elementary function, in units in the last place."""

_BALLS: ContextVar[bool] = ContextVar("ball_ends", default=False)
_ARRAYS: ContextVar[bool] = ContextVar("array_ends", default=False)


@contextlib.contextmanager
def _within(switch: ContextVar[bool], value: bool) -> Iterator[None]:
    token = switch.set(value)
    try:
        yield
    finally:
        switch.reset(token)


def ball_ends() -> contextlib.AbstractContextManager[None]:
    """Within this block elementary functions are evaluated by ``arb`` (proved), not by NumPy (assumed)."""
    return _within(_BALLS, True)


def array_ends() -> contextlib.AbstractContextManager[None]:
    """Within this block what :func:`ball_ends` proves point by point is proved for whole arrays at once."""
    return _within(_ARRAYS, True)


def fast_ends() -> contextlib.AbstractContextManager[None]:
    """Within this block NumPy is used again (for searches inside a certified computation)."""
    return _within(_BALLS, False)


def balls_in_use() -> bool:
    """True inside :func:`ball_ends`."""
    return _BALLS.get()


def point_values(name: str, points: Array) -> Interval:
    """Enclosure of ``name`` at float points (infinite points give the limit, undefined ones the whole line)."""
    points = np.asarray(points, dtype=float)
    if _BALLS.get():
        low, high = (_by_arrays if _ARRAYS.get() and name in PROVED else _by_balls)(name, points)
    else:
        with np.errstate(all="ignore"):
            value = FUNCTIONS[name].array(points)
            room = np.abs(value) * (ULPS * 2.0**-52) + LEAST
            low, high = np.where(np.isinf(value), value, value - room), np.where(np.isinf(value), value, value + room)
            low, high = _overflow(name, points, low, high)
    floor, ceiling = FUNCTIONS[name].values
    lost = np.isnan(low)  # both ends come from one value
    return Interval(np.where(lost, floor, np.maximum(low, floor)), np.where(lost, ceiling, np.minimum(high, ceiling)))


def _overflow(name: str, points: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """A finite argument has a finite value: an end that overflowed to infinity is only an outer bound on one side."""
    finite = np.isfinite(points)
    if name == "log":
        return low, high  # at 0 both are -inf, the limit
    biggest = np.finfo(float).max
    return np.where(finite & (low == np.inf), biggest, low), np.where(finite & (high == -np.inf), -biggest, high)


def _by_arrays(name: str, points: Array) -> tuple[Array, Array]:
    low, high, fine = proved_ends(name, points)
    if not fine.all():
        rest = np.logical_not(fine)
        low[rest], high[rest] = _by_balls(name, points[rest])
    return low, high


def _by_balls(name: str, points: Array) -> tuple[Array, Array]:
    import flint

    unique, where = np.unique(points, return_inverse=True)
    near = np.full(unique.shape, np.nan)
    with precision(96):
        function = getattr(flint.arb, name)
        for index, point in enumerate(unique.tolist()):
            value = function(flint.arb(point))
            if value.rel_accuracy_bits() >= 70:
                near[index] = float(value)
        # rounded (either way) from a midpoint good to 70 bits: one step is enough
        low, high = down(near), up(near)
        size = np.abs(near)
        for index in np.flatnonzero(~((size > 1e-290) & (size < 1e290))).tolist():
            low[index], high[index] = _ball_value(name, float(unique[index]))
    return low[where].reshape(points.shape), high[where].reshape(points.shape)


LOG1P = Elementary("log1p", r"\log", increasing=True, limits=(np.nan, np.inf), start=-1.0)
"""Used by enclosures alone: it is no word of the language."""
FUNCTIONS = {**ELEMENTARY, "log1p": LOG1P}


def _ball_value(name: str, point: float) -> tuple[float, float]:
    import flint

    if np.isinf(point):
        limit = FUNCTIONS[name].limits[1 if point > 0 else 0]
        return limit, limit
    if name == "log" and point == 0:
        return -np.inf, -np.inf
    value: Any = getattr(flint.arb(point), name)()
    if not value.is_finite():
        return np.nan, np.nan
    return floats_of(value)
