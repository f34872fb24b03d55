"""IFSBA and IMCN against line-by-line transcriptions with matrices, exact counts, saddles and maxima included."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.methods.cubic.chebyshev import approximate_inverse, error_bound
from bilevel_verify.methods.cubic.descent import ArrayOperator, cubic_solver, final_cubic_solver

F = "sin(x1 + x2/2) + cos(2*y1 - x1)/2 + x2*y1/8 + cos(y2)/3"
G = "3*y1**2/4 + y2**2/2 - x1*y1/2 + y1*y2/4 + cos(x2 + y1)/4"
LETTERS = {"M": 40.0, "T": 6, "eps": 0.05, "L": 6.0, "K_c": 5, "sigma": 1e-3, "K_p": 4, "lam": 12.0, "K1": 4, "K2": 7}
LETTERS |= {"l1": 2.0, "l2": 30.0, "kappa1": 4.0, "kappa2": 12.0, "mu": 0.5}


def f_parts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian of f over (x, y), by hand."""
    a, b = x[0] + x[1] / 2, 2 * y[0] - x[0]
    gradient = [np.cos(a) + np.sin(b) / 2, np.cos(a) / 2 + y[0] / 8, -np.sin(b) + x[1] / 8, -np.sin(y[1]) / 3]
    hessian = np.zeros((4, 4))
    hessian[:2, :2] = [[-np.sin(a) - np.cos(b) / 2, -np.sin(a) / 2], [-np.sin(a) / 2, -np.sin(a) / 4]]
    hessian[0, 2] = hessian[2, 0] = np.cos(b)
    hessian[1, 2] = hessian[2, 1] = 1 / 8
    hessian[2, 2], hessian[3, 3] = -2 * np.cos(b), -np.cos(y[1]) / 3
    return np.array(gradient), hessian


