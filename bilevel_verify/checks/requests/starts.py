"""Where runs begin: the caller's starts checked, the problem's own start, or a few deterministic points."""

from __future__ import annotations

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.problems.problem import Problem

GOLDEN = 0.6180339887498949


def point_of(problem: Problem, x0: tuple[float, ...] | list[float]) -> list[np.ndarray]:
    """One start or a list of them, each of shape (dx,), finite and in the domain.

    Raises
    ------
    ParameterError : wrong shape, NaN, or outside the domain.
    """
    try:
        array = np.asarray(x0, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"x0 must be numbers, not {x0!r}") from None
    if array.ndim == 0:
        array = array.reshape(1)
    rows = [array] if array.ndim == 1 else list(array)
    for row in rows:
        if row.shape != (problem.dx,):
            raise ParameterError(f"x0 has shape {row.shape}; this problem needs ({problem.dx},)")
        if not np.all(np.isfinite(row)):
            raise ParameterError("x0 must be finite")
        for symbol, number in zip(problem.x, row):
            low, high = (float(end) for end in problem.range_of(symbol))
            if not low <= number <= high:
                raise ParameterError(f"x0: {symbol.name} = {number:g} lies outside its domain [{low:g}, {high:g}]")
    return rows


def default_starts(problem: Problem) -> list[np.ndarray]:
    """The problem's own start, or one generic point of the domain (no symmetric or special coordinates)."""
    if problem.start is not None:
        return [np.asarray(problem.start, dtype=float)]
    return [generic_start(problem)]


def generic_start(problem: Problem, number: int = 0) -> np.ndarray:
    """The ``number``-th point of a deterministic, equidistributed sequence in the domain (unbounded ends cut at 2)."""
    entries = []
    for place, symbol in enumerate(problem.x):
        low, high = (float(end) for end in problem.range_of(symbol))
        low = low if np.isfinite(low) else (min(-2.0, high - 4) if np.isfinite(high) else -2.0)
        high = high if np.isfinite(high) else max(2.0, low + 4)
        share = (0.31 + GOLDEN * (place + 1) * (number + 1)) % 1.0
        entries.append(low + (high - low) * (0.1 + 0.8 * share))
    return np.round(np.array(entries), 3)
