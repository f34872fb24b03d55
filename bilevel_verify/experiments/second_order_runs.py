"""Problems, letters and runs of the experiments with second-order methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilevel_verify.methods.cost import cost_of
from bilevel_verify.methods.run import FloatArray, Run
from bilevel_verify.problems import Problem, zoo
from bilevel_verify.solving import solve
from bilevel_verify.truth import Truth

Letters = Mapping[str, Any]
MINIMAX_RAMP = {"s": "1/50", "drop": "1/10"}
SYNTHETIC_STARTS = ((1e-3, 1e-3, 1e-1), (1e-3, 1e-3, 1.0))
"""Both initial points of problem (5.1); y starts at 0."""


# --- rates ------------------------------------------------------------------------------------------------------------


def ramp_letters(method: str, eps: float) -> tuple[Problem, Letters]:
    """A ramp whose phi has slope 2 eps, drop 1, L = rho = 1, for the kind of the method, and its letters."""
    lazy = {"m": 4, "rho_bar": 1.0, "M": 4.0} if method.startswith("l") else {"M": 1.0}
    if method in ("mcn", "lmcn"):
        letters: Letters = {**lazy, "T": 10**5, "K": 8, "l1": 2.0, "kappa1": 2.0}
        return zoo("minimax-ramp", s=2 * eps, drop=1), letters
    if method in ("fsba", "lfsba"):
        inner = {"lam": 50.0 / eps, "K1": 80, "K2": 80, "l1": 2.5, "kappa1": 2.5}
        return zoo("amplifier-ramp", kappa=1, s=2 * eps, drop=1), {
            **lazy, **inner, "T": 10**5, "l2": 2.5 * (1 + 50.0 / eps), "kappa2": 3.0,
        }  # fmt: skip
    problem = zoo("ramp", s=2 * eps, drop=1)
    return problem, {"eta": 1.0, "N": 10**9} if method == "gradient-descent" else {**lazy, "T": 10**5}


def lmcn_letters(kappa: float, m: int, eps: float) -> Letters:
    """Letters of Theorem 4.7 for a minimax ramp with mu = 1, ell = kappa (1 + 1/4) and phi of rho_bar = 1."""
    M, ell = 8.0 * (m + 1), 1.25 * kappa + 0.25
    condition = max(ell, 1.0)
    accuracy = min(eps / (576 * ell), math.sqrt(M * eps) / 288)
    step = math.sqrt(4 * eps / M)
    K = math.ceil(2 * math.sqrt(condition) * math.log(math.sqrt(condition + 1) / accuracy * (accuracy + step)))
    return {"M": M, "m": m, "rho_bar": 1.0, "T": 10**5, "K": K, "l1": ell, "kappa1": condition}


# --- the synthetic problem (5.1) --------------------------------------------------------------------------------------


def synthetic_problem() -> Problem:
    """w(x3) - 10 y1^2 + x1 y1 - 5 y2^2 + x2 y2 with eps = 1/100, L = 5."""
    problem: Problem = zoo("w-minimax")
    return problem


_ASCENT = {"K": 8, "l1": 20.0, "kappa1": 2.0}
_RESTARTS = {"alpha": 1 / 20, "beta": 0.17, "K": 100, "B": 10.0, "T_m1": 8, "T_k": 4, "r": 1e-6}
_RATES = tuple(c * 10.0**-i for i in (1, 2, 3) for c in (1, 5))
SYNTHETIC: Mapping[str, tuple[str, tuple[Letters, ...]]] = {
    "LMCN": ("lmcn", tuple({**_ASCENT, "M": 5.0, "m": m, "rho_bar": 2.0, "T": 3000} for m in range(1, 11))),
    "MCN": ("mcn", ({**_ASCENT, "M": 5.0, "T": 3000},)),
    "IMCN": (
        "imcn",
        tuple(
            {**_ASCENT, "M": 5.0, "T": 3000, "eps": 1e-9, "L": 1.0, "K_c": k, "K_p": 5, "sigma": 1e-6}
            for k in (5, 10, 100)
        ),
    ),
    "PRAGDA": (
        "pragda",
        tuple(
            {
                "eta": eta,
                "theta": theta,
                "alpha": 1 / 20,
                "beta": 0.17,
                "K": 100,
                "B": 10.0,
                "T_m1": 8,
                "T_k": 4,
                "r": 1e-6,
            }
            for eta in (*_RATES, 1.0)
            for theta in (0.1, 0.3)
        ),
    ),
    "GDA": ("gda", tuple({"eta_x": eta, "eta_y": 0.05, "steps": 20_000} for eta in (*_RATES, 1.0))),
}
"""Method and grid of letters; learning rates and m from the grids of the paper (c 10^-i), M = 5."""
LONGEST = (20, 200, 2000)
"""Iterations of the first try and of those after it."""


def first_reached(problem: Problem, method: str, letters: Letters, start: Sequence[float], gap: float) -> Run | None:
    """The run of a method cut where phi first comes within ``gap`` of its minimum; None if it never does."""
    for most in LONGEST:
        run = limited(problem, method, letters, start, most)
        below = np.flatnonzero(gaps(run.trace.x) <= gap)
        if len(below):
            return limited(problem, method, letters, start, max(int(below[0]), 1))
    return None


def limited(problem: Problem, method: str, letters: Letters, start: Sequence[float], most: int) -> Run:
    """A run of at most so many iterations."""
    budget = {"calls": 10**7, "iterations": most}
    return solve(problem, method, x0=list(start), parameters=letters, budget=budget)


def gaps(points: FloatArray) -> FloatArray:
    """phi - min phi of problem (5.1) at rows of points: w(x3) + x1^2/40 + x2^2/20 + 4/750."""
    a, r, t = 0.1, 5 * 0.1, np.abs(points[:, 2])
    inner = np.where(t <= a, -a * t**2 + t**3 / 3, -(a**2) * t + a**3 / 3)
    outer = a * (t - 6 * a) ** 2 + (t - 6 * a) ** 3 / 3 - 16 / 3 * a**3
    w = np.where(t <= r, inner, outer)
    found: FloatArray = w + points[:, 0] ** 2 / 40 + points[:, 1] ** 2 / 20 + 16 / 3 * a**3
    return found


def progress(problem: Problem, method: str, grid: Sequence[Letters], start: Sequence[float]) -> tuple[Any, Any]:
    """Cost and gap along the run of the best letters of a grid; the cost grows evenly over the iterations."""
    best = None
    for letters in grid:
        run = limited(problem, method, letters, start, 100)
        total = cost_of(run.counts, 3).total
        gap = gaps(run.trace.x)
        below = np.flatnonzero(gap <= 1e-5)
        price = total * (below[0] if len(below) else 10 * len(gap)) / max(run.iterations, 1)
        if best is None or price < best[0]:
            best = (price, np.arange(len(gap)) * total / max(run.iterations, 1), gap)
    assert best is not None
    return best[1], best[2]


# --- many starts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartCase:
    """One method on one problem from many starts.

    Attributes
    ----------
    eps : of the method's own test. ``eps_phi``, ``tau`` : tolerances that the output must meet for phi.
    """

    problem: Problem
    method: str
    letters: Letters
    eps: float
    eps_phi: float
    tau: float
    starts: tuple[tuple[float, ...], ...]

    def kind_of(self, x0: Sequence[float], known: Truth) -> str:
        """``maximum``, ``saddle``, ``minimum`` or ``regular`` point of phi."""
        point = np.array(x0, dtype=float)
        if float(np.linalg.norm(np.asarray(known.grad_phi(point).value))) > 1e-10:
            return "regular"
        values = np.linalg.eigvalsh(np.asarray(known.hess_phi(point).value, dtype=float))
        return "maximum" if values[-1] < 0 else "saddle" if values[0] < 0 else "minimum"


def start_cases() -> list[StartCase]:
    """Exact saddles and maxima first, then random points (one fixed seed)."""
    rng = np.random.default_rng(20)

    def around(dimension: int, radius: float, count: int = 6) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(float(v) for v in row) for row in rng.uniform(-radius, radius, (count, dimension)))

    saddle, top, cosine = zoo("quad-minimax"), zoo("cosh-lower"), zoo("cosine-sum")
    ascent = {"K": 60, "l1": 2.7, "kappa1": 5.4}
    penalty = {"lam": 2000.0, "K1": 120, "K2": 160, "l1": 7.7, "kappa1": 3.9, "l2": 7.7 * 2001, "kappa2": 11.6}
    inexact = {"L": 4.0, "K_c": 400, "sigma": 1e-4, "K_p": 25}
    two, one, three = ((0.0, 0.0),) + around(2, 2.0), ((0.0,),) + around(1, 3.0), ((0.0,) * cosine.dx,)
    three += around(cosine.dx, 1.5)
    narrow = ((0.0,), *around(1, 0.9))
    loose, tau = 2e-3, 0.15
    return [
        StartCase(saddle, "mcn", {**ascent, "M": 2.0, "T": 400}, 1e-3, loose, tau, two),
        StartCase(saddle, "lmcn", {**ascent, "M": 24.0, "m": 2, "rho_bar": 1.0, "T": 900}, 1e-3, loose, tau, two),
        StartCase(saddle, "imcn", {**ascent, **inexact, "K_c": 2000, "M": 2.0, "T": 400}, 1e-3, loose, tau, two),
        StartCase(top, "fsba", {**penalty, "M": 4.0, "T": 400}, 1e-3, loose, tau, one),
        StartCase(top, "lfsba", {**penalty, "M": 48.0, "m": 2, "rho_bar": 2.0, "T": 900}, 1e-3, loose, 0.3, one),
        StartCase(top, "ifsba", {**penalty, **inexact, "mu": 2.0, "M": 4.0, "T": 400}, 1e-3, loose, tau, one),
        StartCase(zoo("w-shape"), "cubic-newton-step", {"M": 2.0, "T": 400}, 1e-4, loose, tau, narrow),
        StartCase(cosine, "cubic-newton-step", {"M": 1.0, "T": 400}, 1e-3, loose, tau, three),
    ]
