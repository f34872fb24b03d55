"""Problems, letters and runs of the experiments with second-order methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilevel_verify.problems import Problem, zoo
from bilevel_verify.truth import Truth

Letters = Mapping[str, Any]
MINIMAX_RAMP = {"s": "1/50", "drop": "1/10"}


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
