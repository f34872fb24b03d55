"""The truth about a problem as rows of a table, for reports and the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

if TYPE_CHECKING:
    from bilevel_verify.truth.truth import Truth


def summary_of(truth: Truth, x: ArrayLike | None = None) -> list[dict[str, Any]]:
    """Rows ``quantity value error certainty method attained``; a failure is a row with its reason.

    Parameters
    ----------
    truth : of any kind of problem.
    x : where to evaluate the point quantities; the problem's start, or the best point found, if omitted.
    """
    if truth.problem.kind == "simple_bilevel":
        return [_row(name, lambda name=name: getattr(truth, name)) for name in ("f_star", "g_star", "x_star")]  # type: ignore[misc]
    at = x if x is not None else truth.problem.start
    if truth.problem.kind == "constrained_bilevel":
        where = np.zeros(truth.model.dx) if at is None else at
        names = ["y_star", "phi", "grad_y_star", "grad_phi", "hess_phi", "lambda_min_hess_phi"]
        return [_row(name, lambda name=name: getattr(truth, name)(where)) for name in names]  # type: ignore[misc]
    rows = [_row("phi_min", truth.phi_min)]
    if at is None:
        at = truth.phi_argmin() if np.all(np.isfinite(truth.minimum.x)) else np.zeros(truth.model.dx)
    names = ["phi", "grad_phi", "hess_phi", "lambda_min_hess_phi", "delta"]
    if truth.model.lower is not None:
        names = ["y_star", "grad_y_star", *names]
    return rows + [_row(name, lambda name=name: getattr(truth, name)(at)) for name in names]  # type: ignore[misc]


def _row(name: str, compute: Callable[[], Enclosure]) -> dict[str, Any]:
    try:
        found = compute()
    except BilevelVerifyError as problem:
        return {
            "quantity": name,
            "value": None,
            "error": None,
            "certainty": None,
            "method": str(problem),
            "attained": None,
        }
    value = found.value.tolist() if isinstance(found.value, np.ndarray) else float(found.value)
    return {
        "quantity": name, "value": value, "error": float(found.error), "certainty": found.certainty,
        "method": found.method, "attained": found.attained,
    }  # fmt: skip
