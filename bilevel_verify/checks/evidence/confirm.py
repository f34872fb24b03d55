"""Before a refutation along a trajectory is said: the same run in 50 digits must refute too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.checks.claims.claims import Judged, judge_claims
from bilevel_verify.checks.claims.decide import Tally
from bilevel_verify.checks.claims.facts import rests_on_the_end
from bilevel_verify.checks.claims.growth import stays_violated
from bilevel_verify.checks.evidence.runs import rerun, run_of
from bilevel_verify.checks.instances.simple import functions_of
from bilevel_verify.checks.solvers.coarseness import share_of
from bilevel_verify.checks.verdicts.verdict import Verdict
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods.run import ENDED, Run
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.truth.arithmetic.enclosure import weakest

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

DIGITS = 50
HIGH_BITS = 512
MOST_CALLS = 150_000
"""Oracle calls of a run in many digits (some 20 seconds)."""
VISIBLE = 1e-15
"""Relative violation below which the run in 50 digits shows an equality, not a counterexample."""
EXACT = 1e-30
"""The same of a violation between exact numbers, made of points in many digits."""
FADES = 1e-6
"""A violation that shrinks by this factor from 16 to 50 digits fades with the rounding errors."""


def confirmed(case: Case, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """``refuted`` if the multi-precision run refutes the same relation, ``undecided: precision`` otherwise."""
    if case.digits is not None:
        return _in_digits(case.digits, judged, reason)
    try:
        with precision(HIGH_BITS):
            trajectory = rerun(case, DIGITS, MOST_CALLS, _iterations(case, judged))
            lam = getattr(case.functions, "lam", None)
            functions: Any = functions_of(case.problem, case.instance.truth, lam)
            again = replace(case, run=trajectory.run, trajectory=trajectory, functions=functions)
            cut = trajectory.run.status not in ENDED
            found = judge_claims([judged.claim], again.evaluator, trajectory, functions.forget, cut)
    except (BilevelVerifyError, NotImplementedError, TypeError, ArithmeticError, MemoryError) as error:
        if callable(case.request.method):
            return _beyond_rounding(case, judged, reason, error)
        kind = type(error).__name__
        return "undecided", f"precision: {reason} in float64; the run in {DIGITS} digits is not available ({kind})"
    tally = found[judged.number].tally
    broken = tally.outcome()[0] == "refuted"
    open_end = cut and rests_on_the_end(judged.claim) and not (broken and stays_violated(found[judged.number]))
    if open_end or (not broken and sum(trajectory.run.counts.values()) >= MOST_CALLS):
        return "undecided", f"budget: {reason} in float64; the run in {DIGITS} digits is too long"
    if not broken:
        return "undecided", f"precision: {reason} in float64, but not in {DIGITS} digits"
    if _is_rounding(judged.tally, tally):
        return "undecided", f"tie: the sides agree up to the rounding of the run, in float64 and in {DIGITS} digits"
    rounds = _rounds(case, trajectory.run) if callable(case.request.method) else ""
    if rounds:
        return "undecided", f"precision: {reason}; the solver may round in {DIGITS} digits, too: {rounds}"
    return "refuted", f"{reason}; confirmed in {DIGITS} digits"


def _rounds(case: Case, found: Run) -> str:
    """Why the second run of a solver of the user may have rounded as its first one did; empty if it did not.

    It carries many digits if what no float resolves in the answers of its oracles (in its start, if it asks none) moves
    each of its iterates. How coarsely one rounds that does not move, nobody knows.
    """
    what = "answers" if any(found.counts.values()) else "start"
    try:
        other = run_of(case, digits=DIGITS, record="all", budget={"calls": MOST_CALLS}, disturbed=what)
    except (BilevelVerifyError, NotImplementedError, TypeError, ArithmeticError, MemoryError) as error:
        return f"it does not run with other {what} ({error})"
    rows, moved = np.asarray(found.trace.x), np.asarray(other.trace.x)
    if any(bool(np.all(a == b)) for a, b in zip(rows[1:], moved[1:])):
        return f"what no float resolves in its {what} does not move all of its iterates"
    return ""


def _beyond_rounding(case: Case, judged: Judged, reason: str, error: Exception) -> tuple[Verdict, str]:
    """The word on a solver of the user that does not compute in many digits: its recorded points, each a ball.

    Every point is taken to be known only up to what rounding in the solver's own precision may have moved it
    (:func:`share_of`); what is still violated for certain is refuted, ``computed``.
    """
    again = f"the solver was not run again in {DIGITS} digits ({error})"
    try:
        with precision(HIGH_BITS):
            assert case.trajectory is not None
            share = share_of(case.trajectory.run)
            blurred = case.trajectory.blurred(share)
            functions: Any = functions_of(case.problem, case.instance.truth, getattr(case.functions, "lam", None))
            there = replace(case, trajectory=blurred, functions=functions)
            cut = blurred.run.status not in ENDED
            found = judge_claims([judged.claim], there.evaluator, blurred, functions.forget, cut)[judged.number]
    except (BilevelVerifyError, ArithmeticError) as trouble:
        return "undecided", f"precision: {reason} in float64; {again}, and its points decide nothing ({trouble})"
    if found.tally.outcome()[0] != "refuted":
        room = f"rounding errors may explain the break (up to {share:.1g} of the size of the run)"
        return "undecided", f"precision: {reason} in float64; {again}, and {room}"
    judged.tally.certainty = weakest(judged.tally.certainty, "computed")
    return "refuted", f"{reason}, beyond every rounding error of the recorded points; {again}"


def _in_digits(digits: int, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """A run that was made in many digits from the start needs no other one."""
    if not is_visible(judged.tally):
        return "undecided", f"tie: the sides agree up to the rounding of the run, in {digits} digits"
    return "refuted", f"{reason}, in {digits} digits"


def is_visible(fine: Tally) -> bool:
    """Whether a run in many digits shows a violation that is more than its own rounding.

    Sides that are exact rationals have none of their own, but the points that they are made of do. Two that are one
    number, where one should be less, are exact (counts are).
    """
    worst = fine.worst
    if worst is None or worst.certainty != "proved":
        return worst is not None and worst.margin < -VISIBLE
    return worst.gap == 0 or worst.gap > EXACT * max(abs(worst.measured), abs(worst.bound))


def _iterations(case: Case, judged: Judged) -> int | None:
    """How far the run must be repeated to show the first violation; None for all of it."""
    epoch = judged.tally.first_epoch
    if judged.claim.over not in ("step", "epoch") or epoch is None or case.trajectory is None:
        return None
    needed = 2 + sum(case.trajectory.k_end(t) for t in case.trajectory.epochs if t <= epoch)
    return int(2 ** math.ceil(math.log2(needed)))  # rounded up, so that claims share their runs


def _is_rounding(rough: Tally, fine: Tally) -> bool:
    """Whether a violation is made of rounding errors: two sides that are equal differ in the last digits of any run."""
    if fine.worst is None or rough.first is None or not is_visible(fine):
        return True
    return fine.worst.gap < FADES * rough.first.gap
