"""A toy for the controls of the driver: five functions of the kind that it mutates."""

from __future__ import annotations

import math


def up(value: float) -> float:
    """The next float above."""
    return math.nextafter(value, math.inf)


def hull(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Smallest pair of ends around two."""
    return min(a[0], b[0]), max(a[1], b[1])


def above(a: float, b: float) -> float:
    """A float that is not below the sum."""
    return up(a + b)


def decide(low: float, high: float, bound: float) -> bool | None:
    """Whether something between two ends is at most a bound; None if the ends do not say."""
    if math.isnan(low):
        return None
    if high <= bound:
        return True
    return False if low > bound else None


def halvings(number: int) -> int:
    """How often a positive integer can be halved."""
    steps = 0
    while number > 1:
        number //= 2
        steps += 1
    return steps


def verdict(answers: list[bool | None]) -> str:
    """The verdict over several answers.

    Raises
    ------
    ValueError : there are none.
    """
    if not answers:
        raise ValueError("no answers")
    if any(answer is False for answer in answers):
        return "refuted"
    return "holds" if all(answers) else "undecided"
