"""FSBA on a problem with d = 20 against its oracles alone: prints the ratio of the two times.

    python tests/benchmarks/benchmark_fsba.py

The oracles alone are the calls that the run counted, made one by one through ``oracles(problem)``, machine code
included where that is faster. Times are the best of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import bilevel_verify as bv

N = 20
LETTERS = {
    "lam": 12.0, "l1": 4.0, "l2": 60.0, "kappa1": 4.0, "kappa2": 12.0, "K1": 40, "K2": 60, "M": 40.0, "T": 60,
}  # fmt: skip


def problem() -> Any:
    """Twenty coupled trigonometric blocks."""
    ahead = {i: i % N + 1 for i in range(1, N + 1)}
    f = " + ".join(f"sin(x{i} + y{j}/2) + cos(2*y{i} - x{j})/2" for i, j in ahead.items())
    g = " + ".join(f"3*y{i}**2/2 - x{i}*y{i}/2 + cos(x{j} + y{i})/4 + y{i}*y{j}/4" for i, j in ahead.items())
    return bv.bilevel(f=f, g=g, x=[f"x{i}" for i in ahead], y=[f"y{i}" for i in ahead])


def best(action: Callable[[], object]) -> float:
    """Shortest of five times in seconds, after one call that warms up."""
    action()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """Print the ratio."""
    p, x0 = problem(), [0.3] * N

    def run() -> Any:
        return bv.solve(p, "fsba", x0=x0, parameters=LETTERS)

    done, o = run(), bv.oracles(p)
    x, y = done.x, done.outputs["y"]

    def alone() -> None:
        for _ in range(done.iterations):
            for _ in range(int(LETTERS["K2"])):
                o.grad_y_f(x, y)
                o.grad_y_g(x, y)
            for _ in range(int(LETTERS["K1"])):
                o.grad_y_g(x, y)
            o.grad_x_f(x, y), o.grad_x_g(x, y), o.grad_x_g(x, y)
            o.hess_f(x, y), o.hess_g(x, y), o.hess_g(x, y)

    whole, oracles = best(run), best(alone)
    print(f"d = {N}, {done.iterations} iterations, counts {dict(done.counts)}")
    print(f"run {whole:.3f} s, its oracles alone {oracles:.3f} s, ratio {whole / oracles:.2f} (wanted: at most 2)")


if __name__ == "__main__":
    main()
