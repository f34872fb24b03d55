"""A solver in SciPy style under test: ``minimize`` below, ``cg`` for the adjoint."""

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from bilevel_verify.testing import assert_hypergradient, assert_linear_solver


def solve(apply, b, tolerance):
    operator = LinearOperator((len(b), len(b)), matvec=lambda v: apply(np.ravel(v)), dtype=float)
    return cg(operator, b, rtol=tolerance / 10, atol=0.0)[0]


def hypergradient(oracles, x):
    fun = lambda y: (oracles.value_g(x, y), oracles.grad_y_g(x, y))
    y = minimize(fun, np.zeros(oracles.dy), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    v = solve(lambda d: oracles.hvp_yy_g(x, y, d), oracles.grad_y_f(x, y), 1e-10)
    return oracles.grad_x_f(x, y) - oracles.jvp_xy_g(x, y, v)


def test_scipy_style():
    assert_linear_solver(solve, products=lambda n, kappa: 4 * n + 10)
    assert_hypergradient(hypergradient, tolerance=1e-4)
