"""Correct reference solvers with switches: ``fault`` names one deliberate mistake, the empty text none.

Each mistake is a small change at the line where a person makes it; the controls are these functions with a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

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


def descent(oracles: Any, x0: FloatArray, steps: int, fault: str = "") -> FloatArray:
    """Gradient descent with step 1/L: all iterates."""
    x, stale, found = x0, np.zeros_like(x0), [x0]
    for k in range(steps):
        slope = oracles.grad_x_f(x)
        if fault == "Polyak step with f* = 0":
            step = oracles.value_f(x) / max(float(slope @ slope), 1e-300)
        else:
            step = {"step 1 without L": 1.0, "step 2.5/L": 2.5 / oracles.L, "step 1/(10 L)": 0.1 / oracles.L}.get(
                fault, 1 / oracles.L
            )
        step = step / (k + 1) if fault == "decaying step" else step
        if fault == "gradient of the call before":
            slope, stale = stale, slope
        if fault == "first coordinate only":
            slope = np.where(np.arange(len(x)) == 0, slope, 0.0)
        if fault == "normalised gradient":
            slope = slope / max(float(np.linalg.norm(slope)), 1e-300)
        x = x + step * slope if fault == "ascent" else x - step * slope
        found.append(x)
    return np.array(found)


RESTART, MOMENTUM, HORIZON = 0.5, 0.25, 6
"""B, theta and K of the restarted method below, fixed so that restarts and outputs both happen within 25 steps."""


def restarted_descent(oracles: Any, x0: FloatArray, steps: int, fault: str = "") -> tuple[FloatArray, FloatArray]:
    """Restarted accelerated descent (Li and Lin 2022, Algorithm 1), step 1/(4 L): iterates and averaged output.

    An epoch ends when ``k sum |x_{t+1} - x_t|^2 > B^2``, or unsuccessfully after K steps; the output averages
    ``y_0 .. y_{K0}`` of the last whole epoch, ``K0`` being where the latest step is shortest in its second half.
    """
    x = previous = x0
    found, output = [x0], x0
    epoch: list[tuple[FloatArray, FloatArray]] = []
    total, k = 0.0, 0
    for _ in range(steps):
        y = x + (MOMENTUM if fault == "theta for 1 - theta" else 1 - MOMENTUM) * (x - previous)
        slope = oracles.grad_x_f(x if fault == "gradient at x instead of y" else y)
        previous, x = x, y - slope / (4 * oracles.L)
        length = float(np.sum((x - previous) ** 2))
        total, k = (length if fault == "sum forgotten" else total + length), k + 1
        epoch.append((x if fault == "averages x instead of y" else y, np.array([length])))
        found.append(x)
        counted = {"k + 1 for k in the test": k + 1, "test without k": 1}.get(fault, k)
        limit = RESTART if fault == "B for B^2" else RESTART**2
        if (fault != "missing restart" and counted * total > limit) or k >= HORIZON:
            if k >= HORIZON:
                output = _average(epoch, fault, x)
            previous = previous if fault == "momentum kept at restart" else x
            if fault == "restarts at the old point":
                x = previous = found[-1 - k]
            epoch, k = [], (1 if fault == "k = 1 after restart" else 0)
            total = total if fault == "sum kept at restart" else 0.0
    return np.array(found), output


def _average(epoch: list[tuple[FloatArray, FloatArray]], fault: str, last: FloatArray) -> FloatArray:
    if fault == "last iterate instead of the average":
        return last
    lengths = [float(length[0]) for _, length in epoch]
    half = 0 if fault == "shortest step of the whole epoch" else len(lengths) // 2
    best = max(half + int(np.argmin(lengths[half:])), 0)
    best += {"averages one too many": 1, "averages one too few": -1}.get(fault, 0)
    points = [y for y, _ in epoch]
    if fault == "averages from k = 1":
        points = points[1:]
    found: FloatArray = np.mean(points[: best + 1], axis=0)
    return found


def lower_solution(oracles: Any, x: FloatArray, y: FloatArray | None = None, steps: int = 0) -> FloatArray:
    """The lower-level minimiser by accelerated descent; ``steps`` = 0 takes as many as 1e-11 needs."""
    start = np.zeros(oracles.dy) if y is None else y
    root = np.sqrt(oracles.L / oracles.mu)
    count = steps or int(np.ceil(root * np.log(1e26 * (1 + root**2)))) + 2
    found: FloatArray = accelerated_descent(partial(oracles.grad_y_g, x), start, oracles.mu, oracles.L, count)[-1]
    return found


def _adjoint(oracles: Any, x: FloatArray, y: FloatArray, b: FloatArray, fault: str) -> FloatArray:
    """v with ``hess_yy g(x, y) v = b``."""
    n = oracles.dy
    at = np.zeros(n) if fault == "Hessian at y = 0" else y

    def apply(v: FloatArray) -> FloatArray:
        product: FloatArray = oracles.hvp_yy_g(x, at, v)
        return product + v if fault == "damped Hessian" else product

    if fault == "multiplies by the Hessian":
        return apply(b)
    if fault in ("Hessian-vector product without symmetry", "diagonal of the Hessian"):
        columns = np.array([apply(unit) for unit in np.eye(n)])
        kept = np.triu(columns) if fault.startswith("Hessian") else np.diag(np.diag(columns))
        solved: FloatArray = np.linalg.solve(kept, b)
        return solved
    if fault in ("three terms of the Neumann series", "Neumann series without step"):
        term = total = b / oracles.L
        for _ in range(2 if fault.startswith("three") else 300):
            term = term - apply(term) / oracles.L
            total = total + term
        factor = float(oracles.L) if fault.startswith("Neumann") else 1.0
        series: FloatArray = factor * total
        return series
    inner = fault.removeprefix("CG: ") if fault.startswith("CG: ") else ""
    return conjugate_gradients(apply, b, 1e-13, inner)


def implicit_hypergradient(oracles: Any, x: FloatArray, fault: str = "") -> FloatArray:
    """``grad_x f - hess_xy g (hess_yy g)^-1 grad_y f`` at the lower-level solution."""
    y = lower_solution(oracles, x, steps={"one inner step": 1, "five inner steps": 5}.get(fault, 0))
    if fault == "y not solved for":
        y = np.zeros(oracles.dy)
    at = np.zeros(oracles.dy) if fault == "grad_y f at y = 0" else y
    b = oracles.grad_y_f(x, at)
    direct = oracles.grad_x_f(x, at if fault == "grad_y f at y = 0" else y)
    v = b if fault == "identity for the inverse Hessian" else _adjoint(oracles, x, y, b, fault)
    if fault == "transposed Jacobian" and oracles.dx == oracles.dy:
        implicit = -oracles.jvp_yx_g(x, y, v)
    else:
        implicit = -oracles.jvp_xy_g(x, y, v)
    factors = {
        "wrong sign of the implicit part": -1.0,
        "implicit part zero": 0.0,
        "factor 1/2 on the cross term": 0.5,
        "factor 2 on the cross term": 2.0,
    }
    if fault == "direct part forgotten":
        direct = np.zeros_like(direct)
    found: FloatArray = direct + factors.get(fault, 1.0) * implicit
    spoilt: FloatArray = _spoilt(x, found, fault)
    return spoilt


def _spoilt(x: FloatArray, found: FloatArray, fault: str) -> Any:
    """What is wrong with the answer as such, not with its derivation."""
    if fault == "overwrites x":
        x += 1.0
    wrong: dict[str, Callable[[], Any]] = {
        "all zero": lambda: np.zeros_like(found),
        "zero for scalars": lambda: np.zeros_like(found) if len(x) == 1 else found,
        "gradient of -phi": lambda: -found,
        "a column instead of a vector": lambda: found[:, None],
        "sum instead of vector": lambda: float(found.sum()),
        "NaN": lambda: found * np.nan,
        "None": lambda: None,
        "rounded to half precision": lambda: found.astype(np.float16),
        "clipped": lambda: np.clip(found, -1, 1),
        "normalised": lambda: found / max(1.0, float(np.linalg.norm(found))),
        "reversed order": lambda: found[::-1],
    }
    return wrong.get(fault, lambda: found)()


def penalty_hypergradient(oracles: Any, x: FloatArray, fault: str = "", weight: float = 1e6) -> FloatArray:
    """``grad_x f(x, y) + lambda (grad_x g(x, y) - grad_x g(x, z))``, y solving ``f + lambda g``, z solving ``g``.

    Extrapolated in 1/lambda, so that it agrees with the hypergradient to 1e-6.
    """
    z = lower_solution(oracles, x)

    def at(lam: float) -> FloatArray:
        y = z
        for _ in range(0 if fault == "y taken for z" else 6):  # Newton steps
            residual = oracles.grad_y_f(x, y) / lam + oracles.grad_y_g(x, y)
            if fault == "lambda with the wrong sign":
                residual = -oracles.grad_y_f(x, y) / lam + oracles.grad_y_g(x, y)
            y = y - conjugate_gradients(partial(oracles.hvp_yy_g, x, y), residual, 1e-13)
        first, second = (z, y) if fault == "y and z exchanged" else (y, z)
        factor = {"lambda forgotten": 1.0, "lambda twice": 2 * lam, "lambda/2": lam / 2}.get(fault, lam)
        part: FloatArray = factor * (oracles.grad_x_g(x, first) - oracles.grad_x_g(x, second))
        if fault == "second gradient forgotten":
            part = factor * oracles.grad_x_g(x, first)
        if fault == "grad_x f forgotten":
            return part
        direct: FloatArray = oracles.grad_x_f(x, z if fault == "y taken for z" else y)
        return part + direct

    lam = 1.0 if fault == "lambda far too small" else weight
    return 2 * at(lam) - at(lam / 2)


def finite_differences(oracles: Any, x: FloatArray) -> FloatArray:
    """Wrong: differences of phi with a step of 1/10, one-sided."""

    def phi(z: FloatArray) -> float:
        return float(oracles.value_f(z, lower_solution(oracles, z)))

    base = phi(x)
    return np.array([(phi(x + 0.1 * unit) - base) / 0.1 for unit in np.eye(len(x))])


class Remembering:
    """Solvers with a memory: a warm start that is right, and two that are stale."""

    def __init__(self, fault: str = "") -> None:
        self.fault, self.__name__ = fault, "remembering_hypergradient"
        self.x: FloatArray | None = None
        self.y: FloatArray | None = None

    def __call__(self, oracles: Any, x: FloatArray) -> FloatArray:
        """The hypergradient, the inner solver started at the last y if it has the right length."""
        fits = self.y is not None and len(self.y) == oracles.dy
        known = self.x is not None and len(self.x) == len(x)
        if self.fault == "x of the call before" and known and self.x is not None:
            x, self.x = self.x, x
        else:
            self.x = x.copy()
        if self.fault == "stale warm start" and fits and self.y is not None:
            y = self.y
        else:
            y = lower_solution(oracles, x, self.y if fits else None)
        self.y = y
        if self.fault == "few steps from a warm start":
            self.y = y = lower_solution(oracles, x, y if fits else None, 3)
        v = conjugate_gradients(lambda d: oracles.hvp_yy_g(x, y, d), oracles.grad_y_f(x, y), 1e-13)
        found: FloatArray = oracles.grad_x_f(x, y) - oracles.jvp_xy_g(x, y, v)
        return found


def reporting_solver(oracles: Any, x0: FloatArray, fault: str = "") -> tuple[FloatArray, dict[str, int]]:
    """Three steps along the hypergradient, with a count of its own."""
    told: dict[str, int] = {}

    class Teller:
        def __getattr__(self, name: str) -> Any:
            attribute = getattr(oracles, name)
            if not callable(attribute):
                return attribute
            kind = {"grad_x_f": "grad_f", "grad_y_f": "grad_f", "grad_x_g": "grad_g", "grad_y_g": "grad_g"}.get(
                name, name
            )

            def asked(*arguments: Any) -> Any:
                told[kind] = told.get(kind, 0) + 1
                return attribute(*arguments)

            return asked

    x = x0
    for step in range(3):
        x = x - 0.01 * implicit_hypergradient(Teller(), x)
        if fault == "counts of the last step only" and step < 2:
            told.clear()
    if fault == "stopping test not counted":
        oracles.grad_x_f(x, np.zeros(oracles.dy))
    return x, _told(told, fault)


def _told(told: dict[str, int], fault: str) -> dict[str, int]:
    if fault == "half the calls counted":
        return {kind: (count + 1) // 2 for kind, count in told.items()}
    if fault == "both parts counted twice":
        return {kind: 2 * count for kind, count in told.items()}
    if fault == "products not counted":
        return {kind: count for kind, count in told.items() if not kind.startswith(("hvp", "jvp"))}
    if fault == "lower level counted as upper level":
        return {"grad_f": told.get("grad_f", 0) + told.get("grad_g", 0)}
    return told


def hyper_descent(oracles: Any, x0: FloatArray, eps: float, fault: str = "") -> FloatArray:
    """Descent for minimax problems along ``grad_x f(x, y*(x))`` (Danskin) until it is at most eps."""
    x, y = x0, np.zeros(oracles.dy)
    instance = oracles.instance
    smoothness = instance.p.L + float(np.linalg.norm(instance.coupling)) ** 2 / instance.mu
    for step in range({"two steps": 2, "lower level solved for -y": 300}.get(fault, 100_000)):
        lazy = fault == "one inner step from zero, its error ignored"
        y = lower_solution(oracles, x, None if lazy else y, 1 if lazy else 12)
        if fault == "lower level solved for -y":
            y = -y
        slope = oracles.grad_x_f(x, y)
        exact = not lazy and fault != "lower level solved for -y"
        size = float(np.linalg.norm(slope)) + (_lower_error(oracles, x, y) if exact else 0.0)
        size = size**2 if fault == "squared norm against eps" else size
        size = size / np.sqrt(10_000) if fault == "mean for sum in the norm" else size
        if size <= (10 * eps if fault == "tolerance written 10e-4" else eps) or (fault == "gives up" and step == 4):
            break
        x = x - slope / smoothness * (-1 if fault == "ascent" and step < 8 else 1)
    return x + slope / smoothness if fault == "returns the point before" else x


def _lower_error(oracles: Any, x: FloatArray, y: FloatArray) -> float:
    """How much the inexact y can change the gradient: ``|B| |grad_y g| / mu``."""
    slope = float(np.linalg.norm(oracles.grad_y_g(x, y)))
    return float(np.linalg.norm(oracles.instance.coupling)) * slope / float(oracles.mu)


def runs_for_ever(oracles: Any, x: FloatArray) -> FloatArray:
    """Wrong: never returns and asks nothing."""
    while True:
        x = x * 1.0


def asks_for_ever(oracles: Any, x: FloatArray) -> FloatArray:
    """Wrong: never returns and goes on asking."""
    while True:
        oracles.grad_x_f(x, np.zeros(oracles.dy))


def raises(oracles: Any, x: FloatArray) -> FloatArray:
    """Wrong: an error of its own."""
    raise ZeroDivisionError("step of length zero")