def g_parts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of g."""
    c = x[1] + y[0]
    gradient = [
        -y[0] / 2,
        -np.sin(c) / 4,
        1.5 * y[0] - x[0] / 2 + y[1] / 4 - np.sin(c) / 4,
        y[1] + y[0] / 4,
    ]
    hessian = np.array([[0, 0, -0.5, 0], [0, 0, 0, 0], [-0.5, 0, 1.5, 0.25], [0, 0, 0.25, 1.0]])
    hessian[np.ix_([1, 2], [1, 2])] -= np.cos(c) / 4
    return np.array(gradient), hessian


def chebyshev_matrix(X: np.ndarray, low: float, high: float, order: int) -> np.ndarray:
    """Lemma E.1 with matrices."""
    eye = np.eye(len(X))
    Z = 2 / (high - low) * (X - (high + low) / 2 * eye)
    c = [
        2 / np.sqrt(high * low) * ((np.sqrt(low / high) - 1) / (np.sqrt(low / high) + 1)) ** k for k in range(order + 1)
    ]
    T = [eye, Z]
    for _ in range(2, order + 1):
        T.append(2 * Z @ T[-1] - T[-2])
    total = c[0] / 2 * eye
    for k in range(1, order + 1):
        total = total + c[k] * T[k]
    return total


def naive_agd(gradient, z: np.ndarray, K: int, ell: float, kappa: float) -> np.ndarray:
    """Algorithm 1."""
    theta = (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)
    zt = z
    for _ in range(K):
        following = zt - gradient(zt) / ell
        zt = following + theta * (following - z)
        z = following
    return z


def naive_algorithm_6(g, C, q, zeta, counts, each):
    """Algorithm 6, with the number of products that it takes."""
    M, L = q["M"], q["L"]
    if np.linalg.norm(g) >= L**2 / M:
        c = g @ C @ g / (M * np.linalg.norm(g) ** 2)
        s = -(-c + np.sqrt(c**2 + 2 * np.linalg.norm(g) / M)) * g / np.linalg.norm(g)
        products = 2
    else:
        s, gt = np.zeros(len(g)), g + q["sigma"] * zeta if zeta is not None else g
        for _ in range(q["K_c"]):
            s = s - 1 / (20 * L) * (gt + C @ s + M / 2 * np.linalg.norm(s) * s)
        products = q["K_c"] + 1
    for kind, number in each.items():
        counts[kind] += products * number
    return s, g @ s + s @ C @ s / 2 + M / 6 * np.linalg.norm(s) ** 3


def naive_algorithm_7(g, C, q, counts, each):
    """Algorithm 7."""
    s, gt = np.zeros(len(g)), g
    while np.linalg.norm(gt) > q["eps"] / 2:
        s = s - gt / (20 * q["L"])
        gt = g + C @ s + q["M"] / 2 * np.linalg.norm(s) * s
        for kind, number in each.items():
            counts[kind] += number
    return s


def naive_ifsba(x: np.ndarray, q: dict, zetas: np.ndarray, counts: Counter) -> list[np.ndarray]:
    """Algorithm 3 line by line, with (48)'s threshold and Lemma E.1's coefficients."""
    lam, rows = q["lam"], [x]
    y, w, drawn = np.zeros(2), np.zeros(2), 0
    each = {"hvp_f": 1, "hvp_g": 2, "hvp_yy_g": 2 * q["K_p"], "hvp_yy_f": q["K_p"], "jvp_xy_g": 2, "jvp_xy_f": 1}
    for _ in range(q["T"]):
        w = naive_agd(lambda z, x=x: g_parts(x, z)[0][2:], w, q["K1"], q["l1"], q["kappa1"])
        y = naive_agd(
            lambda z, x=x: f_parts(x, z)[0][2:] + lam * g_parts(x, z)[0][2:], y, q["K2"], q["l2"], q["kappa2"]
        )
        counts["grad_g"] += q["K1"] + q["K2"] + 2
        counts["grad_f"] += q["K2"] + 1
        (fg, fh), (gg, gh), (hg, hh) = f_parts(x, y), g_parts(x, y), g_parts(x, w)
        g = fg[:2] + lam * (gg[:2] - hg[:2])
        mixed, lower = fh[:2, 2:] + lam * gh[:2, 2:], fh[2:, 2:] + lam * gh[2:, 2:]
        C1 = chebyshev_matrix(hh[2:, 2:], q["mu"], q["l1"], q["K_p"])
        C2 = chebyshev_matrix(lower, lam * q["mu"] / 2, q["l2"], q["K_p"])
        C = fh[:2, :2] + lam * (gh[:2, :2] - hh[:2, :2])
        C = C + lam * hh[:2, 2:] @ C1 @ hh[2:, :2] - mixed @ C2 @ mixed.T
        large = np.linalg.norm(g) >= q["L"] ** 2 / q["M"]
        s, value = naive_algorithm_6(g, C, q, None if large else zetas[drawn % len(zetas)], counts, each)
        drawn += not large
        if value > -np.sqrt(q["eps"] ** 3 / q["M"]) / 128:
            rows.append(x + naive_algorithm_7(g, C, q, counts, each))
            break
        x = x + s
        rows.append(x)
    return rows


@pytest.mark.parametrize("x0", [(0.8, -0.3), (-1.0, 0.4), (2.0, 1.0), (-1.2, -0.55)])
@pytest.mark.parametrize("change", [{}, {"M": 400.0, "K_c": 40}, {"K_p": 0}, {"K_p": 1, "eps": 2.0}])
def test_ifsba_step_for_step(x0: tuple[float, float], change: dict) -> None:
    q = {**LETTERS, **change}
    zetas = np.array([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0]])
    counts: Counter = Counter()
    rows = naive_ifsba(np.array(x0), q, zetas, counts)
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2")
    run = bv.solve(problem, "ifsba", x0=list(x0), parameters=q, noise=(q["sigma"] * zetas).tolist())
    assert run.iterations == len(rows) - 1
    np.testing.assert_allclose(run.trace.x, np.array(rows), rtol=1e-10, atol=1e-10)
    assert {k: v for k, v in run.counts.items() if v} == {k: v for k, v in counts.items() if v}
    assert not {"hess_f", "hess_g"} & set(run.counts)


def test_derivatives_of_the_transcription_are_right() -> None:
    o, x, y = bv.oracles(bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2")), np.array([0.3, -0.7]), np.array([0.4, 0.2])
    for parts, gradient, hessian in ((f_parts, o.grad_f, o.hess_f), (g_parts, o.grad_g, o.hess_g)):
        np.testing.assert_allclose(np.concatenate(gradient(x, y)), parts(x, y)[0], atol=1e-14)
        xx, xy, yy = hessian(x, y)
        np.testing.assert_allclose(np.block([[xx, xy], [xy.T, yy]]), parts(x, y)[1], atol=1e-14)


def minimax_parts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos(x1) + x1 x2/3 + x1 y1/2 + x2 y2 - y1^2 - y2^2 - y1 y2/2 - log(cosh(y1))/2: gradient and Hessian."""
    gradient = [
        -np.sin(x[0]) + x[1] / 3 + y[0] / 2,
        x[0] / 3 + y[1],
        x[0] / 2 - 2 * y[0] - y[1] / 2 - np.tanh(y[0]) / 2,
        x[1] - 2 * y[1] - y[0] / 2,
    ]
    hessian = np.array([[-np.cos(x[0]), 1 / 3, 0.5, 0], [1 / 3, 0, 0, 1], [0.5, 0, 0, -0.5], [0, 1, -0.5, -2.0]])
    hessian[2, 2] = -2 - 1 / (2 * np.cosh(y[0]) ** 2)
    return np.array(gradient), hessian


