"""Second-order stationary points: gradient and curvature of the hyper-objective at a point, with error bars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.checks.verdicts.verdict import Verdict
from bilevel_verify.errors import InputError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth import Truth, truth


@dataclass(frozen=True, slots=True)
class SecondOrder:
    """Is a point an (eps, tau)-SOSP of phi: ``|grad phi| <= eps`` and ``lambda_min(hess phi) >= -tau``?

    Attributes
    ----------
    gradient, gradient_error : norm of the gradient of phi (Euclidean) and its error bar.
    curvature, curvature_error : smallest eigenvalue of the Hessian of phi and its error bar.
    verdict : ``holds`` or ``refuted`` where the error bars decide, else ``undecided``.
    reason : which of the two failed, or why nothing is decided.
    """

    x: tuple[float, ...]
    eps: float
    tau: float
    gradient: float
    gradient_error: float
    curvature: float
    curvature_error: float
    verdict: Verdict
    reason: str = ""


def second_order_point(
    problem: Problem,
    x: NDArray[np.float64] | list[float] | tuple[float, ...],
    eps: float,
    tau: float,
    known: Truth | None = None,
) -> SecondOrder:
    """Judge a point.

    Parameters
    ----------
    problem : one level, bilevel or minimax. ``x`` : shape (dx,).
    eps, tau : tolerances of the gradient and of the curvature.
    known : truth of the problem, if it is there already.

    Raises
    ------
    InputError : a tolerance is negative or NaN.
    """
    if not (eps >= 0 and tau >= 0):
        raise InputError(f"an (eps, tau)-SOSP needs tolerances >= 0, not eps = {eps!r}, tau = {tau!r}")
    point = np.atleast_1d(np.asarray(x, dtype=float))
    t = truth(problem) if known is None else known
    slope, lowest = t.grad_phi(point), t.lambda_min_hess_phi(point)
    size = float(np.linalg.norm(np.asarray(slope.value, dtype=float)))
    low, bar, error = float(lowest.value), float(lowest.error), float(slope.error)
    verdict, reason = _judged(size, error, eps, low, bar, tau)
    return SecondOrder(tuple(point.tolist()), eps, tau, size, error, low, bar, verdict, reason)


def _judged(size: float, error: float, eps: float, low: float, bar: float, tau: float) -> tuple[Verdict, str]:
    if not all(np.isfinite([size, error, low, bar])):
        return "undecided", "precision: an enclosure is not finite"
    failures = []
    if size - error > eps:
        failures.append(f"|grad phi| >= {size - error:.3g} > {eps:g}")
    if low + bar < -tau:
        failures.append(f"lambda_min <= {low + bar:.3g} < {-tau:g}")
    if failures:
        return "refuted", "; ".join(failures)
    if size + error <= eps and low - bar >= -tau:
        return "holds", ""
    return "undecided", "tie: an error bar reaches across its tolerance"
