"""Zoo entries on data that ship inside scikit-learn (skipped where it is absent)."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from bilevel_verify import oracles
from bilevel_verify.errors import MissingExtraError
from bilevel_verify.problems import zoo
from bilevel_verify.problems.catalogue import record

ENTRIES = [r.name for r in zoo() if r.extra]
DIGITS = ("digits-ridge", "digits-ridge-64")
HERE = importlib.util.find_spec("sklearn") is not None


def test_entries_are_listed_without_the_extra():
    assert set(ENTRIES) == {"cancer-logistic", "cancer-cleaning", "wine-cleaning", "iris-softmax", *DIGITS}
    assert all(record(n).extra == "data" for n in ENTRIES)


@pytest.mark.skipif(HERE, reason="extra: scikit-learn is installed")
@pytest.mark.parametrize("name", ENTRIES)
def test_absence_is_named(name):
    with pytest.raises(MissingExtraError, match=r"bilevel-verify\[data\]"):
        zoo(name)


def logistic(A, b, weights, w):
    return float(np.mean(weights * np.logaddexp(0, -b * (A @ w))))


def softmax_loss(A, B, w):
    scores = A @ w.reshape(A.shape[1], -1)
    return float(np.mean(np.logaddexp.reduce(scores, axis=1) - np.sum(scores * B, axis=1)))


def square_loss(A, B, weights, w):
    return float(np.mean(weights * np.sum((A @ w.reshape(A.shape[1], -1) - B) ** 2, axis=1)) / 2)


def expit(x):
    return 1 / (1 + np.exp(-x))


LOWER = {
    "cancer-logistic": lambda d, x, w: logistic(d["A"], d["b"], 1, w) + np.exp(x[0]) * (w @ w) / 2,
    "cancer-cleaning": lambda d, x, w: logistic(d["A"], d["b"], expit(x), w) + 0.01 * (w @ w),
    "wine-cleaning": lambda d, x, w: square_loss(d["A"], d["B"], expit(x), w) + 0.001 * (w @ w),
    "iris-softmax": lambda d, x, w: softmax_loss(d["A"], d["B"], w) + np.exp(x) @ np.sum(w.reshape(5, 3) ** 2, 1) / 2,
}
UPPER = {
    "cancer-logistic": lambda d, w: logistic(d["Av"], d["bv"], 1, w),
    "cancer-cleaning": lambda d, w: logistic(d["Av"], d["bv"], 1, w),
    "wine-cleaning": lambda d, w: square_loss(d["Av"], d["Bv"], 1, w),
    "iris-softmax": lambda d, w: softmax_loss(d["Av"], d["Bv"], w),
}
"""The same losses, written with NumPy."""


@pytest.mark.extra
@pytest.mark.skipif(not HERE, reason="extra: needs scikit-learn")
@pytest.mark.parametrize("name", [n for n in ENTRIES if n not in DIGITS])
def test_formulas_and_value_at_zero(name):
    from scipy.optimize import minimize

    problem = zoo(name)
    generator = np.random.default_rng(1)
    x, w = generator.uniform(-1, 1, problem.dx), generator.uniform(-0.3, 0.3, problem.dy)
    values = oracles(problem)
    assert values.value_g(x, w) == pytest.approx(LOWER[name](problem.data, x, w), rel=1e-12)
    assert values.value_f(x, w) == pytest.approx(UPPER[name](problem.data, w), rel=1e-12)
    zero = np.zeros(problem.dx)
    lower = lambda v: LOWER[name](problem.data, zero, v)
    y = minimize(lower, np.zeros(problem.dy), method="BFGS", options={"gtol": 1e-7, "maxiter": 2000}).x
    assert UPPER[name](problem.data, y) == pytest.approx(float(problem.known["values"]["phi_0"]), abs=2e-6)


class Digits:
    """The ridge problem on the raw digits, in closed form."""

    def __init__(self):
        from sklearn.datasets import load_digits

        data = load_digits()
        pixels, labels = data.data / 16, np.eye(10)[data.target] - 0.1
        (self.P, self.B), (self.Pv, self.Bv) = ((pixels[a::2], labels[a::2]) for a in (0, 1))
        self.G, self.c = self.P.T @ self.P / len(self.P), self.P.T @ self.B / len(self.P)
        self.Gv, self.cv = self.Pv.T @ self.Pv / len(self.Pv), self.Pv.T @ self.Bv / len(self.Pv)
        self.rest = 0.5 * np.sum(self.Bv**2) / len(self.Pv)

    def solve(self, lam):
        return np.linalg.solve(self.G + np.diag(np.exp(np.broadcast_to(lam, 64))), self.c)

    def upper(self, W):
        return 0.5 * np.sum((self.Pv @ W - self.Bv) ** 2) / len(self.Pv)

    def lower(self, lam, W):
        fit = 0.5 * np.sum((self.P @ W - self.B) ** 2) / len(self.P)
        return fit + 0.5 * np.exp(np.broadcast_to(lam, 64)) @ np.sum(W**2, axis=1)

    def phi(self, lam):
        W = self.solve(lam)
        return np.sum(W * (0.5 * self.Gv @ W - self.cv)) + self.rest

    def phi_and_gradient(self, lam):
        W = self.solve(lam)
        V = np.linalg.solve(self.G + np.diag(np.exp(lam)), self.Gv @ W - self.cv)
        return np.sum(W * (0.5 * self.Gv @ W - self.cv)) + self.rest, -np.exp(lam) * np.sum(W * V, axis=1)


@pytest.mark.extra
@pytest.mark.skipif(not HERE, reason="extra: needs scikit-learn")
def test_answers_of_the_digits():
    from scipy.optimize import minimize, minimize_scalar

    digits, one, many = Digits(), record("digits-ridge").known, record("digits-ridge-64").known
    assert digits.phi(0.0) == pytest.approx(float(one["values"]["phi_0"]), abs=5e-9)
    grid = np.linspace(-12, 2, 141)
    near = grid[np.argmin([digits.phi(v) for v in grid])]
    best = minimize_scalar(digits.phi, bounds=(near - 0.1, near + 0.1), method="bounded", options={"xatol": 1e-10})
    assert best.fun == pytest.approx(float(one["minimum"]), abs=1e-9)
    assert best.x == pytest.approx(float(one["minimisers"][0][0]), abs=1e-4)
    exact = {"ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        digits.phi_and_gradient, np.full(64, -4.0), jac=True, method="L-BFGS-B", bounds=[(-12, 2)] * 64, options=exact
    )
    assert found.fun == pytest.approx(float(many["minimum"]), abs=1e-9)
    assert np.linalg.matrix_rank(digits.G) == 61  # so that mu = exp(lambda) is all there is


@pytest.mark.extra
@pytest.mark.skipif(not HERE, reason="extra: needs scikit-learn")
def test_oracles_of_the_digits_agree_with_the_raw_data():
    from bilevel_verify.oracles import oracles

    digits, problem = Digits(), zoo("digits-ridge")
    o, x = oracles(problem), np.array([float(problem.known["minimisers"][0][0])])
    W, random = digits.solve(x[0]), np.random.default_rng(2).uniform(-1, 1, (64, 10))
    for point in (W, random):
        assert o.value_f(x, point.ravel()) == pytest.approx(digits.upper(point), rel=1e-11)
        assert o.value_g(x, point.ravel()) == pytest.approx(digits.lower(x[0], point), rel=1e-11)
    assert o.value_f(x, W.ravel()) == pytest.approx(float(problem.known["minimum"]), abs=1e-9)
    gx, gy = o.grad_g(x, W.ravel())
    assert np.abs(gy).max() < 1e-12
    assert gx[0] == pytest.approx(np.exp(x[0]) * np.sum(W**2) / 2, rel=1e-11)
    null = np.linalg.eigh(digits.G)[1][:, 0]
    flat = np.outer(null, np.ones(10)).ravel()
    assert o.hvp_yy_g(x, W.ravel(), flat) == pytest.approx(np.exp(x[0]) * flat, abs=1e-12)
    V = np.linalg.solve(digits.G + np.exp(x[0]) * np.eye(64), digits.Pv.T @ (digits.Pv @ W - digits.Bv) / 898)
    assert o.jvp_xy_g(x, W.ravel(), V.ravel())[0] == pytest.approx(0.0, abs=1e-8)  # phi' = 0
