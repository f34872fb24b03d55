"""Zoo entries on data that ship inside scikit-learn (skipped where it is absent)."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from bilevel_verify.errors import MissingExtraError
from bilevel_verify.problems import zoo
from bilevel_verify.problems.catalogue import record

ENTRIES = [r.name for r in zoo() if r.extra]
HERE = importlib.util.find_spec("sklearn") is not None


def test_entries_are_listed_without_the_extra():
    assert set(ENTRIES) == {"cancer-logistic", "cancer-cleaning", "wine-cleaning", "iris-softmax"}
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
@pytest.mark.parametrize("name", ENTRIES)
def test_formulas_and_value_at_zero(name):
    import sympy
    from scipy.optimize import minimize

    from bilevel_verify.atoms import lambdify_modules

    problem = zoo(name)
    generator = np.random.default_rng(1)
    x, w = generator.uniform(-1, 1, problem.dx), generator.uniform(-0.3, 0.3, problem.dy)
    for expression, want in [(problem.g, LOWER[name](problem.data, x, w)), (problem.f, UPPER[name](problem.data, w))]:
        function = sympy.lambdify([problem.variables], expression, modules=lambdify_modules())
        assert float(function([*x, *w])) == pytest.approx(want, rel=1e-12)
    zero = np.zeros(problem.dx)
    lower = lambda v: LOWER[name](problem.data, zero, v)
    y = minimize(lower, np.zeros(problem.dy), method="BFGS", options={"gtol": 1e-7, "maxiter": 2000}).x
    assert UPPER[name](problem.data, y) == pytest.approx(float(problem.known["values"]["phi_0"]), abs=2e-6)
