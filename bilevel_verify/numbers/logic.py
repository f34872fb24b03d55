"""Three-valued logic: True, False, or None where enclosures do not decide; and its form for batches.

A batch of answers is a pair of arrays (surely true, surely false), both False where nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Answer: TypeAlias = "bool | None"
"""True, False, or None where the enclosures do not decide."""
Answers: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Arrays of booleans: surely true, surely false."""


def opposite(answer: Answer) -> Answer:
    """Three-valued ``not``."""
    return None if answer is None else not answer


def conjunction(answers: Iterable[Answer]) -> Answer:
    """Three-valued ``and``; what follows a False is not looked at."""
    known: Answer = True
    for answer in answers:
        if answer is False:
            return False
        known = None if answer is None else known
    return known


def disjunction(answers: Iterable[Answer]) -> Answer:
    """Three-valued ``or``; what follows a True is not looked at."""
    return opposite(conjunction(opposite(answer) for answer in answers))


def logical(op: str, answers: Iterable[Answer]) -> Answer:
    """``and``, ``or``, ``not`` of answers, or the constants ``true`` and ``false``."""
    match op:
        case "and":
            return conjunction(answers)
        case "or":
            return disjunction(answers)
        case "not":
            return opposite(next(iter(answers)))
    return op == "true"


def logical_batch(op: str, answers: Iterable[Answers]) -> Answers:
    """The same for batches of answers."""
    answers = list(answers)
    match op:
        case "not":
            return answers[0][1], answers[0][0]
        case "and":
            return _all(yes for yes, _ in answers), _any(no for _, no in answers)
        case "or":
            return _any(yes for yes, _ in answers), _all(no for _, no in answers)
    return np.asarray(op == "true"), np.asarray(op == "false")


def _all(parts: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.logical_and.reduce(np.broadcast_arrays(*parts))
    return found


def _any(parts: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.logical_or.reduce(np.broadcast_arrays(*parts))
    return found
