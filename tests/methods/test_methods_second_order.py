"""Second-order methods against naive transcriptions of the fsba sheet, step for step, with exact counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

import bilevel_verify as bv

F, G = "sin(x1 + x2/2) + cos(2*y1 - x1)/2 + x2*y1/8", "3*y1**2/4 - x1*y1/2 + cos(x2 + y1)/4"
PENALTY = {"lam": 12.0, "l1": 1.25, "l2": 18.0, "kappa1": 2.5, "kappa2": 7.5, "K1": 4, "K2": 7}


def f_parts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """grad_x, grad_y, xx, xy, yy of f, by hand."""
    a, b = x[0] + x[1] / 2, 2 * y[0] - x[0]
    gx = np.array([np.cos(a) + np.sin(b) / 2, np.cos(a) / 2 + y[0] / 8])
    gy = np.array([-np.sin(b) + x[1] / 8])
    xx = np.array([[-np.sin(a) - np.cos(b) / 2, -np.sin(a) / 2], [-np.sin(a) / 2, -np.sin(a) / 4]])
    xy = np.array([[np.cos(b)], [1 / 8]])
    return gx, gy, xx, xy, np.array([[-2 * np.cos(b)]])


def g_parts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of g."""
    c = x[1] + y[0]
    gx = np.array([-y[0] / 2, -np.sin(c) / 4])
    gy = np.array([1.5 * y[0] - x[0] / 2 - np.sin(c) / 4])
    xx = np.array([[0.0, 0.0], [0.0, -np.cos(c) / 4]])
    xy = np.array([[-0.5], [-np.cos(c) / 4]])
    return gx, gy, xx, xy, np.array([[1.5 - np.cos(c) / 4]])


def cubic_by_search(g: np.ndarray, H: np.ndarray, M: float) -> np.ndarray:
    """Global minimiser by many starts of a general solver, polished by Newton: nothing of the project in it."""
    best, value = np.zeros_like(g), 0.0
    for start in np.random.default_rng(0).standard_normal((12, len(g))):
        found = minimize(
            lambda s: g @ s + s @ H @ s / 2 + M / 6 * np.linalg.norm(s) ** 3,
            start,
            jac=lambda s: g + H @ s + M / 2 * np.linalg.norm(s) * s,
            method="BFGS",
            options={"gtol": 1e-10},
        )
        if found.fun < value:
            best, value = found.x, float(found.fun)
    for _ in range(30):
        r = np.linalg.norm(best)
        if r == 0:
            break
        jacobian = H + M / 2 * (r * np.eye(len(g)) + np.outer(best, best) / r)
        best = best - np.linalg.solve(jacobian, g + H @ best + M / 2 * r * best)
    return best


