"""A stranger who read docs/testing.md only: slips that once escaped are caught, right solvers of any style pass."""

from __future__ import annotations

import copy
import math
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg, optimize

import bilevel_verify as bv
from bilevel_verify.testing import (
    BrokenContract,
    Profile,
    assert_all,
    assert_counts,
    assert_hypergradient,
    assert_linear_solver,
    assert_same_iterates,
    assert_stationary,
    assert_unbiased,
)

SHORT = Profile("short", 6)


# --- slips that escaped until examples showed them ---


def proximal(forgotten):
    def solver(oracles, x0, letters):
        x, ahead, t, rows = x0, x0, 1.0, [x0]
        for k in range(letters["K"]):
            moved = ahead - letters["gamma"] * (oracles.grad_g(ahead) + letters["eta"] * oracles.grad_f(ahead)[0])
            new = moved if forgotten and k == letters["K"] - 1 else oracles.project(moved)
            later = (1 + math.sqrt(1 + 4 * t * t)) / 2
            ahead, x, t = new + (t - 1) / later * (new - x), new, later
            rows.append(x)
        return rows

    return solver


def test_the_last_projection_forgotten():
    assert_same_iterates(proximal(False), "r-apm")
    with pytest.raises(BrokenContract, match="line 3 of r-apm"):
        assert_same_iterates(proximal(True), "r-apm")


def test_an_absolute_tolerance():
    def solver(apply, b, tolerance):
        x, r = np.zeros_like(b), b.copy()
        p, size = r.copy(), float(r @ r)
        for _ in range(len(b) + 2):
            if math.sqrt(size) <= tolerance:
                break
            a = apply(p)
            x, r = x + size / (p @ a) * p, r - size / (p @ a) * a
            p, size = r + (r @ r) / size * p, float(r @ r)
        return x

    with pytest.raises(BrokenContract, match="residual too large"):
        assert_linear_solver(solver)


def test_a_weight_that_is_right_for_single_samples():
    def estimate(samples, x, y, upper, lower):
        H = np.array([samples.hvp_yy_g(x, y, unit) for unit in np.eye(samples.dy)])
        v = np.linalg.solve(H, samples.grad_y_f(x, y, upper)) * len(set(upper)) / len(upper)
        return samples.grad_x_f(x, y) - samples.jvp_xy_g(x, y, v)

    assert_unbiased(estimate, size=1)
    with pytest.raises(BrokenContract, match="pairs of batches of 2"):
        assert_unbiased(estimate)


def lower(oracles, x, y=None):
    """Newton's method."""
    y = np.zeros(oracles.dy) if y is None else y
    for _ in range(60):
        H = np.column_stack([oracles.hvp_yy_g(x, y, unit) for unit in np.eye(oracles.dy)])
        step = np.linalg.solve(H, oracles.grad_y_g(x, y))
        y = y - step
        if step @ step < 1e-26:
            break
    return y, H


def slope(oracles, x):
    y, H = lower(oracles, x)
    fx, fy = oracles.grad_f(x, y)
    return fx - oracles.jvp_xy_g(x, y, linalg.cho_solve(linalg.cho_factor(H), fy))


def descent(slip):
    def solver(oracles, x0, eps):
        x, step = x0.copy(), 1.0
        y = before = lower(oracles, x)[0]
        for _ in range(600):
            g = slope(oracles, x)
            size = np.max(np.abs(g)) if slip == "largest entry" else np.linalg.norm(g)
            if size <= (eps if slip else 0.9 * eps):
                break
            value, step = oracles.value_f(x, y), min(2 * step, 1.0)
            while step > 1e-12:
                new = x - step * g
                later = lower(oracles, new)[0]
                if oracles.value_f(new, later) <= value - step / 2 * (g @ g) + 1e-13 * (1 + abs(value)):
                    break
                step /= 2
            x, before, y = (np.clip(new, -4, 4) if slip == "clips" else new), y, later
        return x, before if slip == "y of the step before" else y

    solver.__name__ = slip or "right"
    return solver


@pytest.mark.parametrize(
    ("slip", "contract"),
    [
        ("largest entry", "output is not stationary"),
        ("clips", "output is not stationary"),
        ("y of the step before", "y does not solve the lower level"),
    ],
)
def test_whole_solvers_that_stop_clip_or_lag(slip, contract):
    with pytest.raises(BrokenContract, match=contract):
        assert_stationary(descent(slip), kinds=("bilevel",))


@pytest.mark.parametrize("evade", ["copies", "deep copies", "nothing asked", "clears"])
def test_counts_are_not_evaded(evade):
    def solver(oracles, x0):
        if evade == "nothing asked":
            return x0 - 0.1 * oracles.instance.grad_phi(x0), {}
        if evade == "clears":
            x = x0 - 0.1 * oracles.grad_x_f(x0, np.zeros(oracles.dy))
            oracles.reset()
            return x, {}
        other = copy.copy(oracles) if evade == "copies" else copy.deepcopy(oracles)
        return x0 - 0.1 * other.grad_x_f(x0, np.zeros(oracles.dy)), {}

    contract = {"nothing asked": "asks none of its oracles", "clears": "raises"}.get(evade, "wrong count")
    with pytest.raises(BrokenContract, match=contract):
        assert_counts(solver, profile_=SHORT)


