"""Correct outer methods with switches for one deliberate mistake each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.references.hypergradients import implicit_hypergradient, lower_solution

if TYPE_CHECKING:
    from bilevel_verify.testing.instances.counting import CountedOracles

FloatArray = NDArray[np.float64]


def descent(oracles: CountedOracles, x0: FloatArray, steps: int, fault: str = "") -> FloatArray:
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


def restarted_descent(
    oracles: CountedOracles, x0: FloatArray, steps: int, fault: str = ""
) -> tuple[FloatArray, FloatArray]:
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


def reporting_solver(oracles: CountedOracles, x0: FloatArray, fault: str = "") -> tuple[FloatArray, dict[str, int]]:
    """Three steps along the hypergradient, with a count of its own."""
    told: dict[str, int] = {}

    class Teller:
        def __getattr__(self, name: str) -> object:
            attribute = getattr(oracles, name)
            if not callable(attribute):
                return attribute
            kind = {"grad_x_f": "grad_f", "grad_y_f": "grad_f", "grad_x_g": "grad_g", "grad_y_g": "grad_g"}.get(
                name, name
            )

            def asked(*arguments: object) -> object:
                told[kind] = told.get(kind, 0) + 1
                return attribute(*arguments)

            return asked

    teller: Any = Teller()
    x = x0
    for step in range(3):
        x = x - 0.01 * implicit_hypergradient(teller, x)
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


def hyper_descent(oracles: CountedOracles, x0: FloatArray, eps: float, fault: str = "") -> FloatArray:
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


def _lower_error(oracles: CountedOracles, x: FloatArray, y: FloatArray) -> float:
    """How much the inexact y can change the gradient: ``|B| |grad_y g| / mu``."""
    slope = float(np.linalg.norm(oracles.grad_y_g(x, y)))
    return float(np.linalg.norm(oracles.instance.coupling)) * slope / float(oracles.mu)


def two_level_descent(
    oracles: CountedOracles, x0: FloatArray, eps: float, fault: str = ""
) -> tuple[FloatArray, FloatArray]:
    """Descent along the implicit hypergradient with backtracking on phi, until it is at most eps: (x, y)."""
    x, known = x0, lower_solution(oracles, x0)
    step = 1.0
    for turn in range(3 if fault == "stops after three steps" else 400):
        slope = implicit_hypergradient(oracles, x, _INNER_FAULTS.get(fault, ""))
        size = float(np.linalg.norm(slope))
        if size <= (np.sqrt(eps) if fault == "stops at sqrt(eps)" else 0.5 * eps):
            break
        y = lower_solution(oracles, x)
        value, decrease = oracles.value_f(x, y), 0.5 * size**2
        step = min(2 * step, 1.0)
        while step > 1e-12:
            new = x - step * slope
            lower = known if fault == "line search with the y of the start" else lower_solution(oracles, new)
            if oracles.value_f(new, lower) <= value - step * decrease + 1e-14 * (1 + abs(value)):
                break
            step /= 2
        x = x - (0.9 if fault == "no line search" else step) * slope
        if fault == "gives up on a long search" and step < 0.15 and turn > 2:
            break
    y = lower_solution(oracles, x)
    wrong = {
        "certifies a lower level that is not optimal": y + 1.0,
        "returns the y of the start": known,
        "returns grad_y g for y": oracles.grad_y_g(x, y),
    }
    return x, wrong.get(fault, y)


_INNER_FAULTS = {
    "single level: the lower level is forgotten": "implicit part zero",
    "adjoint with the wrong sign": "wrong sign of the implicit part",
}
