"""A third hand: fifteen right solvers in forms that no other test has are not accused, one slip each is named.

Written from docs/testing.md and the printed lines alone, before any was run: coroutines, companion matrices, record
arrays, reductions, exact rationals, saddle-point systems, Lanczos, Anderson's mixing.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest
from scipy import linalg, optimize, sparse

import bilevel_verify as bv
from bilevel_verify.testing import (
    BrokenContract,
    Profile,
    assert_hypergradient,
    assert_linear_solver,
    assert_same_iterates,
    assert_stationary,
    assert_unbiased,
)

SHORT = Profile("short", 6, simplify=5)
DEFAULT = Profile("default", 40, simplify=5)


def folded(oracles, x0, letters, slip=""):
    """BA by ``reduce``; the lower level from y0 in every pass, the system by a symmetric factorisation."""

    def step(x, k):
        many = math.ceil(letters["c"] * (k + (slip != "count by one too few")) ** 0.25)
        begin = state["y"] if slip == "warm start" and k else letters["y0"]
        y = reduce(lambda y, _: y - letters["beta"] * oracles.grad_y_g(x, y), range(many), begin)
        state["y"] = y
        fx, fy = oracles.grad_f(x, y)
        _, mixed, square = oracles.hess_g(x, y)
        v = linalg.solve(square, fy, assume_a="pos")
        state["rows"].append(x - letters["alpha"] * (fx - mixed @ v))
        return state["rows"][-1]

    state = {"y": letters["y0"], "rows": [x0]}
    reduce(step, range(letters["steps"]), x0)
    return state["rows"]


class Penalty:
    """F2BA with slots, the two descents in one array of two rows."""

    __slots__ = ("slip",)

    def __init__(self, slip=""):
        self.slip = slip

    def __call__(self, oracles, x0, letters):
        lam, x, rows = letters["lam"], x0, [x0]
        pair = np.stack([letters["y0"], letters["y0"]])
        for _ in range(letters["T"]):
            old = pair[1].copy()
            for j in range(letters["K"]):
                pair[1] -= letters["alpha"] * oracles.grad_y_g(x, pair[1])
                fy = oracles.grad_y_f(x, pair[0])
                pair[0] -= letters["tau"] * (fy + lam * oracles.grad_y_g(x, pair[0]))
                if self.slip == "one step of y" and j == 0:
                    kept = pair[0].copy()
            y = kept if self.slip == "one step of y" else pair[0]
            z = old if self.slip == "z of the pass before" else pair[1]
            u = oracles.grad_x_f(x, y) + lam * (oracles.grad_x_g(x, y) - oracles.grad_x_g(x, z))
            x = x - letters["eta"] * u
            rows.append(x)
        return rows


def accelerated(gradient, z, many, length, momentum):
    """AGD as powers of a two-row state."""
    state = np.stack([z, z])
    for _ in range(many):
        new = state[1] - length * gradient(state[1])
        state = np.stack([new, new + momentum * (new - state[0])])
    return state[0]


def conjugate(apply, b, v, many):
    r = b - apply(v)
    p, size = r, r @ r
    for _ in range(many):
        if size == 0:
            break
        a = apply(p)
        v, r, before = v + size / (p @ a) * p, r - size / (p @ a) * a, size
        size = r @ r
        p = r + size / before * p
    return v


def tables(oracles, x0, letters, slip=""):
    """RAHGD with every sequence in a dictionary by (t, k), as the paper writes them."""
    eta, theta, B, K, a, b = (letters[n] for n in ("eta", "theta", "B", "K", "alpha", "beta"))

    def solve(x, y, many):
        return accelerated(partial(oracles.grad_y_g, x), y, many, a, b)

    x, y, v, w, t, k = {(0, 0): x0, (0, -1): x0}, {}, {}, {}, 0, 0
    y[0, -1] = solve(x0, letters["y0"], letters["T_m1"])
    v[0, -1] = y[0, -1]
    while k < K:
        w[t, k] = x[t, k] + (1 - theta) * (x[t, k] - x[t, k - 1])
        y[t, k] = solve(w[t, k], y[t, k - 1], letters["T_k"])
        fx, fy = oracles.grad_f(w[t, k], y[t, k])
        products = letters["Tp_0" if k == 0 else "Tp_k"]
        v[t, k] = conjugate(partial(oracles.hvp_yy_g, w[t, k], y[t, k]), fy, v[t, k - 1], products)
        x[t, k + 1] = w[t, k] - eta * (fx - oracles.jvp_xy_g(w[t, k], y[t, k], v[t, k]))
        k += 1
        if k * sum(np.sum((x[t, i + 1] - x[t, i]) ** 2) for i in range(k)) > B**2:
            v[t + 1, -1] = y[t, k - 1] if slip == "v from y" else v[t, k - 1]
            x[t + 1, 0] = x[t, k]
            x[t + 1, -1] = x[t, k - 1] if slip == "momentum kept" else x[t, k]
            t, k = t + 1, 0
            warm = slip == "no fresh y"
            y[t, -1] = max(y.items())[1] if warm else solve(x[t, -1], letters["y0"], letters["T_m1"])
    half = K // 2 + (slip == "half too late")
    best = min(range(half, K), key=lambda k: float(np.linalg.norm(x[t, k + 1] - x[t, k])))
    rows = [[point for (s, j), point in sorted(x.items()) if s == e and j >= 0] for e in range(t + 1)]
    return bv.Trajectory(rows, output=sum(w[t, k] for k in range(best + 1)) / (best + 1))


def machine(oracles, x0, letters, slip=""):
    """Practical restarted AGD as a machine of states, one method of ``match`` for each line."""
    eta, theta, B, K, B0, c = (letters[n] for n in ("eta", "theta", "B", "K", "B0", "c"))
    eps, L, rho = (letters[n] for n in ("eps", "L", "rho"))
    epochs, ahead, kept, state, output = [[x0]], [], x0, "move", None
    while state != "stop":
        here = epochs[-1]
        match state:
            case "move" if not (len(ahead) < K or B0 > B):
                state = "end"
            case "move":
                before = here[-2] if len(here) > 1 else here[-1]
                ahead.append(here[-1] + (1 - theta) * (here[-1] - before))
                here.append(ahead[-1] - eta * oracles.grad_x_f(ahead[-1]))
                moved = len(ahead) * np.sum(np.diff(here, axis=0) ** 2)
                over = moved > max(B, B0) ** 2 or len(ahead) > K
                state = "judge" if over else "move"
            case "judge":
                lowered = oracles.value_f(here[-1]) - oracles.value_f(here[0])
                if lowered <= -min(eps**1.5 / rho**0.5, eps * L / rho):
                    kept = here[-1]
                elif slip != "B0 kept":
                    B0 = B0 / c
                epochs.append([here[-1] if slip == "bad epoch kept" else kept])
                ahead, state = [], "move"
            case "end":
                moves = [np.linalg.norm(b - a) for a, b in itertools.pairwise(here)]
                best = int(np.argmin(moves[K // 2 : K])) + K // 2
                mean = np.mean(ahead[: best + 1], axis=0)
                sizes = [np.linalg.norm(oracles.grad_x_f(p)) for p in (here[K], mean)]
                output = here[K] if (sizes[0] <= sizes[1]) != (slip == "the worse one") else mean
                state = "stop"
    return bv.Trajectory(epochs, output=output)


def task(oracles, x0, letters, slip=""):
    """PAID as a coroutine that awaits each hypergradient."""

    class Hypergradient:
        def __init__(self, x):
            self.x = x

        def __await__(self):
            nonlocal y, v
            begin = letters["y0"] if slip == "cold y" else y
            y = reduce(lambda y, _: y - letters["alpha"] * oracles.grad_y_g(self.x, y), range(letters["D"]), begin)
            fx, fy = oracles.grad_f(self.x, y)
            v = conjugate(partial(oracles.hvp_yy_g, self.x, y), fy, v, letters["N_cg"])
            return fx - oracles.jvp_xy_g(self.x, y, v)
            yield

    async def run():
        x, last, used = x0, -letters["T_pert"] - 1, 0
        for k in range(letters["steps"]):
            h, at = await Hypergradient(x), x
            limit = letters["eps"] * (1.0 if slip == "eps for 4/5 eps" else 4 / 5)
            if np.linalg.norm(h) <= limit and k - last > letters["T_pert"] - (slip == "one pass early"):
                at, last, used = x + letters["noise"][used], k, used + 1
                h = await Hypergradient(at)
            x = at - letters["eta"] * h
            rows.append(x)

    y, v, rows = letters["y0"], letters["v0"], [x0]
    with pytest.raises(StopIteration):
        run().send(None)
    return rows


def cuts(oracles, x0, letters, slip=""):
    """MNG with complex numbers that never have an imaginary part."""
    M, x, rows = letters["M"], x0.astype(complex), [x0]
    share = Fraction(1, 2) if slip == "half for three quarters" else Fraction(3, 4)
    for _ in range(letters["K"]):
        here = x.real.copy()
        G = M * (here - oracles.project(here - oracles.grad_g(here) / M))
        p = oracles.grad_f(here)[0]
        x = oracles.least_f(G, G @ here - float(share) / M * (G @ G), p, p @ here) + 0j
        rows.append(x.real)
    return rows


def records(oracles, x0, letters, slip=""):
    """PB-APG on a record array."""
    L, n = letters["L_f"] + letters["penalty"] * letters["L_g"], len(x0)
    table = np.zeros(letters["K"] + 1, dtype=[("x", float, n), ("y", float, n), ("theta", float)])
    table[0] = (x0, x0, 1.0)
    for k, row in enumerate(table[:-1]):
        slope = oracles.grad_f(row["y"])[0] + letters["penalty"] * oracles.grad_g(row["y"])
        new = oracles.project(row["y"] - slope / L)
        theta = (1 + math.sqrt(1 + 4 * row["theta"] ** 2)) / 2
        share = (row["theta"] - (slip != "theta for theta - 1")) / theta
        table[k + 1] = (new, new + share * (new - row["x"]), theta)
    return table["x"]


def sparse_rows(oracles, x0, letters, slip=""):
    """Alternating GDA: one vector of both variables, two diagonal matrices pick the parts."""
    n, m = len(x0), len(letters["y0"])
    sizes = ((letters["eta_x"], 0), (0, letters["eta_y"]))
    first, second = (sparse.diags_array(np.repeat(pair, [n, m])) for pair in sizes)
    z, rows = np.concatenate([x0, letters["y0"]]), [x0]
    for _ in range(letters["steps"]):
        old = z
        z = z - first @ np.concatenate(oracles.grad_f(z[:n], z[n:]))
        at = old if slip == "not alternating" else z
        z = z - second @ np.concatenate(oracles.grad_g(at[:n], at[n:]))
        rows.append(z[:n])
    return np.array(rows)


def companion(oracles, x0, letters, slip=""):
    """Restarted AGD: extrapolation as a product with a companion matrix of (x_k, x_{k-1})."""
    eta, theta, B, K = (letters[n] for n in ("eta", "theta", "B", "K"))
    share = 1 - theta if slip != "k/(k+3)" else None
    epochs, start, again = [], x0, True
    while again:
        state, rows, ahead, moved, again = np.array([start, start]), [start], [], 0.0, False
        while len(ahead) < K:
            s = len(ahead) / (len(ahead) + 3) if share is None else share
            ahead.append(np.array([1 + s, -s]) @ state)
            new = ahead[-1] - eta * oracles.grad_f(ahead[-1])[0]
            moved += float(np.sum((new - state[0]) ** 2))
            state = np.array([new, state[0]])
            rows.append(new)
            if len(ahead) * moved > B**2:
                again = True
                break
        epochs.append(rows)
        start = rows[-2] if slip == "restart one point early" else rows[-1]
    lengths = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    best = int(K / 2) + int(np.argmin(lengths[int(K / 2) :]))
    return bv.Trajectory(epochs, output=np.mean(ahead[: best + 1], axis=0))


def perturbed(oracles, x0, letters, slip=""):
    """PRAGDA: epochs from a generator, perturbations from a cycle of rows."""
    eta, theta, B, K, a, b = (letters[n] for n in ("eta", "theta", "B", "K", "alpha", "beta"))
    noise = itertools.cycle(letters["noise"])

    def epoch(start):
        y = accelerated(partial(oracles.grad_y_g, start), letters["y0"], letters["T_m1"], a, b)
        x = before = start
        for _ in range(K):
            w = x + (1 - theta) * (x - before)
            y = accelerated(partial(oracles.grad_y_g, w), y, letters["T_k"], a, b)
            at = x if slip == "step from x" else w
            x, before = at - eta * oracles.grad_x_f(w, y), x
            yield w, x

    start, epochs, again = x0, [], True
    while again:
        rows, ahead, again = [start], [], False
        for w, x in epoch(start):
            rows.append(x)
            ahead.append(w)
            if len(ahead) * np.sum(np.diff(rows, axis=0) ** 2) > B**2:
                start, again = x + next(noise) * (-1 if slip == "perturbation subtracted" else 1), True
                break
        epochs.append(rows)
    moves = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    return bv.Trajectory(epochs, output=np.mean(ahead[: K // 2 + int(np.argmin(moves[K // 2 :])) + 1], axis=0))


def weights(oracles, x0, letters, slip=""):
    """AGM-BiO with cuts at z: weights as fractions, A_k never a float."""
    x = z = x0
    rows, A = [x0], Fraction(0)
    for k, level in enumerate(itertools.islice(letters["g_k"], letters["K"])):
        a = Fraction(letters["gamma"]) * Fraction(k + 1) / Fraction(4 * letters["L_f"])
        y = x + float(a / (A + a)) * (z - x)
        at = y if slip == "cut at y" else z
        c = oracles.grad_g(at)
        b = level - oracles.value_g(at) + c @ at
        z = oracles.halfspace(z - float(a) * oracles.grad_f(y)[0], c, b)
        x, A = x + float(a / (A + a)) * (z - x), A + a
        rows.append(x)
    return np.array(rows)


def lanczos(apply, b, tolerance, slip=""):
    """Lanczos with full orthogonalisation and a Cholesky factorisation of the small matrix."""
    size = float(np.linalg.norm(b))
    basis, images = [], []
    new = b / size if size else b
    while size:
        basis.append(new)
        images.append(apply(new))
        Q, AQ = np.array(basis).T, np.array(images).T
        z = linalg.cho_solve(linalg.cho_factor((Q.T @ AQ + AQ.T @ Q) / 2), Q.T @ b)
        rest = b - AQ @ z
        goal = tolerance * (30 if slip == "thirty times" else 0.9) * size
        if np.linalg.norm(rest) <= goal or len(basis) == len(b):
            return Q @ z
        for _ in range(2):
            rest = rest - Q @ (Q.T @ rest)
        new = rest / np.linalg.norm(rest)
    return np.zeros_like(b)


def saddle(oracles, x, slip=""):
    """The hypergradient from one symmetric system for the step in y and the adjoint, after Newton's method."""
    y, m = np.zeros(oracles.dy), oracles.dy
    for _ in range(80):
        _, mixed, H = oracles.hess_g(x, y)
        fx, fy = oracles.grad_f(x, y)
        block = np.block([[np.zeros((m, m)), H], [H, np.zeros((m, m))]])
        found = linalg.solve(block, np.concatenate([-oracles.grad_y_g(x, y), fy]), assume_a="sym")
        y = y + found[m:] if slip != "half a step" else y + found[m:] / 2
        if np.linalg.norm(found[m:]) <= (1e-3 if slip == "ends early" else 1e-12) * (1 + np.linalg.norm(y)):
            break
    return fx - mixed @ found[:m]


