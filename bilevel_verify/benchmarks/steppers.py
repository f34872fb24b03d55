"""One step of second-order and simple bilevel methods, against the same steps written by hand for numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.benchmarks.rows import Row, Section, interleaved, missing
from bilevel_verify.methods import run_method
from bilevel_verify.oracles.compiling import can_compile
from bilevel_verify.problems.feasible import Ball
from bilevel_verify.problems.problem import Problem

FloatArray = NDArray[np.float64]
ByHand = Callable[..., FloatArray]
RADIUS = 2.0
SIZES = (2, 20, 200)
STEPS = {2: 20_000, 20: 5_000, 200: 500}
TARGET = {2: 2.0, 20: 1.3, 200: 1.3}
INNER = 30
"""Inner ascent steps of LMCN, and how long a Hessian is kept."""
KEPT = 10


def steppers(quick: bool = False) -> Section:
    """R-APM and AGM-BiO on a dense quadratic over a ball, LMCN on a dense minimax problem."""
    if not can_compile():
        return Section("one step", (missing("compiled steps", "numba is not installed"),))
    rows: list[Row] = []
    for d in SIZES[:2] if quick else SIZES:
        problem, Q = over_a_ball(d)
        L = float(np.linalg.eigvalsh(Q)[-1])
        q: Mapping[str, Any] = {"eta": 0.1, "gamma": 1 / (L + 0.1)}
        rows.append(_row("R-APM", problem, "r-apm", q, partial(_by_hand("r_apm"), Q, 0.1, 1 / (L + 0.1)), d, quick))
        hand = partial(_by_hand("agm_bio"), Q, 1.0, L)
        rows.append(_row("AGM-BiO", problem, "agm-bio", {"L_f": 1.0, "L_g": L}, hand, d, quick))
    notes = (
        "per step; by hand: numba with arrays and its own matrix products, nothing recorded and nothing counted",
        "simple bilevel: f = |x - 1|^2/2, g a dense quadratic of half rank, Z a ball",
    )
    return Section("one step against numba by hand", tuple(rows), notes)


def over_a_ball(d: int) -> tuple[Problem, FloatArray]:
    """``|x - 1|^2/2`` over the minimisers of ``x'Qx/2`` (half rank) in a ball; Q."""
    A = np.random.default_rng(0).integers(-5, 6, (max(1, d // 2), d))
    Q = A.T @ A
    x = sympy.symbols(f"x1:{d + 1}", real=True)
    terms = [sympy.Rational(int(Q[i, j]), 20 * d) * x[i] * x[j] for i in range(d) for j in range(d)]
    f = sympy.Add(*[(v - 1) ** 2 for v in x]) / 2
    return Problem("simple_bilevel", f, x, sympy.Add(*terms), (), feasible=Ball(radius=2)), Q / (10.0 * d)


def _row(
    name: str, problem: Problem, method: str, q: Mapping[str, Any], hand: ByHand, d: int, quick: bool
) -> Row:
    steps, start = STEPS[d] // (5 if quick else 1), np.zeros(d)
    most, length = {"calls": 10**15, "iterations": 10**15}, "T" if "T" in q else "K"

    def ours(count: int) -> FloatArray:
        run = run_method(problem, method, {**q, length: count}, start, budget=most, record="thin", compiled=True)
        assert run.compiled
        return run.x

    gap = float(np.abs(ours(40) - hand(start, 40)).max())
    times = interleaved({"ours": partial(ours, steps), "theirs": partial(hand, start, steps)}, 3 if quick else 5)
    mine, theirs = (1e6 * times[side] / steps for side in ("ours", "theirs"))
    note = f"{mine:.3g} us, same x to {gap:.0e}"
    return Row(f"{name}, d = {d}", mine / theirs, "x", TARGET[d], note=note, rival="numba by hand", beside=1.0)


def _by_hand(name: str) -> ByHand:
    import numba

    return {"r_apm": r_apm, "agm_bio": agm_bio}[name] if False else numba.njit(error_model="numpy")(globals()[name])


def r_apm(Q: FloatArray, eta: float, gamma: float, start: FloatArray, K: int) -> FloatArray:
    """R-APM; the ball as it stands."""
    x, y, t = start.copy(), start.copy(), 1.0
    for _ in range(K):
        v = y - gamma * (Q @ y + eta * (y - 1.0))
        new = v * min(1.0, 2.0 / np.sqrt(v @ v))
        later = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        y = new + (t - 1.0) / later * (new - x)
        x, t = new, later
    return x


def agm_bio(Q: FloatArray, L_f: float, L_g: float, start: FloatArray, K: int) -> FloatArray:
    """Algorithm 1 of AGM-BiO with FISTA beside it; ball and half-space in closed form."""
    x, z, u, w = start.copy(), start.copy(), start.copy(), start.copy()
    A, t, best = 0.0, 1.0, np.inf
    for k in range(K):
        v = w - Q @ w / L_g
        new = v * min(1.0, 2.0 / max(np.sqrt(v @ v), 1e-300))
        later = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        w = new + (t - 1.0) / later * (new - u)
        u, t = new, later
        best = min(best, u @ (Q @ u) / 2.0)
        a = (k + 1) / (4.0 * L_f)
        share = a / (A + a)
        y = (1.0 - share) * x + share * z
        v = z - a * (y - 1.0)
        c = Q @ y
        size = np.sqrt(c @ c)
        z = v * min(1.0, 2.0 / np.sqrt(v @ v))
        if size > 0.0:
            b = (best - y @ c / 2.0 + c @ y) / size
            c = c / size
            if c @ z > b:
                flat = v - (c @ v) * c
                z = flat + b * c
                if z @ z > 4.0:
                    z = b * c + np.sqrt(max(0.0, 4.0 - b * b) / (flat @ flat)) * flat
        x = (1.0 - share) * x + share * z
        A += a
    return x
