"""One step of second-order and simple bilevel methods, against the same steps written by hand for numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.benchmarks.rows import Row, Section, interleaved, missing
from bilevel_verify.errors import ParameterError
from bilevel_verify.methods import run_method
from bilevel_verify.oracles.compiling import can_compile
from bilevel_verify.problems.feasible import Ball
from bilevel_verify.problems.problem import Problem

FloatArray = NDArray[np.float64]
ByHand = Callable[..., FloatArray]
RADIUS = 2.0
SIZES = (2, 20, 200)
STEPS = {"r-apm": {2: 50_000, 20: 30_000, 200: 20_000}, "agm-bio": {2: 50_000, 20: 20_000, 200: 8_000}}
STEPS["lmcn"] = {2: 20_000, 20: 3_000, 200: 40}
"""Steps of a run: long enough that its start does not count."""
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
        minimax, B, C, ell = saddle(d)
        letters = {"M": 10.0, "m": KEPT, "rho_bar": 1.0, "K": INNER, "l1": ell, "kappa1": ell}
        hand = partial(_by_hand("lmcn"), B, C, ell, 10.0, KEPT, INNER)
        rows.append(_row("LMCN", minimax, "lmcn", letters, hand, d, quick))
    notes = (
        "per step; by hand: numba with arrays and its own matrix products, nothing recorded and nothing counted",
        "simple bilevel: f = |x - 1|^2/2, g a dense quadratic of half rank, Z a ball",
        f"minimax: sum (x^2 - 1)^2/4 + x'By - y'Cy/2, dense, d variables each; {INNER} ascent steps, m = {KEPT}",
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


def saddle(d: int) -> tuple[Problem, FloatArray, FloatArray, float]:
    """``sum (x_i^2 - 1)^2/4 + x'By - y'Cy/2`` with C between 1 and ell; B, C, ell."""
    rng = np.random.default_rng(0)
    b, root = rng.integers(-5, 6, (d, d)), rng.integers(-5, 6, (d, d))
    c = root @ root.T
    ell = float(1 + np.linalg.eigvalsh(c)[-1] / (20 * d))
    x, y = sympy.symbols(f"x1:{d + 1}", real=True), sympy.symbols(f"y1:{d + 1}", real=True)
    mixed = [sympy.Rational(int(b[i, j]), 20 * d) * x[i] * y[j] for i in range(d) for j in range(d)]
    square = [sympy.Rational(int(c[i, j]), 40 * d) * y[i] * y[j] for i in range(d) for j in range(d)]
    wells = [(v**2 - 1) ** 2 / 4 for v in x]
    f = sympy.Add(*wells, *mixed, *(-s for s in square), *(-(v**2) / 2 for v in y))
    return Problem("minimax", f, x, None, y), b / (20.0 * d), c / (20.0 * d) + np.eye(d), ell


def _row(name: str, problem: Problem, method: str, q: Mapping[str, object], hand: ByHand, d: int, quick: bool) -> Row:
    steps, start = STEPS[method][d] // (5 if quick else 1), np.full(problem.dx, 0.1)
    most, length = {"calls": 10**15, "iterations": 10**15}, "T" if method == "lmcn" else "K"

    def ours(count: int) -> FloatArray:
        run = run_method(problem, method, {**q, length: count}, start, budget=most, record="thin", compiled=True)
        if not run.compiled:
            raise ParameterError("this step has no machine code here")
        return run.x

    try:
        gap = float(np.abs(ours(40) - hand(start, 40)).max())
    except ParameterError as error:
        return missing(f"{name}, d = {d}", str(error), TARGET[d])
    times = interleaved({"ours": partial(ours, steps), "theirs": partial(hand, start, steps)}, 3 if quick else 5)
    mine, theirs = (1e6 * times[side] / steps for side in ("ours", "theirs"))
    note = f"{mine:.3g} us, same x to {gap:.0e}"
    return Row(f"{name}, d = {d}", mine / theirs, "x", TARGET[d], note=note, rival="numba by hand", beside=1.0)


def _by_hand(name: str) -> ByHand:
    import numba

    hands: dict[str, Any] = {"r_apm": r_apm, "agm_bio": agm_bio, "lmcn": lmcn}
    made: ByHand = numba.njit(error_model="numpy")(hands[name])
    return made


def r_apm(Q: Any, eta: float, gamma: float, start: Any, K: int) -> Any:
    """R-APM; the ball as it stands."""
    x, y, t = start.copy(), start.copy(), 1.0
    for _ in range(K):
        v = y - gamma * (Q @ y + eta * (y - 1.0))
        new = v * min(1.0, 2.0 / np.sqrt(v @ v))
        later = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        y = new + (t - 1.0) / later * (new - x)
        x, t = new, later
    return x


def agm_bio(Q: Any, L_f: float, L_g: float, start: Any, K: int) -> Any:
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


def lmcn(B: Any, C: Any, ell: float, M: float, m: int, inner: int, start: Any, T: int) -> Any:
    """LMCN on the dense saddle: accelerated ascent, Schur complement, the secular equation by Newton's method."""
    x, y = start.copy(), np.zeros(len(C))
    theta = (np.sqrt(ell) - 1.0) / (np.sqrt(ell) + 1.0)
    values, vectors = np.zeros(len(x)), np.zeros((len(x), len(x)))
    turned = vectors
    for k in range(T):
        pull, ahead = x @ B, y.copy()
        for _ in range(inner):
            new = ahead + (pull - C @ ahead) / ell
            ahead = new + theta * (new - y)
            y = new
        gradient = x * (x * x - 1.0) + B @ y
        if k % m == 0:
            H = np.diag(3.0 * x * x - 1.0) + B @ np.linalg.solve(C, B.T)
            values, vectors = np.linalg.eigh(H)
            vectors, turned = np.ascontiguousarray(vectors), np.ascontiguousarray(vectors.T)
        g, base = turned @ gradient, max(0.0, -2.0 * values[0] / M)
        low, high = base, base + np.sqrt(2.0 * np.sqrt(g @ g) / M)
        r = high
        for _ in range(60):
            ratio = g / (values + M * r / 2.0)
            length = np.sqrt(ratio @ ratio)
            if length > r:
                low = r
            else:
                high = r
            if length == r or high - low <= 2.3e-16 * high:
                break
            slope = M / 2.0 * np.sum(ratio * ratio / (values + M * r / 2.0)) / length
            step = r - (1.0 / length - 1.0 / r) / (slope / (length * length) + 1.0 / (r * r))
            r = step if low < step < high else 0.5 * (low + high)
        x = x - vectors @ (g / (values + M * r / 2.0))
    return x
