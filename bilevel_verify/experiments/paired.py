"""Exact paired tests: the signed-rank test over all sign patterns, and effect sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bilevel_verify.experiments.targets import Range

LEVEL = 0.05
MOST = 16
"""Most pairs whose sign patterns are enumerated."""
BAND = 2.0
"""Two costs are called comparable within this factor."""


@dataclass(frozen=True)
class Paired:
    """Two costs, seed by seed.

    Attributes
    ----------
    less, more : exact one-sided p-values that the first is smaller, that it is larger.
    ratio : median of first / second. ``effect`` : matched-pairs rank-biserial correlation, -1 where the first is
        smaller in every pair, +1 where it is larger. ``pairs`` : how many pairs differ.
    """

    less: float
    more: float
    ratio: float
    effect: float
    pairs: int


def compare(first: Sequence[float], second: Sequence[float], factor: float = 1.0) -> Paired:
    """The exact signed-rank test (Wilcoxon) of log(first) - log(factor * second); infinity stands for "never reached".

    Pairs that are equal, or both infinite, are left out; p-values are 1 where nothing is left.

    Raises
    ------
    ValueError : lengths that differ, NaN, a negative cost, or more than ``MOST`` pairs.
    """
    if len(first) != len(second) or len(first) > MOST:
        raise ValueError(f"{len(first)} and {len(second)} costs; as many of each, and at most {MOST}")
    if any(math.isnan(v) or v < 0 for v in (*first, *second)):
        raise ValueError("costs are numbers >= 0 or infinite")
    differences = [d for a, b in zip(first, second) if (d := _difference(a, factor * b)) != 0]
    ranks = _ranks([abs(d) for d in differences])
    total = sum(ranks)
    above = sum(r for r, d in zip(ranks, differences) if d > 0)
    sums = [sum(r for r, up in zip(ranks, signs) if up) for signs in itertools.product((0, 1), repeat=len(ranks))]
    more, less = (
        sum(s >= above for s in sums) / len(sums) if differences else 1.0,
        sum(s <= above for s in sums) / len(sums) if differences else 1.0,
    )
    effect = (2 * above - total) / total if total else 0.0
    return Paired(less, more, _median([_ratio(a, b) for a, b in zip(first, second)]), effect, len(differences))


def compare_ranges(first: Sequence[Range], second: Sequence[Range], factor: float = 1.0) -> Paired:
    """:func:`compare` for numbers that are known between two ends: each p-value takes the ends against it."""
    less = compare([high for _, high in first], [low for low, _ in second], factor).less
    more = compare([low for low, _ in first], [high for _, high in second], factor).more
    found = compare([high for _, high in first], [high for _, high in second], factor)
    return Paired(less, more, found.ratio, found.effect, found.pairs)


def _difference(a: float, b: float) -> float:
    if a == b:
        return 0.0
    if 0 in (a, b) or math.inf in (a, b):
        return math.copysign(math.inf, a - b)
    return math.log(a) - math.log(b)


def _ranks(sizes: list[float]) -> list[float]:
    """Ranks from 1, the mean of them for ties."""
    ordered = sorted(sizes)
    return [(ordered.index(s) + 1 + len(ordered) - ordered[::-1].index(s)) / 2 for s in sizes]


def _ratio(a: float, b: float) -> float:
    if a == b:
        return 1.0
    return a / b if b not in (0, math.inf) else (0.0 if b == math.inf else math.inf)


def _median(values: list[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    if not ordered:
        return math.nan
    if len(ordered) % 2:
        return ordered[middle]
    low, high = ordered[middle - 1 : middle + 1]
    return high if math.isinf(high) else (low + high) / 2
