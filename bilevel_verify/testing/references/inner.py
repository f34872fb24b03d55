"""Correct linear and inner solvers with switches for one deliberate mistake each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Apply = Callable[[FloatArray], FloatArray]
Gradient = Callable[[FloatArray], FloatArray]


def conjugate_gradients(apply: Apply, b: FloatArray, tolerance: float, fault: str = "") -> FloatArray:
    """Hestenes and Stiefel (1952); at most n + 2 products."""
    if fault == "mutates b":
        b -= apply(np.zeros_like(b)) + 1e-3
    v, r = np.zeros_like(b), b.copy()
    d = np.ones_like(b) if fault == "first direction not the residual" else r.copy()
    size, target = float(r @ r), (tolerance * float(np.linalg.norm(b))) ** 2
    if fault == "tolerance written 10e-4 for 1e-4":
        target = 1e-6 * size
    if fault == "absolute tolerance":
        target = (1e5 * tolerance) ** 2
    steps = len(b) + 2 - {"one step short": 3, "stops after one step": len(b) + 1}.get(fault, 0)
    for _ in range(max(steps, 0 if fault == "one step short" else 1)):
        if size <= target and fault != "divides zero by zero":
            break
        a = apply(d)
        alpha = size / float(d @ (d if fault == "step without the matrix" else a))
        v = v + alpha * d
        old, r = r, r + alpha * a if fault == "residual with the wrong sign" else r - alpha * a
        new = float(r @ r)
        beta = size / new if fault == "beta inverted" and new else new / size
        beta = {"no conjugation": 0.0, "beta without squares": float(np.sqrt(beta))}.get(fault, beta)
        d, size = (old if fault == "direction from the old residual" else r) + beta * d, new
    return {"returns the residual": b - r, "wrong sign of b": -v}.get(fault, v)


def shared_buffer() -> Callable[[Apply, FloatArray, float], FloatArray]:
    """A linear solver that hands out the same array again and again (n up to 8)."""
    buffer = np.zeros(8)

    def solver(apply: Apply, b: FloatArray, tolerance: float) -> FloatArray:
        buffer[: len(b)] = conjugate_gradients(apply, b, tolerance)
        return buffer[: len(b)]

    return solver


def jacobi(apply: Apply, b: FloatArray, tolerance: float) -> FloatArray:
    """Wrong: takes the matrix for diagonal."""
    return b / apply(np.ones_like(b))


def accelerated_descent(
    gradient: Gradient,
    y0: FloatArray,
    mu: float,
    L: float,
    steps: int,
    fault: str = "",
) -> FloatArray:
    """Nesterov's method for strongly convex functions, constant momentum: all iterates, shape (steps + 1, n)."""
    mu, L = (L, mu) if fault == "mu and L exchanged" else (mu, L)
    root = np.sqrt(mu / L)
    momentum = {
        "no momentum": 0.0,
        "momentum sqrt(kappa) for (sqrt(kappa)-1)/(sqrt(kappa)+1)": 1 - root,
        "momentum with the wrong sign": -(1 - root) / (1 + root),
        "momentum with kappa for its root": (1 - mu / L) / (1 + mu / L),
    }.get(fault, (1 - root) / (1 + root))
    step = {"step 1/mu": 1 / mu, "step 1/(2 L)": 0.5 / L, "step 2.5/L": 2.5 / L, "step 1": 1.0}.get(fault, 1 / L)
    x = previous = y0
    slope = np.zeros_like(y0)
    found = [y0]
    for k in range(steps):
        if fault == "momentum of convex functions, k for k + 1":
            momentum = max(k - 1, 0) / (k + 2)
        elif fault == "momentum off by one":
            momentum = 0.0 if k == 1 else (1 - root) / (1 + root)
        w = x + momentum * (x - previous)
        if fault == "gradient at the previous iterate":
            slope, now = gradient(w), slope
        else:
            now = gradient(x if fault == "gradient at x instead of w" else w)
        base = x if fault == "steps from x instead of w" else w
        sign = -1.0 if fault == "ascent" else 1.0
        previous, x = x, base - sign * step * now
        found.append(w if fault == "returns w instead of x" else x)
        if fault == "asks twice" and k % 2:
            gradient(x)
    return np.array([y0, *found[:-1]] if fault == "one iterate late" else found)