def rooted(oracles, x0, eps, slip=""):
    """A whole solver by a root of the hypergradient along its negative flow, implicit Euler steps by SciPy."""
    x, pace = x0, 1.0
    for _ in range(400):
        g = saddle(oracles, x)
        if np.linalg.norm(g) <= (3 * eps if slip == "three eps" else 0.9 * eps):
            break
        found = optimize.root(lambda z: z - x + pace * saddle(oracles, z), x - pace * g, tol=1e-10)  # noqa: B023
        x, pace = (found.x, min(2 * pace, 4.0)) if found.success else (x, pace / 4)
    return x


def by_samples(samples, x, y, upper, lower, slip=""):
    """Means with exactly rounded sums, sample by sample; one inverse of one batch alone would not be unbiased."""

    def mean(rows):
        return np.array([math.fsum(column) for column in zip(*rows)]) / len(rows)

    fx = mean([samples.grad_x_f(x, y, [i]) for i in upper])
    fy = mean([samples.grad_y_f(x, y, [i]) for i in upper])
    batch = lower if slip == "H of a batch" else None
    H = np.array([samples.hvp_yy_g(x, y, unit, batch) for unit in np.eye(samples.dy)])
    return fx - samples.jvp_xy_g(x, y, np.linalg.solve(H, fy), lower)


