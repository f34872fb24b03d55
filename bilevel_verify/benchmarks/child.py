"""What is measured in a process of its own, so that caches and memory start empty: ``python -m ... child dense 20``.

Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.benchmarks.rows import peak_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilevel_verify.problems.problem import Problem

NEEDED = ["grad_y_g", "grad_g", "grad_f", "hvp_yy_g", "jvp_xy_g"]
"""Oracles of a method with implicit gradients."""


def dense(d: int) -> dict[str, object]:
    """Derivation, compilation, one call and memory of the dense problem in d variables."""
    from bilevel_verify.benchmarks.cases import cases
    from bilevel_verify.benchmarks.cases import dense as problem_of
    from bilevel_verify.oracles import oracles
    from bilevel_verify.oracles.compiling import can_compile

    if can_compile():
        import numba  # noqa: F401  (its own start is not ours)
    problem = problem_of(d) if d > 1 else cases()[0].problem
    found: dict[str, Any] = {"libraries alone": peak_memory()}
    before = time.process_time()
    asked = oracles(problem)
    if can_compile():
        asked.function_set(NEEDED)
        found["ready"] = time.process_time() - before
    # the same once more, without the compiler: derivation and printing alone
    fresh = oracles(problem)
    before = time.process_time()
    sources = [fresh.programs.source(field) for field in ("grad_y_g", "hvp_yy_g")]
    found["derive"] = time.process_time() - before
    found["subexpressions"] = fresh.programs.base("g").size
    found["source"] = sum(len(source.text) for source in sources)
    x, y, v, out = (np.full(d, 0.1) for _ in range(4))
    form = "compiled" if can_compile() else "plain"
    P = asked.function_set(["grad_y_g", "hvp_yy_g"], form)
    found["gradient"] = per_call(lambda: P.grad_y_g(x, y, out))
    found["product"] = per_call(lambda: P.hvp_yy_g(x, y, v, out))
    found["memory"] = peak_memory()
    return found | _dense_by_hand(problem, x, y, v)


def _dense_by_hand(
    problem: Problem, x: NDArray[np.float64], y: NDArray[np.float64], v: NDArray[np.float64]
) -> dict[str, float]:
    """SymPy's derivative by y1 as a function, times d; gradient and Hessian-vector product in NumPy with matrices."""
    import sympy

    g, ys = problem.g, problem.y
    before = time.process_time()
    sympy.lambdify([problem.x, ys], sympy.diff(g, ys[0]), "math")
    derive = len(ys) * (time.process_time() - before)
    rng = np.random.default_rng(0)
    square, w = rng.standard_normal((len(y), len(y))), rng.standard_normal((len(y), len(y)))

    def gradient() -> NDArray[np.float64]:
        return square @ y + w.T @ (1 / (1 + np.exp(-(w @ y + x))))

    def product() -> NDArray[np.float64]:
        s = 1 / (1 + np.exp(-(w @ y + x)))
        return square @ v + w.T @ (s * (1 - s) * (w @ v))

    return {"derive by SymPy": derive, "gradient by hand": per_call(gradient), "product by hand": per_call(product)}


