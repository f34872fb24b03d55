"""A float solution of the constrained lower level: where to look for the face; nothing is claimed about it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.symbolic.arithmetics import PythonFloat
from bilevel_verify.truth.constrained.faces import Polyhedron
from bilevel_verify.truth.functions.model import Function

FloatArray = NDArray[np.float64]
MOST_STEPS = 500


def guess(lower: Function, polyhedron: Polyhedron, x: FloatArray) -> FloatArray:
    """Minimiser over the polyhedron by sequential quadratic programming from its middle, shape (dy,)."""
    from scipy.optimize import Bounds, LinearConstraint, minimize

    low, high = polyhedron.floats
    start = _middle(low, high, polyhedron)
    program, arithmetic = lower.value_and_gradient, PythonFloat()

    def first_order(y: FloatArray) -> list[float]:
        return program.run(arithmetic, [*map(float, x), *map(float, y)])

    sums = [] if polyhedron.total is None else [float(polyhedron.total)]
    options: dict[str, object] = {
        "jac": lambda y: np.array(first_order(y)[1 + lower.dx :]),
        "bounds": Bounds(low, high),
        "constraints": [LinearConstraint(np.ones((1, len(low))), total, total) for total in sums],
        "options": {"maxiter": MOST_STEPS, "ftol": 1e-15},
    }
    with np.errstate(all="ignore"):
        found = minimize(lambda y: first_order(y)[0], start, method="SLSQP", **options)  # type: ignore[call-overload]
    result: FloatArray = np.clip(np.asarray(found.x, dtype=float), low, high)
    return result


def _middle(low: FloatArray, high: FloatArray, polyhedron: Polyhedron) -> FloatArray:
    if polyhedron.total is not None:
        return np.full(len(low), float(polyhedron.total) / len(low))
    inside = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (low + high), 0.0)
    return np.clip(inside, low, high)