LINES = {
    "ba": (folded, ("warm start", "count by one too few")),
    "f2ba": (lambda *given, slip="": Penalty(slip)(*given), ("z of the pass before", "one step of y")),
    "rahgd": (tables, ("v from y", "half too late")),
    "restarted-agd-practical": (machine, ("B0 kept", "bad epoch kept", "the worse one")),
    "paid": (task, ("cold y", "eps for 4/5 eps", "one pass early")),
    "mng": (cuts, ("half for three quarters",)),
    "pb-apg": (records, ("theta for theta - 1",)),
    "gda-alternating": (sparse_rows, ("not alternating",)),
    "restarted-agd": (companion, ("k/(k+3)", "restart one point early")),
    "pragda": (perturbed, ("step from x", "perturbation subtracted")),
    "agm-bio-cut-z": (weights, ("cut at y",)),
}
OTHERS = {
    "Lanczos": (lanczos, assert_linear_solver, "thirty times", "residual too large"),
    "a saddle-point system": (saddle, assert_hypergradient, "ends early", "wrong hypergradient"),
    "implicit Euler": (rooted, assert_stationary, "three eps", "not stationary"),
    "exact sums": (by_samples, assert_unbiased, "H of a batch", "bias"),
}


@pytest.mark.parametrize("method", LINES)
def test_right_solvers_of_a_third_hand_agree(method):
    assert_same_iterates(LINES[method][0], method, profile_=SHORT)


