"""How large an affine form gets on a feasible set: ends rounded outwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from bilevel_verify.numbers.rounding import float_above, float_below
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Intersection,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.truth.functions.structure import Ranges
from bilevel_verify.truth.sets.polyhedra import bounds

Ends = tuple[Fraction | None, Fraction | None]
"""None: no end is known."""


def ranges_over(feasible: FeasibleSet | None) -> Ranges | None:
    """The ranges of affine forms over a set; None for the whole space."""
    if feasible is None or isinstance(feasible, WholeSpace):
        return None

    def ends(normal: Sequence[Fraction], shift: Fraction) -> tuple[float, float]:
        low, high = _ends(feasible, normal)
        return (
            -math.inf if low is None else float_below(low + shift),
            math.inf if high is None else float_above(high + shift),
        )

    return ends


def _ends(feasible: FeasibleSet, a: Sequence[Fraction]) -> Ends:
    match feasible:
        case Box() | Orthant():
            return _of_box(feasible, a)
        case Ball():
            centre = feasible.center or (0.0,) * len(a)
            middle = sum((v * Fraction(c) for v, c in zip(a, centre)), Fraction(0))
            reach = Fraction(feasible.radius) * _root(sum((v * v for v in a), Fraction(0)))
            return middle - reach, middle + reach
        case Simplex():
            return Fraction(feasible.total) * min(a), Fraction(feasible.total) * max(a)
        case L1Ball():
            reach = Fraction(feasible.radius) * max(abs(v) for v in a)
            return -reach, reach
        case HalfSpace():
            return _of_half_space([Fraction(v) for v in feasible.normal], Fraction(feasible.offset), a)
        case Intersection():
            parts = [_ends(part, a) for part in feasible.sets]
            lows, highs = [low for low, _ in parts if low is not None], [high for _, high in parts if high is not None]
            return max(lows, default=None), min(highs, default=None)
    return None, None


def _of_box(feasible: Box | Orthant, a: Sequence[Fraction]) -> Ends:
    low, high = bounds(feasible, len(a))
    least, most = [], []
    for v, lo, hi in zip(a, low.tolist(), high.tolist()):
        if v:
            least.append((v, lo if v > 0 else hi))
            most.append((v, hi if v > 0 else lo))
    return tuple(  # type: ignore[return-value]
        None if any(math.isinf(end) for _, end in terms) else sum((v * Fraction(end) for v, end in terms), Fraction(0))
        for terms in (least, most)
    )


def _of_half_space(normal: Sequence[Fraction], offset: Fraction, a: Sequence[Fraction]) -> Ends:
    """One end, where a is a multiple of the normal."""
    lead = next((i for i, v in enumerate(normal) if v), None)
    ratio = Fraction(0) if lead is None else a[lead] / normal[lead]
    if not ratio or any(v != ratio * w for v, w in zip(a, normal)):
        return None, None
    return (None, ratio * offset) if ratio > 0 else (ratio * offset, None)


def _root(square: Fraction) -> Fraction:
    """A rational at or above a square root, by less than one part in 10^30."""
    if not square:
        return Fraction(0)
    scale = 10**30
    shifted = square.numerator * square.denominator * scale**2
    return Fraction(math.isqrt(shifted) + 1, square.denominator * scale)