def logistic(samples: int) -> dict[str, object]:
    """Gradient and Hessian-vector product of a sum over data against NumPy written by hand.

    Few data are loops of machine code, as in long runs; many are passes of NumPy.
    """
    from bilevel_verify.benchmarks.cases import logistic as problem_of
    from bilevel_verify.oracles import oracles

    alone = peak_memory()
    problem, a, b = problem_of(samples)
    before = time.process_time()
    asked = oracles(problem, compiled=True)
    rng = np.random.default_rng(1)
    d = problem.dy
    x, y, v = np.array([0.1]), rng.standard_normal(d) / 10, rng.standard_normal(d)
    asked.grad_y_g(x, y)
    asked.hvp_yy_g(x, y, v)
    derive = time.process_time() - before

    def gradient(y: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = a.T @ (-b / (1 + np.exp(b * (a @ y)))) / len(a) + np.exp(0.1) * y
        return found

    def product(y: NDArray[np.float64]) -> NDArray[np.float64]:
        s = 1 / (1 + np.exp(b * (a @ y)))
        found: NDArray[np.float64] = a.T @ (s * (1 - s) * (a @ v)) / len(a) + np.exp(0.1) * v
        return found

    before = time.process_time()
    gradient(y), product(y)
    by_hand = time.process_time() - before
    assert np.allclose(asked.grad_y_g(x, y), gradient(y), rtol=1e-10)
    assert np.allclose(asked.hvp_yy_g(x, y, v), product(y), rtol=1e-10)
    repeats = max(1, 100_000 // samples)
    pairs: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "gradient": (lambda y: asked.grad_y_g(x, y), gradient),
        "product": (lambda y: asked.hvp_yy_g(x, y, v), product),
    }
    found: dict[str, Any] = {"derive": derive, "derive by hand": by_hand, "libraries alone": alone}
    for name, (mine, theirs) in pairs.items():
        best = [np.inf, np.inf]
        for turn in range(9):
            for side, run in enumerate((mine, theirs)):
                begin = time.process_time()
                for k in range(repeats):
                    run(y + (turn * repeats + k) * 1e-9)  # no point twice: nothing can be remembered
                best[side] = min(best[side], (time.process_time() - begin) / repeats)
        found[name], found[f"{name} by hand"] = best
    found["machine code"] = asked.ready(["grad_y_g"])
    return {**found, "memory": peak_memory(), "data": a.nbytes / 2**20}


def first(_: int) -> dict[str, object]:
    """The first run of a process with all letters given, then one outer step again; the same by hand with lambdify."""
    from bilevel_verify.benchmarks.candidates import lambdify_loop
    from bilevel_verify.benchmarks.cases import cases, letters

    case = cases()[0]
    q, budget = letters(case), {"iterations": 1, "calls": 10**15}
    begin = time.process_time()
    from bilevel_verify.solving import solve  # a user waits for this, too

    solve(case.problem, "ragd-gs", parameters=q, x0=[0.5], budget=budget)
    middle = time.process_time()
    lambdify_loop(case, q, "math")(1)
    return {"ours": middle - begin, "by hand": time.process_time() - middle}


def truth(samples: int) -> dict[str, object]:
    """phi of a logistic sum in ten variables: the first, the next, and by how much the process grew for the data."""
    from bilevel_verify.benchmarks.cases import logistic as problem_of
    from bilevel_verify.truth import truth as truth_of

    range_of_x = {"x1": (-2.0, 2.0)}
    truth_of(problem_of(3_000, 10, range_of_x)[0]).phi([0.1])  # loads what is loaded once
    problem, a, b = problem_of(samples, 10, range_of_x)
    before = peak_memory()
    begin = time.process_time()
    t = truth_of(problem)
    found = [t.phi([0.1])]
    took = time.process_time() - begin
    again = []
    for k in range(5):
        begin = time.process_time()
        found.append(t.phi([0.2 + k / 10]))
        again.append(time.process_time() - begin)
    begin = time.process_time()
    for k in range(5):
        newton(a, b, 0.2 + k / 10)
    by_hand = (time.process_time() - begin) / 5
    gaps = [abs(float(e.value) - newton(a, b, x)) for e, x in zip(found, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), strict=True)]
    answer = {
        "first": took,
        "next": min(again),
        "by hand": by_hand,
        "gap": max(gaps),
        "error": max(e.error for e in found),
    }
    grown = (peak_memory() - before) * 2**20 / (a.nbytes + b.nbytes)
    return {**answer, "certified": all(e.certainty == "certified" for e in found), "grown": grown}


def newton(a: Any, b: Any, x: float) -> float:
    """``||y*(x)||^2/2`` of the logistic sum, by Newton's method in NumPy: no bound of the error."""
    y = np.zeros(a.shape[1])
    for _ in range(12):
        s = 1 / (1 + np.exp(b * (a @ y)))
        hessian = (a.T * (s * (1 - s))) @ a / len(a) + np.exp(x) * np.eye(len(y))
        y = y - np.linalg.solve(hessian, a.T @ (-b * s) / len(a) + np.exp(x) * y)
    return float(y @ y / 2)


def per_call(run: Callable[[], object]) -> float:
    """Least seconds of one call, over batches of 300."""
    best = np.inf
    for _ in range(7):
        begin = time.process_time()
        for _ in range(300):
            run()
        best = min(best, (time.process_time() - begin) / 300)
    return float(best)


if __name__ == "__main__":
    from bilevel_verify.benchmarks.scaled import SCALED

    measures = {"dense": dense, "logistic": logistic, "first": first, "truth": truth, **SCALED}
    print(json.dumps(measures[sys.argv[1]](int(sys.argv[2]))))
