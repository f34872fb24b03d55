"""Correct helpers around problems, with switches: hyper-Hessians, constants, problems written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.references.hypergradients import implicit_hypergradient

if TYPE_CHECKING:
    from bilevel_verify.testing.instances.counting import CountedOracles

FloatArray = NDArray[np.float64]


def hyper_hessian(oracles: CountedOracles, x: FloatArray, fault: str = "") -> FloatArray:
    """Central differences of the hypergradient."""
    if fault == "second derivative through the solver is zero":
        return np.zeros((len(x), len(x)))
    h = 1e-1 if fault == "coarse differences" else 1e-4

    def gradient(z: FloatArray) -> FloatArray:
        return implicit_hypergradient(oracles, z, "implicit part zero" if fault == "direct part alone" else "")

    rows = [(gradient(x + h * unit) - gradient(x - h * unit)) / (2 * h) for unit in np.eye(len(x))]
    found = np.array(rows)
    if fault == "one-sided, factor 2":
        found = 2 * found
    if fault == "upper triangle only":
        found = np.triu(found)
    if fault == "diagonal only":
        found = np.diag(np.diag(found))
    return -found if fault == "wrong sign" else found


def constants_helper(instance: Any, fault: str = "") -> dict[str, float]:
    """mu, L, rho of a one-level function; the faults are what helpers that guess or sample return."""
    p = instance.p
    at = np.linalg.eigvalsh(p.hessian(np.zeros(p.dimension)))
    exact = {"mu": p.mu, "L": p.L, "rho": p.rho}
    wrong: dict[str, Callable[[], dict[str, float]]] = {
        "L of the Hessian at 0": lambda: {"L": float(max(abs(at)))},
        "mu of the Hessian at 0": lambda: {"mu": float(at[0])},
        "mu and L exchanged": lambda: {"mu": p.L, "L": p.mu},
        "L is 1 whatever the function": lambda: {"L": 1.0},
        "rho from the largest eigenvalue": lambda: {"rho": float(max(abs(at))) - 1.0},
        "rho of a quadratic": lambda: {"rho": 0.0},
        "trace for the largest eigenvalue, halved": lambda: {"L": float(np.sum(at)) / 2},
        "mu without the curvature of concave terms": lambda: {"mu": float(min(p.spectrum))},
    }
    return wrong[fault]() if fault in wrong else exact


ROSENBROCK = """kind = "single_level"
f = "(1 - x1)**2 + 100*(x2 - x1**2)**2"
x = "x1 x2"
[domain]
x1 = [-2, 2]
x2 = [-2, 2]
"""
BILEVEL = """kind = "bilevel"
f = "cos(x1) + x1*y1/2 + y1**2/2 - y2"
g = "3*y1**2/2 + y1*y2 + y2**2 + logcosh(y1) - x1*y1 - 2*x2*y2"
x = "x1 x2"
y = "y1 y2"
"""


def written_by_hand(name: str, fault: str = "") -> Mapping[str, Callable[..., object]]:
    """A problem as people write it down: ``rosenbrock`` (one level) or ``bilevel``."""
    return _rosenbrock(fault) if name == "rosenbrock" else _bilevel(fault)


def _rosenbrock(fault: str) -> Mapping[str, Callable[..., object]]:
    power = 1 if fault == "without the square" else 2

    def value(x: FloatArray) -> float:
        return float((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** power) ** 2)

    def gradient(x: FloatArray) -> FloatArray:
        valley = x[1] - x[0] ** 2
        first = -2 * (1 - x[0]) - (200 if fault == "factor 2 lost in the gradient" else 400) * x[0] * valley
        return np.array([first, 200 * valley])

    return {"value_f": value, "grad_x_f": gradient}


def _bilevel(fault: str) -> Mapping[str, Callable[..., object]]:
    half = 0.5 if fault == "1/2 on the cross term" else 1.0
    sign = -1.0 if fault == "a row of the KKT system with another sign" else 1.0

    def grad_y_g(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.array(
            [3 * y[0] + y[1] + np.tanh(y[0]) - half * x[0], y[0] + 2 * y[1] - sign * 2 * x[1]],
        )

    def hvp(x: FloatArray, y: FloatArray, v: FloatArray) -> FloatArray:
        curved = 0.0 if fault == "second derivative of the atom forgotten" else 1 - np.tanh(y[0]) ** 2
        return np.array([(3 + curved) * v[0] + v[1], v[0] + 2 * v[1]])

    def grad_y_f(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.array([x[0] / 2 + y[0], 1.0 if fault == "max for min above" else -1.0])

    def mixed(x: FloatArray, y: FloatArray, v: FloatArray) -> FloatArray:
        matrix = np.diag([-1.0, -2.0])
        return (np.flipud(matrix) if fault == "rows of the mixed block exchanged" else matrix) @ v

    return {"grad_y_g": grad_y_g, "hvp_yy_g": hvp, "grad_y_f": grad_y_f, "jvp_xy_g": mixed}
