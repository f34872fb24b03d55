"""Derivatives of a jet as the full tensor, for comparisons entry by entry."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jets import Jet


def tensor_of(jet: Jet, order: int) -> Interval:
    """Full symmetric tensor of one order over the boxes, shape (boxes, n, ..., n)."""
    space = jet.space
    boxes = jet.data.lo.shape[1]
    shape = (boxes, *[space.n] * order)
    low, high = np.zeros(shape), np.zeros(shape)
    for row, number in enumerate(jet.support):
        if space.degree[number] != order:
            continue
        entry = (
            jet.data[row] * Interval.of(float(space.factorial[number]))
            if space.factorial[number] > 1
            else jet.data[row]
        )
        positions = [i for i, a in enumerate(space.indices[number]) for _ in range(a)]
        for place in set(itertools.permutations(positions)):
            where: Any = (slice(None), *place)
            low[where], high[where] = entry.lo, entry.hi
    return Interval(low, high)
