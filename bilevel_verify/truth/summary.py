"""The truth about a problem as rows of a table, for reports and the command line; as far as the time given lasts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bilevel_verify.errors import BilevelVerifyError, MathematicalError
from bilevel_verify.time_limit import TimeLimit, TimeOver, checked_seconds, keeping, time_limit
from bilevel_verify.truth.arithmetic.enclosure import Enclosure, between, weakest
from bilevel_verify.truth.infimum import infimum
from bilevel_verify.truth.minimum.minimum import Minimum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilevel_verify.problems.problem import Problem
    from bilevel_verify.truth.arithmetic.enclosure import Certainty
    from bilevel_verify.truth.functions.model import Model
    from bilevel_verify.truth.lower_level.points import Points


class Truth(Protocol):
    """What a summary asks of the truth of a problem, beside the quantities by their names."""

    problem: Problem

    @property
    def model(self) -> Model: ...

    @property
    def points(self) -> Points: ...

    @property
    def certainty(self) -> Certainty: ...

    @property
    def minimum(self) -> Minimum: ...

    @property
    def range_of_x(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def phi(self, x: ArrayLike) -> Enclosure: ...


Row = dict[str, object]
GRACE = 2.0
"""Seconds in which a search that was broken off tells what it has."""


def summary_row(name: str, compute: Callable[[], Enclosure], limit: TimeLimit | None = None) -> Row:
    """A row ``quantity value error certainty method attained``; a failure is a row with its reason.

    Parameters
    ----------
    limit : of the time; what it breaks off is a row that says so.
    """
    limit = TimeLimit() if limit is None else limit
    try:
        with limit.broken_off():
            found = compute()
    except BilevelVerifyError as problem:
        return _without_value(name, str(problem))
    except TimeOver as over:
        return _without_value(name, _ended(limit, over))
    value = found.value.tolist() if isinstance(found.value, np.ndarray) else float(found.value)
    return {
        "quantity": name, "value": value, "error": float(found.error), "certainty": found.certainty,
        "method": found.method, "attained": found.attained,
    }  # fmt: skip


def _without_value(name: str, why: str) -> Row:
    return {"quantity": name, "value": None, "error": None, "certainty": None, "method": why, "attained": None}


def _ended(limit: TimeLimit, over: TimeOver) -> str:
    return f"not computed before {limit.ended}" + (f"; {over}" if str(over) else "")


def summary_in_time(truth: Truth, at: ArrayLike | None, seconds: float | None) -> list[Row]:
    """Rows at a point (the best one found where there is none), as :meth:`Truth.summary` says."""
    with time_limit(checked_seconds(seconds), GRACE) as limit:
        if truth.problem.kind == "simple_bilevel":
            names = ("f_star", "g_star", "x_star")
            return [summary_row(name, partial(getattr, truth, name), limit) for name in names]
        return _with_infimum(truth, at, limit)


def _with_infimum(truth: Truth, at: ArrayLike | None, limit: TimeLimit) -> list[Row]:
    """A point that is given comes first: the search of the infimum takes what is left of the time."""
    names = ["phi", "grad_phi", "hess_phi", "lambda_min_hess_phi"]
    names = names if truth.model.lower is None else ["y_star", "grad_y_star", *names]
    found: list[Minimum] = []

    def least() -> Enclosure:
        if not found:
            found.append(_least(truth, limit))
        return found[0].enclosure(truth.certainty)

    def rows(point: ArrayLike) -> list[Row]:
        return [summary_row(name, partial(getattr(truth, name), point), limit) for name in names]

    before = [] if at is None else rows(at)
    first = summary_row("phi_min", least, limit)
    if at is None:
        at = found[0].x if found and np.all(np.isfinite(found[0].x)) else np.zeros(truth.model.dx)
        before = rows(at)
    left = TimeLimit() if found else limit  # of an infimum that is known a subtraction
    return [first, *before, summary_row("delta", lambda: above(least(), truth.phi, at), left)]


def least_in_time(truth: Truth, seconds: float) -> Enclosure:
    """The infimum of phi, or what the search has when the time is over.

    Raises
    ------
    MathematicalError : there is no bound, for want of time or at all.
    """
    with time_limit(checked_seconds(seconds), GRACE) as limit:
        try:
            with limit.broken_off():
                return _least(truth, limit).enclosure(truth.certainty)
        except TimeOver as over:
            raise MathematicalError(f"inf phi: {_ended(limit, over)}") from None


def _least(truth: Truth, limit: TimeLimit) -> Minimum:
    """The infimum; a search that is not finished is kept by nobody."""
    if limit.seconds is None or "minimum" in truth.__dict__:
        return truth.minimum
    with keeping("search"):
        found = infimum(truth.problem, truth.points, *truth.range_of_x)
    if not limit.over:
        truth.__dict__["minimum"] = found
    return found


def above(least: Enclosure, phi: Callable[[ArrayLike], Enclosure], x0: ArrayLike) -> Enclosure:
    """``phi(x0)`` minus an infimum."""
    if np.isinf(float(least.value)):
        return Enclosure(np.inf, 0.0, least.certainty, "phi is not bounded below")
    start = phi(x0)
    low = max(0.0, float(np.nextafter(start.lower - least.upper, -np.inf)))
    high = float(np.nextafter(start.upper - least.lower, np.inf))
    certainty = weakest(start.certainty, least.certainty)
    return between(low, high, certainty, f"phi(x0) minus the infimum ({least.method})")