SADDLE = "cos(x1) + x1*x2/3 + x1*y1/2 + x2*y2 - y1**2 - y2**2 - y1*y2/2 - log(cosh(y1))/2"
ASCENT = {
    "M": 5.0,
    "T": 12,
    "eps": 1e-3,
    "L": 3.0,
    "K_c": 60,
    "sigma": 1e-4,
    "K_p": 6,
    "K": 5,
    "l1": 3.2,
    "kappa1": 2.5,
}


@pytest.mark.parametrize("x0", [(0.01, 0.0), (0.0, 0.0), (2.0, -1.0)])
def test_imcn_step_for_step(x0: tuple[float, float]) -> None:
    q, x, y, counts, drawn = ASCENT, np.array(x0), np.zeros(2), Counter(), 0
    rows, zetas = [x], np.array([[0.6, 0.8], [-1.0, 0.0]])
    each = {"hvp_f": 1, "hvp_yy_f": q["K_p"], "jvp_xy_f": 1}
    for _ in range(q["T"]):
        y = naive_agd(lambda z, x=x: -minimax_parts(x, z)[0][2:], y, q["K"], q["l1"], q["kappa1"])
        gradient, H = minimax_parts(x, y)
        counts["grad_f"] += q["K"] + 1
        g, low = gradient[:2], q["l1"] / q["kappa1"]
        C = H[:2, :2] + H[:2, 2:] @ chebyshev_matrix(-H[2:, 2:], low, q["l1"], q["K_p"]) @ H[2:, :2]
        large = np.linalg.norm(g) >= q["L"] ** 2 / q["M"]
        s, value = naive_algorithm_6(g, C, q, None if large else zetas[drawn % 2], counts, each)
        drawn += not large
        last = value > -np.sqrt(q["eps"] ** 3 / q["M"]) / 128
        x = x + (naive_algorithm_7(g, C, q, counts, each) if last else s)
        rows.append(x)
        if last:
            break
    problem = bv.minimax(f=SADDLE, x="x1 x2", y="y1 y2")
    noise = (q["sigma"] * zetas).tolist()
    run = bv.solve(problem, "imcn", x0=list(x0), parameters=q, noise=noise)
    np.testing.assert_allclose(run.trace.x, np.array(rows), rtol=1e-10, atol=1e-10)
    assert {k: v for k, v in run.counts.items() if v} == dict(counts)


def test_fifty_digits_agree_and_the_seed_decides() -> None:
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2")
    first, again = (bv.solve(problem, "ifsba", x0=[0.8, -0.3], parameters=LETTERS, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.trace.x, again.trace.x)
    assert first.seed == 4
    precise = bv.solve(problem, "ifsba", x0=[0.8, -0.3], parameters=LETTERS, seed=4, digits=50)
    assert precise.iterations == first.iterations
    assert dict(precise.counts) == dict(first.counts)
    np.testing.assert_allclose(precise.trace.x.astype(float), first.trace.x, atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 5, 20, 60])
