"""Corners of a family: candidates at the ends of every range, where case distinctions, roundings and equalities sit."""

from __future__ import annotations

from collections.abc import Iterator

from bilevel_verify.worst.family import Family

LOW, MIDDLE, HIGH = 0.0, 0.5, 1.0
CORNERS = (
    (MIDDLE, HIGH, HIGH), (HIGH, HIGH, HIGH), (LOW, HIGH, LOW), (HIGH, HIGH, MIDDLE), (MIDDLE, LOW, HIGH),
    (MIDDLE, LOW, MIDDLE), (LOW, LOW, HIGH),
)  # fmt: skip
"""Knobs, tolerance, start. A start in the middle of its range is the origin, which is stationary and often optimal
(Delta = 0: a run that ends at once); knobs at their upper ends make the curvatures equal (mu = L, the identity)."""


def corners(family: Family, with_eps: bool) -> Iterator[tuple[float, ...]]:
    """Points of the unit cube, shape (``family.size(with_eps)``,): the corners, then each knob alone at its ends."""
    knobs, eps = len(family.ranges), (HIGH,) if with_eps else ()
    for knob, tolerance, start in CORNERS:
        yield (*(knob,) * knobs, *((tolerance,) if with_eps else ()), *(start,) * family.dimension)
    for place in range(knobs):
        for end in (LOW, HIGH):
            mine = [MIDDLE] * knobs
            mine[place] = end
            yield (*mine, *eps, *(HIGH,) * family.dimension)
