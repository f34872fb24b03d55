"""Printed parameters below what float64 resolves: which they are, and the first iterations in many digits.

A perturbation of 1e-15 is lost when it is added to an iterate of size 1, and an accuracy of 1e-23 is never reached.
Such a run says nothing about its end (``undecided: precision``); its steps and epochs are judged over its first
iterations in as many digits as the parameters need. A run whose first iterations see no restart is made to its end in
those digits if it is short enough: then it is judged like any other.
"""

from __future__ import annotations

from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.evidence import drift
from bilevel_verify.checks.evidence.runs import rerun
from bilevel_verify.methods.run import ENDED

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

RESOLVED = 64 * 2.0**-52
"""What is added to a number of size 1 keeps at least six of its bits."""
ITERATIONS = 128
"""Iterations in many digits (the requirement is 100)."""
SOME_EPOCHS = 8
"""Iterations where only the growth of what an epoch costs is asked for."""
MOST_CALLS = 400_000
LEAST_DIGITS = 50
SPARE_DIGITS = 35
BITS_OF_A_DIGIT = 4
RADIUS, ACCURACY, BOUND = "r", "sigma", "C"
"""Letters: radius of perturbations, allowed error of a gradient, bound of the gradients."""


def unresolved(case: Case) -> str:
    """Why float64 does not show what the printed parameters do; empty where it does.

    A radius of perturbations is compared with the size of the start, an accuracy of gradients with the bound C of the
    gradients (both where the card has them). Numbers that the user gave are the user's own.
    """
    if callable(case.request.method):
        return ""
    letters = case.resolved.letters
    radius = letters.get(RADIUS)
    size = float(np.max(np.abs(case.instance.start), initial=0.0))
    if radius is not None and radius.source != "explicit" and radius.value < RESOLVED * size:
        return f"{RADIUS} = {radius.value:.3g} is less than float64 resolves beside iterates of size {size:.3g}"
    accuracy, bound = letters.get(ACCURACY), letters.get(BOUND)
    if accuracy is None or bound is None or accuracy.source == "explicit":
        return ""
    if accuracy.value < RESOLVED * bound.value:
        return (
            f"{ACCURACY} = {accuracy.value:.3g} is less than float64 resolves beside gradients up to {bound.value:.3g}"
        )
    return ""


def digits_for(case: Case) -> int:
    """Digits in which the smallest of the printed radii and accuracies keeps ``SPARE_DIGITS`` of its own."""
    letters = case.resolved.letters
    smallest = [letters[n].value for n in (RADIUS, ACCURACY) if n in letters and letters[n].value > 0]
    return max(LEAST_DIGITS, SPARE_DIGITS + ceil(-log10(min(smallest, default=1.0))))


def in_many_digits(case: Case, iterations: int) -> RecordedRun:
    """The first iterations of the run in ``case.digits`` digits; all of it where it is short and either these see no
    restart or the user asks for as many digits.

    ``case.whole`` says which of the two.

    Raises
    ------
    BilevelVerifyError, NotImplementedError, TypeError : the method has no multi-precision form.
    """
    case.digits = digits_for(case)
    first = rerun(case, case.digits, MOST_CALLS, iterations)
    asked = (case.request.options.get("digits") or 0) >= case.digits
    if iterations == ITERATIONS and (asked or len(first.epochs) == 1):
        found = first if first.run.status in ENDED else rerun(case, case.digits, drift.MOST_CALLS)
        if found.run.status in ENDED and not found.thinned:
            case.whole = True
            return found
    return first