def test_chebyshev_error_is_below_lemma_e_1(order: int) -> None:
    rng = np.random.default_rng(order)
    for kappa in (1.5, 7.0, 90.0):
        values = rng.uniform(1 / kappa, 1.0, 6) * 0.9
        values[:2] = 0.9 / kappa, 0.9
        basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        X = (basis * values) @ basis.T
        applied = np.array([approximate_inverse(lambda u, X=X: X @ u, 0.9 / kappa, 0.9, order, e) for e in np.eye(6)]).T
        error = np.linalg.norm(applied - np.linalg.inv(X), 2)
        assert error <= error_bound(0.9 / kappa, 0.9, order) * (1 + 1e-9) + 1e-12 * kappa
        np.testing.assert_allclose(applied, chebyshev_matrix(X, 0.9 / kappa, 0.9, order), atol=1e-11 * kappa)
        literal = approximate_inverse(lambda u, X=X: X @ u, 0.9 / kappa, 0.9, order, np.ones(6), literal=True)
        np.testing.assert_allclose(1.8 * literal, applied @ np.ones(6), rtol=1e-9, atol=1e-9)


def test_cauchy_step_minimises_along_the_gradient_and_algorithm_7_ends_flat() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        H = rng.standard_normal((4, 4))
        H, g, M = (H + H.T) / 2, rng.standard_normal(4) * 50, 4.0
        L = float(np.linalg.norm(H, 2))
        found = cubic_solver(g, ArrayOperator(lambda v, H=H: H @ v), M, 0.1, 3, lambda: np.zeros(4))
        assert found.cauchy
        values = [cubic_value(g, H, M, t * found.s) for t in (0.9, 0.99, 1.0, 1.01, 1.1)]
        assert min(values) == values[2]
        assert found.value == pytest.approx(values[2])
        eps = 1e-3
        s = final_cubic_solver(g / 500, ArrayOperator(lambda v, H=H: H @ v), M, L, eps, 10**6)
        assert np.linalg.norm(g / 500 + H @ s + M / 2 * np.linalg.norm(s) * s) <= eps / 2


def cubic_value(g: np.ndarray, H: np.ndarray, M: float, s: np.ndarray) -> float:
    """The cubic model."""
    return float(g @ s + s @ H @ s / 2 + M / 6 * np.linalg.norm(s) ** 3)


def test_the_literal_variant_differs_and_is_visible() -> None:
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2")
    run = bv.solve(problem, "ifsba", x0=[0.8, -0.3], parameters=LETTERS, seed=4)
    literal = bv.solve(problem, "ifsba:literal", x0=[0.8, -0.3], parameters=LETTERS, seed=4)
    assert literal.method == "ifsba:literal"
    assert not np.array_equal(run.trace.x, literal.trace.x)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"M": 0.0}, "'M'"),
        ({"L": -1.0}, "'L'"),
        ({"K_c": 0}, "'K_c'"),
        ({"K_p": -1}, "'K_p'"),
        ({"sigma": -1.0}, "'sigma'"),
    ],
)
def test_bad_letters(change: dict, said: str) -> None:
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2")
    with pytest.raises(bv.ParameterError, match=said):
        bv.solve(problem, "ifsba", x0=[0.8, -0.3], parameters={**LETTERS, **change})


@pytest.mark.parametrize("name", ["ifsba", "ifsba:literal", "imcn", "fsba"])
def test_machine_code_takes_the_same_steps_with_the_same_counts(name: str) -> None:
    """A problem asked often enough is compiled; compiled=False never is."""
    bilevel = not name.startswith("imcn")
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2") if bilevel else bv.minimax(f=SADDLE, x="x1 x2", y="y1 y2")
    letters = {**LETTERS, "T": 4, "K_c": 60, "K1": 300} if bilevel else {**ASCENT, "K_c": 200, "K": 300}
    runs = [
        bv.solve(problem, name, x0=[0.3, -0.3], parameters=letters, seed=3, compiled=c) for c in (None, None, False)
    ]
    for run in runs[1:]:
        assert dict(run.counts) == dict(runs[0].counts)
        np.testing.assert_allclose(run.trace.x, runs[0].trace.x, rtol=1e-11, atol=1e-11)


def test_a_budget_ends_machine_code_too() -> None:
    problem = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2")
    for budget in (5_000, 20_000, 60_000):
        run = bv.solve(problem, "ifsba", x0=[0.3, -0.3], parameters={**LETTERS, "T": 500, "K_c": 200}, budget=budget)
        assert run.status == "budget"
        assert sum(run.counts.values()) <= budget + 200
