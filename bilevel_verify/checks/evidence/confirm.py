"""Before a refutation along a trajectory is said: the same run in 50 digits must refute too, or it may hold there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.checks.claims.claims import Judged, judge_claims
from bilevel_verify.checks.claims.decide import Tally
from bilevel_verify.checks.claims.facts import reads_iterates, rests_on_the_end
from bilevel_verify.checks.claims.growth import stays_violated
from bilevel_verify.checks.evidence.drift import DIGITS, DRIFT, MOST_CALLS, NO_RUN, drift, is_settled
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

HIGH_BITS = 512
SHORT = 100_000
"""Oracle calls of a run that is repeated as a whole to show that rounding breaks a relation (some 4 seconds)."""
VISIBLE = 1e-15
"""Relative violation below which the run in 50 digits shows an equality, not a counterexample."""
MET = 1e-30
"""Relative margin above which the run in 50 digits shows that a relation is met, whatever its rounding."""
FADES = 1e-6
"""A violation that shrinks by this factor from 16 to 50 digits fades with the rounding errors."""


def confirmed(case: Case, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """``refuted`` if the multi-precision run refutes the same relation; ``holds`` if it is rounding that breaks it.

    Rounding does if the whole run in many digits meets the relation at every place; ``judged`` then has its places.
    Anything else is ``undecided``.
    """
    if case.digits is not None:
        return _in_digits(case, case.digits, judged, reason)
    asked = _iterations(case, judged)
    try:
        found, run = _judged_again(case, judged, asked)
        if asked is not None and run.status not in ENDED and _may_hold(case, found.tally):
            found, run = _judged_again(case, judged, None)
    except NO_RUN as error:
        if callable(case.request.method):
            return _beyond_rounding(case, judged, reason, error)
        kind = type(error).__name__
        return "undecided", f"precision: {reason} in float64; the run in {DIGITS} digits is not available ({kind})"
    tally, cut = found.tally, run.status not in ENDED
    broken = tally.outcome()[0] == "refuted"
    open_end = cut and rests_on_the_end(judged.claim) and not (broken and stays_violated(found))
    if open_end or (not broken and sum(run.counts.values()) >= MOST_CALLS):
        return "undecided", f"budget: {reason} in float64; the run in {DIGITS} digits is too long"
    if not broken and not cut and _may_hold(case, tally) and drift(case.run, run) <= DRIFT:
        judged.tally.become(tally)
        return "holds", f"in {DIGITS} digits; {reason} in float64, by rounding"
    if not broken:
        return "undecided", f"precision: {reason} in float64, but not in {DIGITS} digits"
    if _is_rounding(judged.tally, tally, reads_iterates(judged.claim)):
        return "undecided", f"tie: the sides agree up to the rounding of the run, in float64 and in {DIGITS} digits"
    rounds = _rounds(case, run, DIGITS) if callable(case.request.method) else ""
    if rounds:
        return "undecided", f"precision: {reason}; the solver may round in {DIGITS} digits, too: {rounds}"
    if drift(case.run, run) > DRIFT and not is_settled(case, run, asked):
        return "undecided", f"precision: {reason} in {DIGITS} digits, too, and rounding decides where the iterates are"
    return "refuted", f"{reason}; confirmed in {DIGITS} digits"


def met_elsewhere(case: Case, judged: Judged) -> tuple[Verdict, str]:
    """The word on a relation that a run in floats meets which rounding has led elsewhere: that of exact arithmetic.

    ``holds`` if the run in many digits meets it too, and twice as many digits leave its iterates where they are.
    """
    try:
        found, run = _judged_again(case, judged, None)
        if run.status in ENDED and _may_hold(case, found.tally) and is_settled(case, run, None):
            judged.tally.become(found.tally)
            return "holds", f"in {DIGITS} digits; in float64, too, where rounding moves the iterates"
    except NO_RUN:
        pass
    return "undecided", "precision: it holds in float64, where rounding decides where the iterates are"


def _judged_again(case: Case, judged: Judged, iterations: int | None) -> tuple[Judged, Run]:
    """The relation on the run in many digits, or on its first iterations, and that run."""
    with precision(HIGH_BITS):
        trajectory = rerun(case, DIGITS, MOST_CALLS, iterations)
        lam = getattr(case.functions, "lam", None)
        functions: Any = functions_of(case.problem, case.instance.truth, lam)
        again = replace(case, run=trajectory.run, trajectory=trajectory, functions=functions)
        cut = trajectory.run.status not in ENDED
        found = judge_claims([judged.claim], again.evaluator, trajectory, functions.forget, cut)
    return found[judged.number], trajectory.run


def _may_hold(case: Case, fine: Tally) -> bool:
    """Whether a run in many digits that meets a relation may say so.

    Not for a solver of the user, whose float64 is what is looked at; nor where conditions were met, or constants
    certified, along the run in float64 alone; nor where the run is long.
    """
    if fine.outcome()[0] != "holds" or callable(case.request.method) or case.instance.local or case.run is None:
        return False
    if fine.tightest is None or not fine.tightest.margin > MET:
        return False  # the run in many digits rounds, too: sides this near to each other are equal
    return not any(premise.along for premise in case.premises) and sum(case.run.counts.values()) <= SHORT


def _rounds(case: Case, found: Run, digits: int) -> str:
    """Why the run of a solver of the user in many digits may have rounded as its first one did; empty if it did not.

    It carries many digits if what no float resolves in the answers of its oracles (in its start, if it asks none) moves
    each of its iterates. How coarsely one rounds that does not move, nobody knows.
    """
    what = "answers" if any(found.counts.values()) else "start"
    try:
        other = run_of(case, digits=digits, record="all", budget={"calls": MOST_CALLS}, disturbed=what)
    except NO_RUN as error:
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


def _in_digits(case: Case, digits: int, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """A run that was made in many digits from the start needs no other one; a solver of the user may round in it."""
    if not is_visible(judged.tally, reads_iterates(judged.claim)):
        return "undecided", f"tie: the sides agree up to the rounding of the run, in {digits} digits"
    rounds = _rounds(case, case.run, digits) if callable(case.request.method) and case.run is not None else ""
    if rounds:
        return "undecided", f"precision: {reason}; the solver may round in {digits} digits, too: {rounds}"
    return "refuted", f"{reason}, in {digits} digits"


def is_visible(fine: Tally, rounded: bool = True) -> bool:
    """Whether a run in many digits shows a violation that is more than its own rounding.

    Exact sides have no rounding errors, unless they are made of iterates (``rounded``): those were rounded by the run.
    """
    worst = fine.worst
    return worst is not None and ((worst.certainty == "proved" and not rounded) or worst.margin < -VISIBLE)


def _iterations(case: Case, judged: Judged) -> int | None:
    """How far the run must be repeated to show the first violation; None for all of it."""
    epoch = judged.tally.first_epoch
    if judged.claim.over not in ("step", "epoch") or epoch is None or case.trajectory is None:
        return None
    needed = 2 + sum(case.trajectory.k_end(t) for t in case.trajectory.epochs if t <= epoch)
    return int(2 ** math.ceil(math.log2(needed)))  # rounded up, so that claims share their runs


def _is_rounding(rough: Tally, fine: Tally, rounded: bool = True) -> bool:
    """Whether a violation is made of rounding errors: two sides that are equal differ in the last digits of any run."""
    if fine.worst is None or rough.first is None or not is_visible(fine, rounded):
        return True
    return (rounded or fine.worst.certainty != "proved") and fine.worst.gap < FADES * rough.first.gap
