"""Does rounding decide where the iterates of a run are? Theorems speak of exact arithmetic.

Errors that grow from pass to pass as far as to move iterates altogether leave a run in floats that satisfies a relation
by chance, as one that breaks it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.checks.evidence.runs import key_of, rerun, run_from
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods.run import ENDED, Run

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

DIGITS = 50
MOST_CALLS = 150_000
"""Oracle calls of a run in many digits (some 5 seconds)."""
DRIFT = 1e-6
"""Relative distance between two runs above which rounding does not disturb the points of the rougher one, it decides
where they are."""
MOVED = 1e-13
"""How far a start is moved, relative to its size: some hundreds of rounding errors."""
NO_RUN = (BilevelVerifyError, NotImplementedError, TypeError, ArithmeticError, MemoryError)
_CARRIED: dict[str, tuple[bool, bool]] = {}


def drift(one: Run | None, other: Run) -> float:
    """Largest distance between entries of the same names and indices of two runs, relative to their size."""
    if one is None:
        return math.inf
    rows = {index: row for row, index in enumerate(zip(one.trace.epoch, one.trace.k))}
    pairs = [(rows[index], row) for row, index in enumerate(zip(other.trace.epoch, other.trace.k)) if index in rows]
    largest = 0.0
    for name, values in other.trace.sequences.items():
        known = one.trace.sequences.get(name)
        if known is None:
            continue
        for mine, row in pairs:
            with np.errstate(all="ignore"):  # entries that a method does not define, or that overflowed
                gaps = np.abs(np.asarray(known[mine] - values[row], dtype=np.float64))
            sizes = 1.0 + np.abs(np.asarray(values[row], dtype=np.float64))
            largest = max(largest, float(np.max((gaps / sizes)[np.isfinite(gaps)], initial=0.0)))
    return largest


def is_settled(case: Case, run: Run, iterations: int | None) -> bool:
    """Whether twice as many digits leave the iterates of a run in many digits where they are.

    Rounding errors that grow from pass to pass as far as to move the iterates of a run in float64 altogether may do so
    to those of a run in 50 digits, only later.
    """
    try:
        return drift(run, rerun(case, 2 * DIGITS, MOST_CALLS, iterations).run) <= DRIFT
    except NO_RUN:
        return False


def is_carried(case: Case, iterates: bool) -> bool:
    """Whether a run in floats is where exact arithmetic has it, to ``DRIFT``; without ``iterates``: as long as that.

    A start that is moved by some hundreds of rounding errors is tried first, in floats; only where that moves the run
    its repetition in many digits is asked. A run that nobody can repeat so is not known to be anywhere.
    """
    key = key_of(case)
    found = _CARRIED.get(key)
    if found is None:
        found = _CARRIED[key] = _compared(case)
    return found[0] if iterates else found[1]


def _compared(case: Case) -> tuple[bool, bool]:
    """Whether the iterates of the run of a case stay where they are, and whether it stays as long as it is."""
    assert case.run is not None
    found = _moved(case, MOVED) or _moved(case, -MOVED) or (False, False)
    if found[0]:
        return True, True
    try:
        fine = rerun(case, DIGITS, MOST_CALLS).run
    except NO_RUN:
        return False, False
    if fine.status not in ENDED:
        return False, False
    there, as_long = _alike(case.run, fine)
    return there, there or (as_long and found[1])  # of runs that part, three that are as long as each other


def _moved(case: Case, share: float) -> tuple[bool, bool] | None:
    """The same of the run in floats from a start that is moved; None where there is none (the edge of a set)."""
    assert case.run is not None
    start = case.instance.start
    try:
        return _alike(case.run, run_from(case, start + share * (1 + np.abs(start))))
    except NO_RUN:
        return None


def _alike(one: Run, other: Run) -> tuple[bool, bool]:
    length = (one.status, dict(one.counts), one.iterations, one.epochs)
    alike = length == (other.status, dict(other.counts), other.iterations, other.epochs)
    return drift(one, other) <= DRIFT, alike
