"""Targets, and what they cost: the first calls after which a curve is at or below a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bilevel_verify.experiments.work import RunAnswer

Range = tuple[float, float]
"""Ends between which a number lies."""


def values(answer: RunAnswer | None, measure: str) -> list[float]:
    """The finite values of a measure along a run."""
    return [row[measure] for row in (answer.get("curve", []) if answer else ()) if row.get(measure) is not None]


def goals(said: Mapping[str, Any]) -> list[dict[str, float]]:
    """The targets of a size one by one, the hardest last."""
    ((kind, numbers),) = said.items()
    return [{kind: float(number)} for number in (numbers if isinstance(numbers, list) else [numbers])]


def words(goal: Mapping[str, float]) -> str:
    """A target as text."""
    if "value" in goal:
        return f"at most {goal['value']:g}"
    return f"{goal['fraction']:.4g} of the best decrease by any method on that seed"


def target_of(answers: Sequence[RunAnswer | None], measure: str, said: Mapping[str, object]) -> float | None:
    """The hardest target for runs on one instance: ``value``, or the first value less a ``fraction`` of the best
    decrease of all.

    None where nothing decreases.
    """
    goal = goals(said)[-1]
    if "value" in goal:
        return goal["value"]
    curves = [values(answer, measure) for answer in answers]
    firsts, lows = [c[0] for c in curves if c], [min(c) for c in curves if c]
    if not firsts or not min(lows) < max(firsts):
        return None
    return max(firsts) - goal["fraction"] * (max(firsts) - min(lows))


def diverged(answer: RunAnswer | None) -> bool:
    """Whether a run ended because its numbers left the range."""
    return answer is not None and answer.get("status") in ("diverged", "not finite")


def cost(answer: RunAnswer | None, measure: str, target: float | None) -> Range:
    """Oracle calls until the measure first is at or below the target: more than the first number, at most the second.

    Curves are measured here and there, so the crossing lies between two rows; without one the second is infinite, and
    the first too where the run diverged.
    """
    before = 0.0
    for row in answer.get("curve", []) if answer else ():
        if target is not None and row.get(measure) is not None and row[measure] <= target:
            return before, float(row["calls"])
        before = float(row["calls"])
    return (math.inf if diverged(answer) else before), math.inf
