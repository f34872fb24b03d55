"""Before a refutation along a trajectory is said: the same run in 50 digits must refute too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bilevel_verify.checks.claims import Judged, judge_claims
from bilevel_verify.checks.functions import ProblemFunctions
from bilevel_verify.checks.verdict import Verdict
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.theorems import exact

if TYPE_CHECKING:
    from bilevel_verify.checks.engine import Case

DIGITS = 50
HIGH_BITS = 512
VISIBLE = 1e-15
"""Relative violation below which the run in 50 digits shows an equality, not a counterexample."""


def confirmed(case: Case, judged: Judged, reason: str) -> tuple[Verdict, str]:
    """``refuted`` if the multi-precision run refutes the same relation, ``undecided: precision`` otherwise."""
    from bilevel_verify.checks.engine import rerun

    try:
        with exact.precision(HIGH_BITS):
            trajectory = rerun(case, DIGITS)
            lam = case.functions.lam if case.functions is not None else None
            functions = ProblemFunctions(case.problem, case.instance.truth, lam)
            again = replace(case, run=trajectory.run, trajectory=trajectory, functions=functions)
            cut = trajectory.run.status not in ("finished", "stationary")
            found = judge_claims([judged.claim], again.evaluator, trajectory, functions.forget, cut)
    except (BilevelVerifyError, NotImplementedError, TypeError, ArithmeticError, MemoryError) as error:
        kind = type(error).__name__
        return "undecided", f"precision: {reason} in float64; the run in {DIGITS} digits is not available ({kind})"
    tally = found[judged.number].tally
    verdict, _ = tally.outcome()
    # two sides that agree in exact arithmetic still differ in the last of 50 digits: that is no counterexample
    if verdict == "refuted" and tally.worst is not None and tally.worst.margin < -VISIBLE:
        return "refuted", f"{reason}; confirmed in {DIGITS} digits"
    return "undecided", f"precision: {reason} in float64, but not in {DIGITS} digits"
