"""Before a refutation along a trajectory is said: the same run in 50 digits must refute too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bilevel_verify.checks.claims import Judged, judge_claims
from bilevel_verify.checks.decide import Tally
from bilevel_verify.checks.runs import rerun
from bilevel_verify.checks.simple import functions_of
from bilevel_verify.checks.verdict import Verdict
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods.run import ENDED
from bilevel_verify.theorems import exact

if TYPE_CHECKING:
    from bilevel_verify.checks.case import Case

DIGITS = 50
HIGH_BITS = 512
MOST_CALLS = 150_000
"""Oracle calls of a run in many digits (some 20 seconds)."""
VISIBLE = 1e-15
"""Relative violation below which the run in 50 digits shows an equality, not a counterexample."""
FADES = 1e-6
"""A violation that shrinks by this factor from 16 to 50 digits fades with the rounding errors."""


def confirmed(case: Case, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """``refuted`` if the multi-precision run refutes the same relation, ``undecided: precision`` otherwise."""
    if case.digits is not None:
        return _in_digits(case.digits, judged, reason)
    try:
        with exact.precision(HIGH_BITS):
            trajectory = rerun(case, DIGITS, MOST_CALLS, _iterations(case, judged))
            lam = getattr(case.functions, "lam", None)
            functions: Any = functions_of(case.problem, case.instance.truth, lam)
            again = replace(case, run=trajectory.run, trajectory=trajectory, functions=functions)
            cut = trajectory.run.status not in ENDED
            found = judge_claims([judged.claim], again.evaluator, trajectory, functions.forget, cut)
    except (BilevelVerifyError, NotImplementedError, TypeError, ArithmeticError, MemoryError) as error:
        kind = type(error).__name__
        return "undecided", f"precision: {reason} in float64; the run in {DIGITS} digits is not available ({kind})"
    tally = found[judged.number].tally
    if tally.outcome()[0] != "refuted" and sum(trajectory.run.counts.values()) >= MOST_CALLS:
        return "undecided", f"budget: {reason} in float64; the run in {DIGITS} digits is too long"
    if tally.outcome()[0] != "refuted":
        return "undecided", f"precision: {reason} in float64, but not in {DIGITS} digits"
    if _is_rounding(judged.tally, tally):
        return "undecided", f"tie: the sides agree up to the rounding of the run, in float64 and in {DIGITS} digits"
    return "refuted", f"{reason}; confirmed in {DIGITS} digits"


def _in_digits(digits: int, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """A run that was made in many digits from the start needs no other one."""
    worst = judged.tally.worst
    if worst is None or (worst.certainty != "proved" and worst.margin >= -VISIBLE):
        return "undecided", f"tie: the sides agree up to the rounding of the run, in {digits} digits"
    return "refuted", f"{reason}, in {digits} digits"


def _iterations(case: Case, judged: Judged) -> int | None:
    """How far the run must be repeated to show the first violation; None for all of it."""
    epoch = judged.tally.first_epoch
    if judged.claim.over not in ("step", "epoch") or epoch is None or case.trajectory is None:
        return None
    needed = 2 + sum(case.trajectory.k_end(t) for t in case.trajectory.epochs if t <= epoch)
    return int(2 ** math.ceil(math.log2(needed)))  # rounded up, so that claims share their runs


def _is_rounding(rough: Tally, fine: Tally) -> bool:
    """Whether a violation is made of rounding errors: two sides that are equal differ in the last digits of any run."""
    if fine.worst is None or rough.first is None:
        return True
    if fine.worst.certainty == "proved":  # both sides are exact rationals, counts for instance
        return False
    return fine.worst.margin >= -VISIBLE or fine.worst.gap < FADES * rough.first.gap
