"""Letters given by hand: what is certainly not true of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bilevel_verify.constants.bound.constant import safe_decimal
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods.run import Run
from bilevel_verify.numbers import exact
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolve import Resolved
from bilevel_verify.theorems.letters.resolved import scalar_of


@dataclass(frozen=True, slots=True)
class ByHand:
    """What is to be said of letters given by hand.

    Attributes
    ----------
    false : why a constant or a size of the problem is certainly not what was given.
    truths : name -> the truth that it stands for (``delta``, ``delta_lam``, ``norm_y_star``) and the number given.
    """

    false: tuple[str, ...] = ()
    leaves: Leaves | None = None
    truths: Mapping[str, tuple[str, Any]] = field(default_factory=dict)

    def shown_false(self, run: Run, resolved: Resolved) -> Iterator[str]:
        """Truths that the two ends of the run show to be too small.

        The truth itself is a global minimum, which may take longer than the run; the points of the run cost nothing
        and bound it from below.
        """
        for name, (truth, value) in self.truths.items():
            try:
                bound = self._at_least(truth, run, resolved)
            except (BilevelVerifyError, KeyError):
                continue
            if exact.ends(scalar_of(value)[0])[1] < bound:
                shown = safe_decimal(bound, 10, True).normalize()
                yield f"{name} = {value} is too small for this problem: {name} >= {shown:.10g}"

    def _at_least(self, name: str, run: Run, resolved: Resolved) -> float:
        """A certified lower bound of a truth from the start and the output; minus infinity where there is none."""
        leaves = self.leaves
        if leaves is None or leaves.x0 is None:
            return -math.inf
        if name == "norm_y_star":
            found = leaves.of_the_problem(LetterSpec(name, source="truth"), {})
            return float(found.lower) if found.certainty in SAFE else -math.inf
        if name not in ("delta", "Delta", "delta_lam") or not _inside(leaves.problem, run.x):
            return -math.inf
        if name == "delta_lam":
            lam = resolved.letters["lam"].value
            ends = [leaves.truth.L_star(point, lam) for point in (leaves.x0, run.x)]
        else:
            ends = [leaves.truth.phi(point) for point in (leaves.x0, run.x)]
        if any(end.certainty not in SAFE for end in ends):
            return -math.inf
        return math.nextafter(float(ends[0].lower) - float(ends[1].upper), -math.inf)


SAFE = ("proved", "certified")


def _inside(problem: Problem, x: np.ndarray) -> bool:
    """Whether a point lies in the declared box of the upper level, over which the infimum is taken."""
    ranges = [problem.range_of(symbol) for symbol in problem.x]
    return all(float(low) <= value <= float(high) for (low, high), value in zip(ranges, x, strict=True))
