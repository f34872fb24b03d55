"""One size of what grows, ours or by hand, in a process of its own: :mod:`~bilevel_verify.benchmarks.scale` asks."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.benchmarks.rows import peak_memory
from bilevel_verify.problems import bilevel, single_level
from bilevel_verify.problems.problem import Problem

ETA, START = 0.05, 1.9
CARD = """
[paper]
key = "descent"
standing = "Section 1"
title = "Gradient descent"
[units]
F = "values of f"
X = "length of x"
[letters]
L = {{ unit = "F/X**2", domain = "(0, oo)", from = "constants" }}
eta = {{ unit = "X**2/F", domain = "(0, oo)" }}
N = {{ unit = "1", domain = "integers 1.." }}
[settings.gd]
parameters = {{ eta = "1/L", N = "{rows}" }}
[[theorem]]
id = "descent"
method = "gradient-descent"
settings = ["gd"]
  [[theorem.claim]]
  id = "descent"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - eta/2*norm(grad_f(x[k]))**2"
"""
LOOP = """
long run(double *x, double eta, double eps) {
    for (long n = 0; ; n++) {
        double g = x[0] * x[0] * x[0];
        if (g * g <= eps * eps) return n;
        x[0] -= eta * g;
    }
}
"""


def quartic() -> Problem:
    """``x1**4/4`` on [-2, 2]: gradient descent takes as many steps as eps to the power -2/3."""
    return single_level(f="x1**4/4", x="x1", domain={"x1": (-2, 2)})


def text(d: int) -> dict[str, object]:
    """A dense text in d variables is read."""
    from bilevel_verify.benchmarks.cases import dense_text

    written, x, y = dense_text(d)
    return {"size": len(written)} | timed(lambda: bilevel(f="y1", g=written, x=x, y=y))


def text_by_hand(d: int) -> dict[str, object]:
    """The same text through ``sympify``."""
    import sympy

    from bilevel_verify.benchmarks.cases import dense_text

    written, _, _ = dense_text(d)
    return {"size": len(written)} | timed(lambda: sympy.sympify(written))


def eps(digits: int) -> dict[str, object]:
    """Gradient descent until the gradient is below 10^-digits, every step counted and recorded as ``solve`` does."""
    from bilevel_verify.solving import solve

    problem, most = quartic(), {"calls": 10**15, "iterations": 10**15}
    letters = {"eta": ETA, "N": 2**40}

    def run(tolerance: float) -> Any:
        return solve(problem, "gradient-descent", tolerance, [START], parameters=letters, budget=most, compiled=True)

    run(0.1)
    found: list[Any] = []
    took = timed(lambda: found.append(run(10.0**-digits)))
    return {"size": 10.0**digits, "x": float(found[0].x[0]), "steps": found[0].iterations} | took


def eps_by_hand(digits: int) -> dict[str, object]:
    """The same loop in C."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return {"missing": "no C compiler"}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "loop.c", Path(folder) / "loop.so"
        source.write_text(LOOP, encoding="utf-8")
        command = [compiler, "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True, capture_output=True)
        loop = ctypes.CDLL(str(library)).run
    loop.restype, loop.argtypes = ctypes.c_long, [ctypes.c_void_p, ctypes.c_double, ctypes.c_double]
    x, steps = np.array([START]), []
    took = timed(lambda: steps.append(loop(x.ctypes.data, ETA, 10.0**-digits)))
    return {"size": 10.0**digits, "x": float(x[0]), "steps": steps[0]} | took


def rows(count: int) -> dict[str, object]:
    """A claim about every step of a run is judged at so many rows."""
    from bilevel_verify.verifying import verify

    problem = quartic()
    with tempfile.TemporaryDirectory() as folder:
        for name, length in (("first", 5), ("card", count)):
            Path(folder, f"{name}.toml").write_text(CARD.format(rows=length), encoding="utf-8")
        verify(problem, f"{folder}/first.toml/descent", x0=[START])
        verdicts: list[str] = []
        took = timed(lambda: verdicts.append(str(verify(problem, f"{folder}/card.toml/descent", x0=[START]).verdict)))
    return {"size": count, "verdict": verdicts[0]} | took


def rows_by_hand(count: int) -> dict[str, object]:
    """The same run in floats, the same claim in balls of arb, row by row."""
    import flint

    def judge() -> None:
        L, x, points = 12.0, START, []
        for _ in range(count + 1):
            points.append(x)
            x = x - x * x * x / L
        quarter, half = flint.arb(1) / 4, flint.arb(1) / 24
        for now, later in pairwise(points):
            a, b = flint.arb(now), flint.arb(later)
            slope = a * a * a
            if not quarter * b * b * b * b <= quarter * a * a * a * a - half * slope * slope:
                raise ArithmeticError("the claim is not certified here")

    return {"size": count} | timed(judge)


def cells(count: int) -> dict[str, object]:
    """So many cells of a campaign in a store, answered by one worker; its start and its processor time included."""
    from bilevel_verify.campaign import run_campaign
    from bilevel_verify.campaign.cell import Cell
    from bilevel_verify.campaign.grids import Campaign

    asked = [Cell("verify", "zoo:bilevel-quadratic", statement=LEMMA, eps=(0.5 / (1 + i),)) for i in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        return {"size": count} | timed(lambda: run_campaign(Campaign(tuple(asked)), folder, jobs=1))


def cells_by_hand(count: int) -> dict[str, object]:
    """The same questions in a loop: no store, no worker, no limits."""
    from bilevel_verify.problems import zoo
    from bilevel_verify.verifying import verify

    problem = zoo("bilevel-quadratic")
    return {"size": count} | timed(lambda: [verify(problem, LEMMA, eps=0.5 / (1 + i)) for i in range(count)])


LEMMA = "ragd-gs/lemma-1"
SCALED: Mapping[str, Callable[[int], dict[str, object]]] = {
    f.__name__: f for f in (text, text_by_hand, eps, eps_by_hand, rows, rows_by_hand, cells, cells_by_hand)
}


def timed(run: Callable[[], object]) -> dict[str, object]:
    """Processor seconds of this process and its children, and the peak memory afterwards."""
    before, clock = os.times(), time.process_time()
    run()
    after, took = os.times(), time.process_time() - clock
    took += after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": took, "memory": peak_memory()}
