"""Printed parameters below what float64 resolves: which they are, and the first iterations in many digits.

A perturbation of 1e-15 is lost when it is added to an iterate of size 1, and an accuracy of 1e-23 is never reached.
Such a run says nothing about its end (``undecided: precision``); its steps and epochs are judged over its first
iterations in as many digits as the parameters need.
"""

from __future__ import annotations

from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.checks.runs import rerun
from bilevel_verify.checks.trajectory import Trajectory

if TYPE_CHECKING:
    from bilevel_verify.checks.case import Case

RESOLVED = 64 * 2.0**-52
"""What is added to a number of size 1 keeps at least six of its bits."""
ITERATIONS = 128
"""Iterations in many digits (the requirement is 100)."""
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


def first_iterations(case: Case) -> tuple[Trajectory, int]:
    """The first iterations of the run in many digits, and how many digits they have.

    Raises
    ------
    BilevelVerifyError, NotImplementedError, TypeError : the method has no multi-precision form.
    """
    digits = digits_for(case)
    return rerun(case, digits, MOST_CALLS, ITERATIONS), digits