def naive_fsba(x: np.ndarray, q: dict[str, float], lazy: bool, counts: Counter[str]) -> list[np.ndarray]:
    """Algorithms 2 and 4 line by line."""
    lam, M, eps, rows = q["lam"], q["M"], q["eps"], [x]
    y, w = np.zeros(1), np.zeros(1)
    snapshot, H = x, np.zeros((2, 2))
    for t in range(int(q["T"])):
        for name, count, ell, kappa in (("w", "K1", "l1", "kappa1"), ("y", "K2", "l2", "kappa2")):
            z = zt = w if name == "w" else y
            for _ in range(int(q[count])):
                gradient = g_parts(x, zt)[1]
                counts["grad_g"] += 1
                if name == "y":
                    gradient = f_parts(x, zt)[1] + lam * gradient
                    counts["grad_f"] += 1
                following = zt - gradient / q[ell]
                zt = following + (np.sqrt(q[kappa]) - 1) / (np.sqrt(q[kappa]) + 1) * (following - z)
                z = following
            w, y = (z, y) if name == "w" else (w, z)
        fx, _, fxx, fxy, fyy = f_parts(x, y)
        gx, _, gxx, gxy, gyy = g_parts(x, y)
        hx, _, hxx, hxy, hyy = g_parts(x, w)
        counts["grad_f"] += 1
        counts["grad_g"] += 2
        gradient = fx + lam * (gx - hx)
        if not lazy or t % int(q["m"]) == 0:
            snapshot = x
            mixed, lower = fxy + lam * gxy, fyy + lam * gyy
            H = (
                fxx
                + lam * (gxx - hxx)
                - mixed @ np.linalg.inv(lower) @ mixed.T
                + lam * hxy @ np.linalg.inv(hyy) @ hxy.T
            )
            counts["hess_f"] += 1
            counts["hess_g"] += 2
        s = cubic_by_search(gradient, H, M)
        previous, x = x, x + s
        rows.append(x)
        if lazy:
            size = (M + 2 * q["rho_bar"]) / np.sqrt(2) * np.linalg.norm(s) + q["rho_bar"] * np.linalg.norm(
                snapshot - previous
            )
            if eps >= (288 / 287) ** 2 / M * size**2:
                break
        elif np.linalg.norm(s) <= np.sqrt(eps / M) / 2:
            break
    return rows


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("x0", [(0.8, -0.3), (-1.0, 0.4), (2.0, 1.0)])
def test_penalty_methods_step_for_step(lazy: bool, x0: tuple[float, float]) -> None:
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1")
    letters = {**PENALTY, "M": 40.0, "T": 25, "m": 3, "rho_bar": 4.0}
    run = bv.solve(problem, "lfsba" if lazy else "fsba", eps=0.01, x0=list(x0), parameters=letters)
    counts: Counter[str] = Counter()
    rows = naive_fsba(np.array(x0), {**letters, "eps": 0.01}, lazy, counts)
    assert run.iterations == len(rows) - 1
    np.testing.assert_allclose(run.trace.x, np.array(rows), rtol=1e-8, atol=1e-8)
    assert {k: v for k, v in run.counts.items() if v} == dict(counts)


def test_derivatives_of_the_transcription_are_right() -> None:
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1")
    o, x, y = bv.oracles(problem), np.array([0.3, -0.7]), np.array([0.4])
    for parts, gradient, hessian in ((f_parts, o.grad_f, o.hess_f), (g_parts, o.grad_g, o.hess_g)):
        gx, gy, *blocks = parts(x, y)
        np.testing.assert_allclose(gradient(x, y)[0], gx, atol=1e-14)
        np.testing.assert_allclose(gradient(x, y)[1], gy, atol=1e-14)
        for mine, theirs in zip(blocks, hessian(x, y)):
            np.testing.assert_allclose(theirs, mine, atol=1e-14)


@pytest.mark.parametrize("x0", [(0.0,), (np.pi,)])
def test_starts_on_a_maximum_leave_it(x0: tuple[float]) -> None:
    problem = bv.single_level(f="cos(x1)", x="x1")
    run = bv.solve(problem, "cubic-newton-step", eps=1e-6, x0=[0.0], parameters={"M": 1.0, "T": 200})
    assert abs(abs(run.x[0]) - np.pi) < 1e-3


def test_budget_and_bad_letters() -> None:
    problem = bv.single_level(f="cos(x1)", x="x1")
    run = bv.solve(problem, "cubic-newton", eps=1e-9, x0=[1.0], parameters={"M": 1e6, "T": 10**6}, budget=50)
    assert run.status == "budget"
    with pytest.raises(bv.ParameterError, match="'M'"):
        bv.solve(problem, "cubic-newton", eps=1e-3, x0=[1.0], parameters={"M": -1.0, "T": 5})
    with pytest.raises(bv.ParameterError, match="'m'"):
        bv.solve(problem, "lazy-cubic-newton", eps=1e-3, x0=[1.0], parameters={"M": 1.0, "T": 5, "m": 0})


def test_indefinite_lower_level_is_named() -> None:
    problem = bv.bilevel(f="x1*y1", g="y1**2/2 - y1**4 + x1*y1", x="x1", y="y1")
    letters = {**PENALTY, "M": 40.0, "T": 25}
    with pytest.raises(bv.MathematicalError, match="not positive definite"):
        bv.solve(problem, "fsba", eps=0.01, x0=[3.0], y0=[2.0], parameters=letters | {"l1": 1e6, "l2": 1e7})
