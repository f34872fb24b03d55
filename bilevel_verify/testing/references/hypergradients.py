"""Correct hypergradients with switches for one deliberate mistake each."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.references.inner import accelerated_descent, conjugate_gradients

if TYPE_CHECKING:
    from bilevel_verify.testing.instances.counting import CountedOracles

FloatArray = NDArray[np.float64]


def lower_solution(oracles: CountedOracles, x: FloatArray, y: FloatArray | None = None, steps: int = 0) -> FloatArray:
    """The lower-level minimiser by accelerated descent; ``steps`` = 0 takes as many as 1e-11 needs."""
    start = np.zeros(oracles.dy) if y is None else y
    root = np.sqrt(oracles.L / oracles.mu)
    count = steps or int(np.ceil(root * np.log(1e26 * (1 + root**2)))) + 2
    found: FloatArray = accelerated_descent(partial(oracles.grad_y_g, x), start, oracles.mu, oracles.L, count)[-1]
    return found


def _adjoint(oracles: CountedOracles, x: FloatArray, y: FloatArray, b: FloatArray, fault: str) -> FloatArray:
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


def implicit_hypergradient(oracles: CountedOracles, x: FloatArray, fault: str = "") -> FloatArray:
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


def penalty_hypergradient(oracles: CountedOracles, x: FloatArray, fault: str = "", weight: float = 1e6) -> FloatArray:
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


def finite_differences(oracles: CountedOracles, x: FloatArray) -> FloatArray:
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

    def __call__(self, oracles: CountedOracles, x: FloatArray) -> FloatArray:
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


def runs_for_ever(oracles: object, x: FloatArray) -> FloatArray:
    """Wrong: never returns and asks nothing."""
    while True:
        x = x * 1.0


def asks_for_ever(oracles: CountedOracles, x: FloatArray) -> FloatArray:
    """Wrong: never returns and goes on asking."""
    while True:
        oracles.grad_x_f(x, np.zeros(oracles.dy))


def raises(oracles: object, x: FloatArray) -> FloatArray:
    """Wrong: an error of its own."""
    raise ZeroDivisionError("step of length zero")


def ends_the_process(oracles: object, x: FloatArray) -> FloatArray:
    """Wrong: a crash of native code, or an exit, takes the whole process with it."""
    os._exit(3)
