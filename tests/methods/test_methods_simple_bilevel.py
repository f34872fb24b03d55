"""Simple bilevel methods against naive transcriptions on the unit disc; sub-problems by general solvers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import sympy
from scipy.optimize import minimize

import bilevel_verify as bv
from bilevel_verify.methods.simple.geometry import linear_minimum, linear_minimum_with_cut


def disc(v: np.ndarray) -> np.ndarray:
    """Projection onto the unit ball."""
    return v / max(1.0, float(np.linalg.norm(v)))


def general(v: np.ndarray, c: np.ndarray, b: float) -> np.ndarray:
    """Projection onto ball and half-space by Dykstra's method: nothing of the project in it."""
    z, p, q = v.copy(), np.zeros_like(v), np.zeros_like(v)
    for _ in range(200_000):
        y = disc(z + p)
        p = z + p - y
        following = y + q
        excess = c @ following - b
        following = following - max(0.0, excess) / (c @ c) * c
        q = y + q - following
        if np.max(np.abs(following - z)) < 1e-15 and np.max(np.abs(following - y)) < 1e-14:
            return following
        z = following
    return z


class Toy:
    """f = |x - a|^2/2, g = (u.x - beta)^2/2 on the unit disc in the plane."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.a = np.round(rng.uniform(-1.5, 1.5, 2), 2)
        self.u = np.round(rng.uniform(-2, 2, 2), 1) + 0.05
        self.beta = round(float(rng.uniform(-0.5, 0.5)), 2)
        self.x0 = disc(np.round(rng.uniform(-0.7, 0.7, 2), 2))
        self.problem = bv.simple_bilevel(
            f=f"((x1 - ({self.a[0]}))**2 + (x2 - ({self.a[1]}))**2)/2",
            g=f"(({self.u[0]})*x1 + ({self.u[1]})*x2 - ({self.beta}))**2/2",
            x="x1 x2",
            feasible=bv.Ball(radius=1),
        )
        self.L_g = float(self.u @ self.u)

    def df(self, x: np.ndarray) -> np.ndarray:
        return x - self.a

    def dg(self, x: np.ndarray) -> np.ndarray:
        return (self.u @ x - self.beta) * self.u

    def g(self, x: np.ndarray) -> float:
        return float((self.u @ x - self.beta) ** 2 / 2)


def agm_bio(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    x = z = t.x0
    A, rows = 0.0, [x]
    u = w = t.x0
    s, best = 1.0, np.inf
    for k in range(int(q["K"])):
        following = disc(w - t.dg(w) / q["L_g"])
        later = (1 + np.sqrt(1 + 4 * s * s)) / 2
        w, u, s = following + (s - 1) / later * (following - u), following, later
        best = min(best, t.g(u))
        a = q["gamma"] * (k + 1) / (4 * q["L_f"])
        y = A / (A + a) * x + a / (A + a) * z
        c = t.dg(y)
        v = z - a * t.df(y)
        z = disc(v) if not np.any(c) else general(v, c, best - t.g(y) + c @ y)
        x = A / (A + a) * x + a / (A + a) * z
        A += a
        rows.append(x)
    return rows


def a_irg(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    rows = [t.x0]
    for k in range(int(q["K"])):
        x = rows[-1]
        step = q["gamma0"] / np.sqrt(k + 1)
        rows.append(disc(x - step * (t.dg(x) + q["eta0"] / (k + 1) ** q["b"] * t.df(x))))
    return rows


def bi_sg(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    rows = [t.x0]
    for k in range(int(q["K"])):
        y = disc(rows[-1] - q["t"] * t.dg(rows[-1]))
        rows.append(y - q["c"] / (k + 1) ** q["alpha"] * t.df(y))
    return rows


def big_sam(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    rows = [t.x0]
    for k in range(1, int(q["K"]) + 1):
        x, alpha = rows[-1], min(q["c"] / k, 1.0)
        rows.append(alpha * (x - q["s"] * t.df(x)) + (1 - alpha) * disc(x - q["t"] * t.dg(x)))
    return rows


def fista(t: Toy, gradient: Callable[[np.ndarray], np.ndarray], step: float, K: int) -> list[np.ndarray]:
    rows, y, s = [t.x0], t.x0, 1.0
    for _ in range(K):
        x = disc(y - step * gradient(y))
        later = (1 + np.sqrt(1 + 4 * s * s)) / 2
        y, s = x + (s - 1) / later * (x - rows[-1]), later
        rows.append(x)
    return rows


def r_apm(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    return fista(t, lambda y: t.dg(y) + q["eta"] * t.df(y), q["gamma"], int(q["K"]))


def pb_apg(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    step = 1 / (q["L_f"] + q["penalty"] * q["L_g"])
    return fista(t, lambda y: t.df(y) + q["penalty"] * t.dg(y), step, int(q["K"]))


def dbgd(t: Toy, q: dict[str, float]) -> list[np.ndarray]:
    rows = [t.x0]
    for _ in range(int(q["K"])):
        x = rows[-1]
        a, b = t.df(x), t.dg(x)
        weight = 0.0
        if b @ b > 0:
            phi = min(q["a"] * (t.g(x) - q["g_hat"]), q["b"] * (b @ b))
            weight = max((phi - a @ b) / (b @ b), 0.0)
        rows.append(disc(x - q["s"] * (a + weight * b)))
    return rows


LETTERS = {
    "agm-bio": {"gamma": 1.0, "L_f": 1.0, "K": 25},
    "a-irg": {"gamma0": 0.2, "eta0": 0.8, "b": 0.25, "rho": 0.5, "K": 40},
    "bi-sg": {"t": 0.1, "c": 0.5, "alpha": 0.75, "K": 40},
    "big-sam": {"t": 0.1, "s": 1.0, "c": 3.0, "K": 40},
    "r-apm": {"eta": 0.02, "gamma": 0.1, "K": 40},
    "pb-apg": {"penalty": 20.0, "L_f": 1.0, "K": 40},
    "dbgd": {"s": 0.05, "a": 1.0, "b": 1.0, "g_hat": 0.0, "K": 40},
}
NAIVE = {"agm-bio": agm_bio, "a-irg": a_irg, "bi-sg": bi_sg, "big-sam": big_sam, "r-apm": r_apm, "pb-apg": pb_apg}
NAIVE |= {"dbgd": dbgd}


@pytest.mark.parametrize("name", sorted(NAIVE))
def test_step_for_step(name: str) -> None:
    for seed in range(20):
        toy = Toy(seed)
        letters = {**LETTERS[name], "L_g": toy.L_g}
        run = bv.solve(toy.problem, name, x0=list(toy.x0), parameters=letters)
        rows = np.array(NAIVE[name](toy, letters))
        tolerance = 1e-7 if name == "agm-bio" else 1e-12
        np.testing.assert_allclose(run.trace.x, rows, atol=tolerance, rtol=tolerance)
        assert run.counts["grad_f"] == letters["K"]
        assert run.counts["grad_g"] == letters["K"] * (2 if name == "agm-bio" else 1)


def test_a_planted_mistake_is_seen() -> None:
    toy = Toy(0)
    letters = {**LETTERS["bi-sg"], "L_g": toy.L_g}
    run = bv.solve(toy.problem, "bi-sg", x0=list(toy.x0), parameters=letters)
    wrong = np.array(bi_sg(toy, {**letters, "alpha": 0.8}))
    assert np.max(np.abs(run.trace.x - wrong)) > 1e-6


def test_minimal_norm_gradient_solves_its_sub_problem() -> None:
    for seed in range(10):
        toy = Toy(seed)
        run = bv.solve(toy.problem, "mng", x0=list(toy.a), parameters={"M": toy.L_g, "K": 5})
        for x, following in zip(run.trace.x, run.trace.x[1:]):
            mapping = toy.L_g * (x - disc(x - toy.dg(x) / toy.L_g))
            cuts = [
                {"type": "ineq", "fun": lambda z, x=x, m=mapping, L=toy.L_g: m @ (x - z) - 0.75 / L * m @ m},
                {"type": "ineq", "fun": lambda z, x=x, t=toy: t.df(x) @ (z - x)},
            ]
            found = minimize(lambda z, a=toy.a: (z - a) @ (z - a) / 2, following, constraints=cuts, tol=1e-12)
            np.testing.assert_allclose(following, found.x, atol=2e-6)


def test_minimal_norm_gradient_takes_no_half_space_from_rounding_errors() -> None:
    """From argmin f in floating point the gradient of f is noise: the first step is ``argmin f`` over Q_0 alone."""
    rng = np.random.default_rng(41005)
    feasible = bv.Ball(radius=2)
    x1, x2 = sympy.symbols("x1 x2", real=True)
    for _ in range(20):
        angle = Fraction(int(rng.integers(1, 9)), 10)
        c, s = (1 - angle**2) / (1 + angle**2), 2 * angle / (1 + angle**2)  # a rotation over the rationals
        u, v = (sympy.Rational(a.numerator, a.denominator) for a in (c, s))
        f = (u * x1 - v * x2) ** 2 / 2 + 2 * (v * x1 + u * x2) ** 2 - 3 * x1 + x2
        turn = np.array([[c, -s], [s, c]], dtype=float)
        hessian = turn.T @ np.diag([1.0, 4.0]) @ turn
        start = np.linalg.solve(hessian, [3.0, -1.0])
        g = 3 * (x1 - 2) ** 2 / 2 + x2**2
        problem = bv.simple_bilevel(f=f, g=g, x=[x1, x2], feasible=feasible)
        run = bv.solve(problem, "mng", x0=list(start), parameters={"M": 4.5, "K": 1})
        inner = start - np.array([3 * (start[0] - 2), 2 * start[1]]) / 4.5
        mapping = 4.5 * (start - inner / max(1.0, float(np.linalg.norm(inner)) / 2))
        along = np.linalg.solve(hessian, mapping)
        expected = start - along * (0.75 / 4.5) * (mapping @ mapping) / (mapping @ along)
        np.testing.assert_allclose(run.trace.x[1], expected, atol=1e-9)


def test_bisection_keeps_its_bracket() -> None:
    toy = Toy(3)
    letters = {"l": 0.0, "eps_f": 1e-3, "eps_g": 1e-4, "L_g": toy.L_g, "n_lower": 100, "n_level": 60}
    run = bv.solve(toy.problem, "bisec-bio", x0=list(toy.x0), parameters=letters)
    truth = bv.truth(toy.problem)
    assert toy.g(run.x) <= 1e-4
    assert abs((run.x - toy.a) @ (run.x - toy.a) / 2 - truth.f_star.value) <= 2e-2


@pytest.mark.parametrize(
    "feasible",
    [bv.Ball(radius=1.5), bv.Box([-1.0, 0.0, 0.0], [1.0, 2.0, 1.0]), bv.Simplex(total=2), bv.L1Ball(radius=1)],
)
def test_linear_minimisation_with_a_cut(feasible: object) -> None:
    from bilevel_verify.truth.sets.projections import contains, project

    rng = np.random.default_rng(11)
    for _ in range(100):
        p, c = rng.standard_normal(3), rng.standard_normal(3)
        inside = project(feasible, rng.standard_normal(3))  # type: ignore[arg-type]
        b = float(c @ inside) + 0.05
        s = linear_minimum_with_cut(feasible, p, c, b)  # type: ignore[arg-type]
        assert contains(feasible, s, 1e-9)  # type: ignore[arg-type]
        assert c @ s <= b + 1e-9
        for _ in range(60):
            other = project(feasible, 3 * rng.standard_normal(3))  # type: ignore[arg-type]
            if c @ other <= b:
                assert p @ other >= p @ s - 1e-9
        assert p @ linear_minimum(feasible, p) <= p @ s + 1e-12  # type: ignore[arg-type]


def test_bad_input_and_lost_digits() -> None:
    toy = Toy(1)
    base = {**LETTERS["agm-bio"], "L_g": toy.L_g}
    with pytest.raises(bv.ParameterError, match="feasible set"):
        bv.solve(toy.problem, "agm-bio", x0=[2.0, 2.0], parameters=base)
    with pytest.raises(bv.InfeasibleError, match="below g"):
        bv.solve(toy.problem, "agm-bio", x0=list(toy.x0), parameters={**base, "g_k": -50.0})
    with pytest.raises(bv.ParameterError, match="entries"):
        bv.solve(toy.problem, "agm-bio", x0=list(toy.x0), parameters={**base, "g_k": [1.0, 1.0]})
    with pytest.raises(bv.ParameterError, match="'K'"):
        bv.solve(toy.problem, "agm-bio", x0=list(toy.x0), parameters={**base, "K": 0})
    run = bv.solve(toy.problem, "agm-bio", x0=list(toy.x0), parameters={**base, "g_k": -1e-18, "K": 400})
    assert run.status in ("finished", "precision")
    assert np.all(np.isfinite(run.x))
