"""Bounds whose worst case is known, each with the family that has it: what a search must find, and why it is the truth.

``truth`` is the largest share of the bound over the family, from a closed form or by brute force over a formula of the
shares that is written down here; no number comes from the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

CARD = Path(__file__).parents[2] / "docs" / "worst" / "classical.toml"


@dataclass(frozen=True)
class Known:
    """One bound, the family on which it is searched, and the largest share that there is."""

    claim: str
    family: str
    truth: Callable[[], float]
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)
    statement: str = ""

    @property
    def name(self) -> str:
        return self.statement or f"{CARD}/{self.claim.split('/')[0]}:{self.claim.split('/')[1]}"

    @property
    def key(self) -> str:
        return self.claim.split("/")[-1] if not self.statement else self.claim


def attained() -> float:
    return 1.0


def spread(low: float, high: float, n: int = 400) -> np.ndarray:
    return np.geomspace(low, high, n)


def jacobian() -> float:
    """``g = m y1^2/2 - k x1 y1 + y2^2/2``: |y*'| = k/m against L/mu, L the norm of the Hessian in (x, y)."""
    m, k = np.meshgrid(spread(0.02, 1), spread(0.01, 2))
    joint = np.maximum(1, (m + np.sqrt(m**2 + 4 * k**2)) / 2)
    return float(np.max((k / m) / (joint / m)))


def minimax_curvature() -> float:
    """|Phi''| is at most max(a + k^2/m, b + k^2), against (kappa + 1) ell with kappa = ell/m, ell of (x, y)."""
    found = 0.0
    for k, a, b, m in product(spread(0.02, 2, 24), spread(0.01, 2, 16), spread(0.01, 2, 16), spread(0.02, 1, 24)):
        pairs = [(c, h) for c, h in ((a, m), (-a, m), (b, 1.0), (-b, 1.0))]
        ell = max(abs(c - h) / 2 + np.hypot((c + h) / 2, k) for c, h in pairs)
        found = max(found, max(a + k**2 / m, b + k**2) / ((ell / m + 1) * ell))
    return found


def agd_polynomial(eta: float, momentum: float, curvature: float, steps: int) -> float:
    """The polynomial of AGD from rest on a parabola of this curvature: the error after so many steps, first error 1."""
    old, now = 1.0, 1.0
    for _ in range(steps):
        ahead = now + momentum * (now - old)
        old, now = now, ahead * (1 - eta * curvature)
    return now


def accelerated() -> float:
    """Four steps with momentum 3/5 on curvatures in [1/16, 1], against 17 (3/4)^4."""
    errors = [agd_polynomial(1.0, 0.6, curvature, 4) ** 2 for curvature in np.linspace(1 / 16, 1, 2001)]
    return max(errors) / (17 * 0.75**4)


KNOWN = (
    Known("smooth/least-gradient", "single-stair", attained, "the stairs of Abbaszadehpeivasti et al., width 1/4"),
    Known("smooth/descent", "single-quadratic", attained, "equality on curvature L"),
    Known("convex/last-value", "single-huber", attained, "Huber's function with r = |x_0|/(2 N + 1)"),
    Known("quadratic/distance", "single-quadratic", attained, "the eigenvector of the least eigenvalue"),
    Known("quadratic/value", "single-quadratic", attained, "the eigenvector of the least eigenvalue"),
    Known("quadratic/gradient", "single-quadratic", attained, "the eigenvector of the least eigenvalue"),
    Known("quadratic/dominated", "single-quadratic", attained, "the eigenvector of the least eigenvalue"),
    Known("cubic/decrease", "single-triangle", attained, "third derivative rho along the step from curvature 0"),
    Known(
        "distance", "bilevel-slope", attained, "a constant slope: y*_lambda - y* = -s/(lambda m)",
        statement="ragd-gs/lemma-c-1",
    ),
    Known("jacobian", "bilevel-slope", jacobian, "brute force over m and k", statement="fsba/proposition-2-3:jacobian"),
    Known(
        "gradient", "minimax-quadratic", minimax_curvature, "brute force over k, a, b, m",
        statement="rahgd/lemma-5-1:gradient",
    ),
    Known("accelerated/distance", "single-quadratic", accelerated, "the polynomial of AGD over all curvatures"),
)  # fmt: skip
