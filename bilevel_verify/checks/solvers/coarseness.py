"""How coarse the numbers of a user's solver are, and how far rounding may have moved the points that it recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.methods.run import Run
from bilevel_verify.methods.trajectory import Trajectory

FINE = 2.0**-52
"""Distance of float64 numbers, beside numbers of size 1."""
SINGLE_BITS = 24
MANY = 32
"""So many different numbers are not short by chance; fewer may be what exact steps from a short start give."""
DECIMALS, SOME, LONG = 9, 12, 4
"""Decimals that are looked for, and how many different numbers have to have them; fewer if these are so many places."""
ROUNDINGS = 64
"""Roundings a coordinate behind one recorded point or one answer of an oracle."""
LEAST = 2.0**-20
"""What is taken for the rounding error of points in float64, relative to the largest coordinate of a run.

Far more than theirs: a step inside of the solver may have been taken in float32, which its points do not show.
"""


def coarsest(value: object) -> float:
    """The unit of the narrowest floats in an answer: arrays, numbers, lists of them, a trajectory or a run."""
    kind = getattr(value, "dtype", None)
    if isinstance(kind, np.dtype):
        return max(FINE, float(np.finfo(kind).eps)) if kind.kind == "f" else FINE
    if isinstance(value, list | tuple):
        return max(map(coarsest, value), default=FINE)
    if isinstance(value, dict):
        return coarsest([*value.values()])
    if isinstance(value, Trajectory):
        return coarsest([getattr(value, one.name) for one in fields(value)])
    if isinstance(value, Run):
        return coarsest([*value.trace.sequences.values(), value.x])
    if hasattr(value, "__array__"):  # a tensor
        return coarsest(np.asarray(value))
    return FINE


def unit_of(tables: Iterable[NDArray[np.float64]]) -> float:
    """The unit that the values themselves show, whatever their arrays: as many bits, or decimals, as the longest has.

    Relative to the largest number. Few numbers may be short by chance, so that they are no coarser than float32.
    """
    numbers = np.unique(np.concatenate([np.ravel(np.asarray(table, dtype=float)) for table in tables]))
    numbers = numbers[np.isfinite(numbers) & (numbers != 0)]
    if not len(numbers):
        return FINE
    bits = _bits(numbers)
    if bits <= SINGLE_BITS:
        return 2.0 ** (1 - (bits if len(numbers) >= MANY else SINGLE_BITS))
    places = next((d for d in range(DECIMALS + 1) if np.array_equal(np.round(numbers, d), numbers)), None)
    if places is None or (len(numbers) < SOME and places < LONG):
        return FINE
    return max(FINE, 10.0**-places / float(np.max(np.abs(numbers))))


def _bits(numbers: NDArray[np.float64]) -> int:
    """Length of the longest mantissa without its last zeros."""
    mantissas = (np.abs(np.frexp(numbers)[0]) * 2.0**53).astype(np.int64)
    return int(np.max(mantissas // (mantissas & -mantissas))).bit_length()


def share_of(run: Run) -> float:
    """How far rounding may have moved recorded points, as a share of the largest coordinate.

    As many roundings as stand behind the points and the answers, none of them amplified; never below ``LEAST``.
    """
    tables = [np.asarray(table, dtype=float) for table in (*run.trace.sequences.values(), run.x)]
    start = np.asarray(run.trace.x, dtype=float)[0]  # which the solver was given
    unit = max(run.rounding, unit_of([table[~np.isin(table, start)] for table in tables]))
    behind = len(run.trace) + sum(run.counts.values())
    share = ROUNDINGS * max(table.shape[-1] for table in tables) * behind * unit
    return max(LEAST, share) if isfinite(share) else 1.0