@pytest.mark.parametrize(("method", "slip"), [(m, slip) for m, (_, slips) in LINES.items() for slip in slips])
def test_slips_of_a_third_hand_are_named(method, slip):
    with pytest.raises(BrokenContract, match=f"line [0-9]+ of {method}|called in line|output|within its budget"):
        assert_same_iterates(partial(LINES[method][0], slip=slip), method, profile_=DEFAULT)


@pytest.mark.parametrize("style", OTHERS)
def test_right_parts_of_a_third_hand_keep_their_contracts(style):
    part, assertion, slip, broken = OTHERS[style]
    assertion(part, profile_=SHORT)
    with pytest.raises(BrokenContract, match=broken):
        assertion(partial(part, slip=slip), profile_=DEFAULT)


def test_a_name_that_no_oracle_has_is_answered_with_those_that_are_there():
    with pytest.raises(BrokenContract, match=r"hess_yy_g.*there are hess_g.*, at test_testing_third_hand.py:[0-9]+"):
        assert_same_iterates(lambda oracles, x0, letters: oracles.hess_yy_g(x0, x0), "ba", profile_=SHORT)


def test_the_line_that_calls_an_inner_algorithm_is_named():
    with pytest.raises(BrokenContract, match="of AGD, called in line 15 of rahgd"):
        assert_same_iterates(partial(tables, slip="no fresh y"), "rahgd", profile_=SHORT)
