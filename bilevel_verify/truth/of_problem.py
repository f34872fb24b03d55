"""The truth about a problem, by its kind, and the one that everybody in this process shares."""

from __future__ import annotations

from collections import OrderedDict

from bilevel_verify.errors import ParameterError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.constrained.constrained_truth import ConstrainedTruth
from bilevel_verify.truth.lower_level.points import DEFAULT_BITS
from bilevel_verify.truth.truth import Truth

MOST_DIGITS = 100_000


def truth(problem: Problem, digits: int | None = None) -> Truth:
    """Truth about a problem: :class:`Truth`.

    Parameters
    ----------
    problem : the problem.
    digits : working precision of single points in decimal digits (default about 48); results are float64 either way,
        :meth:`Truth.with_digits` returns more digits.
    """
    if digits is not None and not 1 <= digits <= MOST_DIGITS:
        raise ParameterError(f"digits must be between 1 and {MOST_DIGITS}, not {digits}")
    bits = DEFAULT_BITS if digits is None else max(DEFAULT_BITS, int(digits * 3.33) + 32)
    if problem.kind == "constrained_bilevel":
        return ConstrainedTruth(problem, bits)
    return Truth(problem, bits)


TRUTHS_KEPT = 32
_KEPT: OrderedDict[str, Truth] = OrderedDict()


def shared_truth(problem: Problem) -> Truth:
    """The truth that all who ask about a problem share, kept by content: what one of them found, none computes again.

    Its ``problem`` may be another one of the same content (name and suggested start do not count).
    """
    key = problem.content_hash()
    if key not in _KEPT:
        _KEPT[key] = truth(problem)
        if len(_KEPT) > TRUTHS_KEPT:
            _KEPT.popitem(last=False)
    _KEPT.move_to_end(key)
    return _KEPT[key]