# --- right solvers in unusual styles ---


def coroutine(oracles, x0, letters):
    """A deque of two points, sums in long double, weights of 0 and 1."""
    eta, theta, B, K = (letters[name] for name in ("eta", "theta", "B", "K"))

    def epoch(start):
        last, total, k = deque([start, start], 2), np.longdouble(0), 0
        while k < K:
            y = last[1] + (1 - theta) * (last[1] - last[0])
            last.append(y - eta * np.asarray(oracles.grad_f(y)[0]))
            total, k = total + np.sum(np.square((last[1] - last[0]).astype(np.longdouble))), k + 1
            yield y, last[1], bool(k * total > np.longdouble(B) ** 2)
            if k * total > np.longdouble(B) ** 2:
                return

    epochs, start, ended = [], x0, True
    while ended:
        points, ahead = [start], []
        for y, point, ended in epoch(start):  # noqa: B007
            points.append(point)
            ahead.append(y)
        epochs.append(points)
        start = points[-1]
    moves = np.linalg.norm(np.diff(np.array(points), axis=0), axis=1)
    best = K // 2 + moves[K // 2 :].argmin()
    weights = (np.arange(len(ahead)) <= best).astype(float)
    return bv.Trajectory(epochs, output=np.average(np.array(ahead), axis=0, weights=weights))


def recursive(oracles, x0, letters):
    def products(x, y, b, v, steps):
        r = b - oracles.hvp_yy_g(x, y, v)
        p = r
        for _ in range(steps):
            if not r @ r:
                break
            a, size = oracles.hvp_yy_g(x, y, p), r @ r
            v, r = v + size / (p @ a) * p, r - size / (p @ a) * a
            p = r + (r @ r) / size * p
        return v

    def go(k, x, y, v, rows):
        if k == letters["steps"]:
            return rows
        for _ in range(letters["D"]):
            y = y - letters["alpha"] * oracles.grad_y_g(x, y)
        fx, fy = oracles.grad_f(x, y)
        v = products(x, y, fy, v, letters["N_cg"])
        x = x - letters["beta"] * (fx - oracles.jvp_xy_g(x, y, v))
        return go(k + 1, x, y, v, [*rows, x])

    return go(0, x0, letters["y0"], letters["v0"], [x0])


def fractions(oracles, x0, letters):
    x = z = x0
    rows, A = [x0], Fraction(0)
    for k in range(letters["K"]):
        a = Fraction(letters["gamma"]) * (k + 1) / (4 * Fraction(letters["L_f"]))
        share = float(a / (A + a))
        y = (1 - share) * x + share * z
        c = oracles.grad_g(y)
        level = letters["g_k"][k] - oracles.value_g(y) + c.dot(y)
        z = oracles.halfspace(z - float(a) * oracles.grad_f(y)[0], c, level)
        x, A = x + share * (z - x), A + a
        rows.append(x)
    return np.vstack(rows), x


def one_state(oracles, x0, letters):
    state, n, rows = np.concatenate([x0, letters["y0"]]), len(x0), [tuple(x0)]
    for _ in range(letters["steps"]):
        gx, gy = oracles.grad_f(state[:n], state[n:])
        state = state + np.concatenate([-letters["eta_x"] * gx, letters["eta_y"] * gy])
        rows.append(tuple(state[:n]))
    return tuple(rows)


@pytest.mark.parametrize(
    ("method", "solver"),
    [("restarted-agd", coroutine), ("aid-bio", recursive), ("agm-bio", fractions), ("gda", one_state)],
)
def test_unusual_styles_agree_line_for_line(method, solver):
    assert_same_iterates(solver, method, profile_=SHORT)


def arnoldi(apply, b, tolerance):
    """Least squares over a Krylov space, orthogonalised twice."""
    n, size = len(b), float(np.linalg.norm(b))
    if not size:
        return 0 * b
    Q, H = [b / size], np.zeros((n + 1, n))
    for j in range(n):
        w = apply(Q[j])
        for i in (*range(j + 1), *range(j + 1)):
            share = Q[i] @ w
            H[i, j] += share
            w = w - share * Q[i]
        H[j + 1, j] = np.linalg.norm(w)
        right = np.eye(j + 2)[0] * size
        z = np.linalg.lstsq(H[: j + 2, : j + 1], right, rcond=None)[0]
        if np.linalg.norm(H[: j + 2, : j + 1] @ z - right) <= tolerance * size / 2 or H[j + 1, j] < 1e-14 * H[0, 0]:
            break
        Q.append(w / H[j + 1, j])
    return np.array(Q[: j + 1]).T @ z


def quasi_newton(oracles, x0, eps):
    fun = lambda x: (oracles.value_f(x, lower(oracles, x)[0]), slope(oracles, x))
    options = {"gtol": 0.4 * eps / math.sqrt(len(x0)), "norm": np.inf, "maxiter": 500}
    found = optimize.minimize(fun, x0, jac=True, method="BFGS", options=options).x
    return found, lower(oracles, found)[0]


def test_unusual_styles_of_parts_and_whole_solvers():
    assert_linear_solver(arnoldi)
    assert_hypergradient(slope)
    assert_all(solver=quasi_newton, profile_=SHORT)
    assert_all(solver=descent(""), kinds=("bilevel",), profile_=SHORT)
