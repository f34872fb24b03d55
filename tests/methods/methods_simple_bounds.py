"""Every bound of Theorems 4.1, 4.4 and 4.5 of the agm-bio paper along runs, typed once more in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from methods_simple_families import Known

import bilevel_verify as bv

Array = np.ndarray
SLACK = 1e-12


@dataclass
class Tally:
    """Bounds checked, and the largest share of a bound that was used, by name."""

    problems: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def take(self, where: str, name: str, left: Array, right: Array, size: float) -> None:
        """``left <= right`` at every place, up to rounding."""
        left, right = np.atleast_1d(left), np.atleast_1d(right)
        assert np.all(np.isfinite(left) & np.isfinite(right)), where
        self.checked[name] = self.checked.get(name, 0) + left.size
        share = float(np.max(left / np.maximum(np.abs(right), 1e-300), initial=0.0))
        self.largest[name] = max(self.largest.get(name, 0.0), share)
        if np.any(left > right + SLACK * size):
            self.broken.append(f"{where}: {name} at place {int(np.argmax(left - right))}")


def gaps(known: Known, gamma: float, K: int) -> tuple[Array, Array, bv.Run]:
    """``f(x_k) - f*`` and ``g(x_k) - g*`` for k = 0..K (g* is 0 in every family)."""
    letters = {"gamma": gamma, "L_f": known.L_f, "L_g": known.L_g, "K": K}
    run = bv.solve(known.problem, "agm-bio", x0=known.x0.tolist(), parameters=letters, compiled=False)
    X = np.asarray(run.trace.x)
    return known.f(X) - known.f(known.x_star), known.g(X), run


def check(known: Known, tally: Tally, where: str, K: int = 80, horizons: tuple[int, ...] = (10, 30)) -> None:
    """All bounds that apply to one problem."""
    tally.problems += 1
    R2 = float(np.sum((known.x0 - known.x_star) ** 2))
    L_f, L_g, M, alpha, r = known.L_f, known.L_g, known.M, known.alpha, known.r
    size = 1.0 + abs(float(known.f(known.x_star))) + L_f + L_g
    F, G, run = gaps(known, 1.0, K)
    k = np.arange(1, len(F), dtype=float)
    F, G, log = F[1:], G[1:], np.log(k) + 1
    level = np.asarray(run.trace.g_k).ravel()[: len(k)]
    tally.take(where, "(8)", level, 2 * L_g * R2 / np.arange(1, len(level) + 1) ** 2, size)
    tally.take(where, "(9)", F, 4 * L_f * R2 / (k * (k + 1)), size)
    if np.isfinite(known.D):
        tally.take(where, "(10)", G, 4 * L_g * R2 * log / (k * (k + 1)) + 2 * L_g * known.D**2 / (k + 1), size)
        over = F >= 0
        if over.any():
            tally.take(where, "(11)", G[over], (8 * L_g * R2 * log / (k * (k + 1)))[over], size)
    lower = -M * (r * np.maximum(G, 0) / alpha) ** (1 / r)
    # F of a point that is feasible up to rounding may be off by M times the r-th root of the rounding of g
    tally.take(where, "Proposition 4.2", lower, F + M * (1e-15 * size * r / alpha) ** (1 / r), size)
    if r == 1:
        sharp(known, tally, where, K, R2, size)
        return
    for T in horizons:
        horizon(known, tally, where, T, R2, size)


def sharp(known: Known, tally: Tally, where: str, K: int, R2: float, size: float) -> None:
    """(16)-(18) at every k."""
    L_f, L_g, M, alpha = known.L_f, known.L_g, known.M, known.alpha
    gamma = min(2 * alpha * L_f / (2 * M * L_g + alpha * L_f), 1.0)
    F, G, _ = gaps(known, gamma, K)
    k = np.arange(1, len(F), dtype=float)
    F, G, log, kk = F[1:], G[1:], np.log(k) + 1, k * (k + 1)
    C_f, C_g = 4 * L_f * R2, 8 * L_g * R2
    tally.take(where, "(16)", F, C_f / (gamma * kk), size)
    tally.take(where, "(17)", -F, C_g * M * log / (alpha * kk) + C_f / (gamma * kk), size)
    tally.take(where, "(18)", G, C_g * log / kk + alpha * C_f / (gamma * M * kk), size)


def horizon(known: Known, tally: Tally, where: str, T: int, R2: float, size: float) -> None:
    """(14), (ii), (15) at x_T of the run with the prescribed step."""
    L_f, L_g, M, alpha, r = known.L_f, known.L_g, known.M, known.alpha, known.r
    gamma = 1 / (2 * L_g / L_f * T ** ((2 * r - 2) / (2 * r - 1)) + 2)
    F, G, run = gaps(known, gamma, T)
    if run.status != "finished":
        return
    C_f, C_g, C, log = 8 * L_f * R2, 12 * L_g * R2, M * (r / alpha) ** (1 / r), np.log(T) + 1
    slow, fast = T ** (2 * r / (2 * r - 1)), T ** (2 / (2 * r - 1))
    tally.take(where, "(14)", F[-1], C_g * log / slow + C_f / T**2, size)
    low = C * max(
        (2 * C_g * log) ** (1 / r) / fast + (2 * C_f) ** (1 / r) / T ** (2 / r), (2 * C) ** (1 / (r - 1)) / fast
    )
    tally.take(where, "Theorem 4.4 (ii)", -F[-1], low, size)
    tally.take(where, "(15)", G[-1], max(2 * C_g * log / slow + 2 * C_f / T**2, (2 * C) ** (r / (r - 1)) / slow), size)
