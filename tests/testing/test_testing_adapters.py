"""Solvers written in SciPy style under test, each adapter in a few lines."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from bilevel_verify.testing import Profile, assert_hypergradient, assert_linear_solver

SHORT = Profile("short", 10, seconds=30)


def scipy_solver(apply, b, tolerance):
    n = len(b)
    operator = LinearOperator((n, n), matvec=lambda v: apply(np.ravel(v)), dtype=float)
    return cg(operator, b, rtol=tolerance / 10, atol=0.0)[0]


def scipy_hypergradient(oracles, x):
    def lower(y):
        return oracles.value_g(x, y), oracles.grad_y_g(x, y)

    y = minimize(lower, np.zeros(oracles.dy), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    v = scipy_solver(lambda d: oracles.hvp_yy_g(x, y, d), oracles.grad_y_f(x, y), 1e-10)
    return oracles.grad_x_f(x, y) - oracles.jvp_xy_g(x, y, v)


def test_scipy_conjugate_gradients():
    assert_linear_solver(scipy_solver, profile_=SHORT, products=lambda n, kappa: 4 * n + 10)


def test_scipy_hypergradient():
    assert_hypergradient(scipy_hypergradient, tolerance=1e-4, profile_=SHORT)
